// Declares checks that rules of ONNX Runtime's operators share. Each names what was expected.
#pragma once

#include "compiler/frontend/graph/compose.h"

namespace codl::compiler {

// Return Input errors.
llvm::Error expect_rank(const OnnxNode& node, Importer& importer, size_t i, size_t rank);
llvm::Error expect_multiple(const OnnxNode& node, int64_t width, int64_t heads);
llvm::Expected<int64_t> read_count(const OnnxNode& node, llvm::StringRef attribute);  // 1 or more

// Return Unsupported errors, for what codl does not do.
llvm::Error expect_absent(const OnnxNode& node, size_t i, llvm::StringRef what);
llvm::Error expect_zero(const OnnxNode& node, llvm::StringRef attribute, llvm::StringRef why);
llvm::Error expect_no_output(const OnnxNode& node, const Compose& c, size_t output,
                             llvm::StringRef what);

}  // namespace codl::compiler
