// Gives a model static dims where it leaves some open.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/frontend/onnx/onnx_model.h"
#include "llvm/ADT/StringMap.h"

namespace codl::compiler {

// Gives inputs the dims in `shapes` (by input), open dims the numbers in `dims` (by the name that
// the model gives the dim), and every other dim with the name of one of these the same number.
// Returns an Input error for a name that is no input or no open dim of one, another rank, a number
// where the model has another, two numbers for one name, and inputs whose dims stay open (all in
// one message, with codlc's flag to use).
llvm::Error fix_input_shapes(OnnxGraph& graph, llvm::StringRef path,
                             const llvm::StringMap<std::vector<int64_t>>& shapes,
                             const llvm::StringMap<int64_t>& dims);

// Returns the error for `flag`=`name` if the model has no such input; it lists those that the model
// has.
llvm::Error unknown_input(llvm::StringRef flag, const std::string& name, const OnnxGraph& graph);

}  // namespace codl::compiler
