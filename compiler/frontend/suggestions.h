// Suggests what a user can do about a model that is refused.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace codl::compiler {

// A rewrite of the model, or a flag, that is known to help; empty if none is. `op_type`: the ONNX
// operator that was refused, empty for an input; `reason`: why, as the importer says it.
llvm::StringRef suggestion_for(llvm::StringRef op_type, llvm::StringRef reason);

}  // namespace codl::compiler
