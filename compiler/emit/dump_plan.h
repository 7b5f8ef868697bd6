// Prints a plan file as text and as JSON (docs/reference/plan_format.md has the keys), for
// codl-dump and --dump=plan.
#pragma once

#include <cstddef>
#include <string>

#include "llvm/Support/Error.h"
#include "schema/plan_model.h"

namespace codl::compiler {

// Reads a plan file. Its errors are those of the functions below.
llvm::Expected<PlanModel> open_plan(const void* bytes, size_t size, llvm::StringRef path);

// `bytes` is a whole file, 8-byte aligned. Both check the checksum, too, and return an Input error
// (`path: expected ..., found ...`) if the plan is not valid.
llvm::Expected<std::string> dump_plan_text(const void* bytes, size_t size, llvm::StringRef path);
llvm::Expected<std::string> dump_plan_json(const void* bytes, size_t size, llvm::StringRef path);

}  // namespace codl::compiler
