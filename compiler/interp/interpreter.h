// Runs a graph with the plain kernels (*_ref): constant folding, and the oracle of the tests.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/support/large_bytes.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

using Bytes = std::vector<uint8_t>;

// One node on plain (ONNX order) operands. `inputs` are the operands' bytes, in order.
llvm::Expected<LargeBytes> evaluate_node(const ir::NodeView& node,
                                         llvm::ArrayRef<llvm::ArrayRef<uint8_t>> inputs);

// Limits memory and time for evaluating nodes of one model in the compiler, because a few bytes of
// a hostile file may ask for any amount. It leaves room for shape arithmetic, masks and position
// tables, and for weights that are computed from other weights (dequantized, transposed ...).
class EvaluationBudget {
 public:
  // `bytes` limits the results held at a time.
  explicit EvaluationBudget(int64_t bytes) : bytes_left_(bytes) {}
  // The model has so many bytes of weights, or so many more.
  void add_time_for(int64_t weight_bytes) {
    steps_left_ += kStepsPerWeightByte * static_cast<double>(weight_bytes);
  }
  void add_bytes(int64_t bytes) { bytes_left_ += bytes; }
  // True, and less is left, if there is enough for the node. `freed`: bytes of operands that nobody
  // needs once it is done.
  bool take(const ir::NodeView& node, int64_t freed = 0);
  // For what is no result of a node.
  bool take_bytes(int64_t bytes);
  int64_t bytes_left() const { return bytes_left_; }

 private:
  // Multiply-adds, comparisons, elements read and written: a second, with the plain kernels.
  static constexpr double kSteps = 6e7;
  static constexpr double kStepsPerWeightByte = 16;

  int64_t bytes_left_;
  double steps_left_ = kSteps;
};

// The whole graph: inputs and outputs in the graph's order, ONNX order and dtype, whatever layouts
// the graph has. Input error if the sizes of `inputs` are not those of the graph.
llvm::Expected<std::vector<Bytes>> interpret(const ir::Graph& graph, llvm::ArrayRef<Bytes> inputs);

// The same with nodes evaluated by `evaluate`, which may look at operands and results on their way.
using NodeEvaluator = llvm::function_ref<llvm::Expected<LargeBytes>(
    const ir::NodeView& node, llvm::ArrayRef<llvm::ArrayRef<uint8_t>> inputs)>;
llvm::Expected<std::vector<Bytes>> interpret(const ir::Graph& graph, llvm::ArrayRef<Bytes> inputs,
                                             NodeEvaluator evaluate);

}  // namespace codl::compiler
