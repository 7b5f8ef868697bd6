// Turns a fault that verify_plan found into an error.
#pragma once

#include "compiler/support/error.h"
#include "schema/verify_plan.h"

namespace codl::compiler {

// The text is like "x.codl: step 12 of variant 0: expected waits for earlier steps, found 14".
llvm::Error plan_fault_error(ExitCode kind, llvm::StringRef path, const PlanFault& fault);

}  // namespace codl::compiler
