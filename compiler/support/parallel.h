// Runs the same work for many numbers on all processors.
#pragma once

#include <cstddef>

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

// Calls `work` with 0 to count - 1, each once, in no order and several at a time. Returns the
// error, or throws the exception, of the least number that has one; some later numbers may not have
// been called.
llvm::Error for_each_at_once(size_t count, llvm::function_ref<llvm::Error(size_t i)> work);

}  // namespace codl::compiler
