// Lists errors that the compiler may report of a fuzzer's bytes.
#pragma once

#include "compiler/support/error.h"
#include "test/fuzz/target.h"

namespace codl::test {

// Ends the process at an internal error: bytes may be wrong or unsupported, but codl must not be
// wrong.
inline void expect_no_fault(llvm::Error error) {
  llvm::handleAllErrors(std::move(error), [](const compiler::CompileError& found) {
    if (found.kind() == compiler::ExitCode::Internal)
      fail("expected no internal error, found " + found.text().str());
  });
}

}  // namespace codl::test
