// Fixes the values of inputs that are really settings (a sampling rate, a number of steps).
#pragma once

#include <string>
#include <vector>

#include "compiler/frontend/onnx/onnx_model.h"
#include "llvm/ADT/StringMap.h"

namespace codl::compiler {

// Makes each input in `values` (by input) an initializer of these elements, written as numbers, or
// true and false for bool. Runs after fix_input_shapes(). Errors: Input (a name that is no input, a
// wrong number of elements, an element that the type does not hold), Unsupported (an input of a
// type that codl does not hold).
llvm::Error fix_input_values(OnnxGraph& graph,
                             const llvm::StringMap<std::vector<std::string>>& values);

}  // namespace codl::compiler
