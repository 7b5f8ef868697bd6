// Writes a plan as ONNX Runtime takes what others have compiled: a model of one EPContext node.
#pragma once

#include <string>

#include "compiler/ir/graph.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "schema/plan_model.h"

namespace codl::compiler {

// Returns the bytes of a model with the inputs and outputs of a plan; dims in which its entries
// differ are open. Its node refers to the plan's file by `relative_path`, from the model's folder;
// if that is empty, it contains `bytes`. integrations/onnxruntime reads it. Returns an Input error
// if the model is beyond protobuf's limit (2 GiB), an Unsupported error if entries differ in a
// rank.
llvm::Expected<std::string> write_ep_context(const PlanModel& plan, llvm::StringRef relative_path,
                                             llvm::StringRef bytes);

// Returns an Unsupported error for a graph whose plan such a node cannot stand for: it has an
// input, and outputs of fixed dims, whose names are no other value's.
llvm::Error check_ep_context(const ir::Graph& graph);

}  // namespace codl::compiler
