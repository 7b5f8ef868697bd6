// Static dims for a model that leaves some open.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/frontend/onnx/onnx_model.h"
#include "llvm/ADT/StringMap.h"

namespace codl::compiler {

// Gives inputs the dims in `shapes` (by input), and every dim that has the name of one of theirs
// the same number. Errors, all Input: a name that is no input, another rank, a number where the
// model has another, two numbers for one name; inputs whose dims stay open (all in one message,
// with the flag of codlc to use).
llvm::Error fix_input_shapes(OnnxGraph& graph, llvm::StringRef path,
                             const llvm::StringMap<std::vector<int64_t>>& shapes);

// `flag`=`name` where the model has no such input: with those it has.
llvm::Error unknown_input(llvm::StringRef flag, const std::string& name, const OnnxGraph& graph);

}  // namespace codl::compiler
