// Suggests what a user can do about a model that is refused.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace codl::compiler {

// Returns a rewrite of the model, or a flag, that is known to help; empty if there is none.
// `op_type` is the refused ONNX operator, empty for an input; `reason` is the importer's reason.
llvm::StringRef suggestion_for(llvm::StringRef op_type, llvm::StringRef reason);

}  // namespace codl::compiler
