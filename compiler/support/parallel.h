// The same work for many numbers, on all processors there are.
#pragma once

#include <cstddef>

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

// Calls `work` with 0 to count - 1, each once, in no order and several at a time. The error of the
// least number that has one, or its exception; some of those behind it may not have been called.
llvm::Error for_each_at_once(size_t count, llvm::function_ref<llvm::Error(size_t i)> work);

}  // namespace codl::compiler
