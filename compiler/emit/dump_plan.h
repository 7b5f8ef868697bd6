// Prints a plan file as text and as JSON (docs/reference/plan_format.md has the keys), for
// codl-dump and --dump=plan.
#pragma once

#include <cstddef>
#include <string>

#include "llvm/Support/Error.h"
#include "schema/plan_model.h"

namespace codl::compiler {

// Reads a plan file. Errors as below.
llvm::Expected<PlanModel> open_plan(const void* bytes, size_t size, llvm::StringRef path);

// `bytes`: a whole file, 8-byte aligned. Input error (`path: expected ..., found ...`) if it is no
// valid plan; the checksum is checked, too.
llvm::Expected<std::string> dump_plan_text(const void* bytes, size_t size, llvm::StringRef path);
llvm::Expected<std::string> dump_plan_json(const void* bytes, size_t size, llvm::StringRef path);

}  // namespace codl::compiler
