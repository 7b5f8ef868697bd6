// Helps tests with llvm::Expected and llvm::Error.
#pragma once

#include <string>
#include <utility>

#include "llvm/Support/Error.h"
#include "test/support/catch.h"

namespace codl::test {

// Returns the value; the test ends if there is an error instead.
template <typename T>
T value_of(llvm::Expected<T> expected) {
  if (!expected) FAIL(llvm::toString(expected.takeError()));
  return std::move(*expected);
}

// Returns the error's line, "" if there is none.
inline std::string error_of(llvm::Error error) { return llvm::toString(std::move(error)); }
template <typename T>
std::string error_of(llvm::Expected<T> expected) {
  return error_of(expected.takeError());
}

}  // namespace codl::test
