// Runs a graph with the plain kernels (*_ref), for constant folding and as the oracle of the tests.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/support/large_bytes.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

using Bytes = std::vector<uint8_t>;

// Computes one node on plain (ONNX order) operands. `inputs` are the operands' bytes, in order.
llvm::Expected<LargeBytes> evaluate_node(const ir::NodeView& node,
                                         llvm::ArrayRef<llvm::ArrayRef<uint8_t>> inputs);

// Limits memory and time for evaluating nodes of one model in the compiler, because a few bytes of
// a hostile file may ask for any amount. It leaves room for shape arithmetic, masks and position
// tables, and for weights that are computed from other weights (dequantized, transposed ...).
class EvaluationBudget {
 public:
  // `bytes` limits the results held at a time.
  explicit EvaluationBudget(int64_t bytes) : bytes_left_(bytes) {}
  // Adds time for a model with so many (more) bytes of weights.
  void add_time_for(int64_t weight_bytes) {
    steps_left_ += kStepsPerWeightByte * static_cast<double>(weight_bytes);
  }
  void add_bytes(int64_t bytes) { bytes_left_ += bytes; }
  // If enough is left for the node, takes it and returns true. `freed` are bytes of operands that
  // nobody needs afterwards.
  bool take(const ir::NodeView& node, int64_t freed = 0);
  // Does the same for bytes that are no result of a node.
  bool take_bytes(int64_t bytes);
  int64_t bytes_left() const { return bytes_left_; }

 private:
  // Bounds multiply-adds, comparisons, and elements read and written: about a second with the plain
  // kernels.
  static constexpr double kSteps = 6e7;
  static constexpr double kStepsPerWeightByte = 16;

  int64_t bytes_left_;
  double steps_left_ = kSteps;
};

// Runs the whole graph. Inputs and outputs have the graph's order, ONNX's element order and their
// dtypes, whatever layouts the graph has. Results that may be halves (Value::precision) are rounded
// to them. Returns an Input error if the sizes of `inputs` do not match.
llvm::Expected<std::vector<Bytes>> interpret(const ir::Graph& graph, llvm::ArrayRef<Bytes> inputs);

// The same, but `evaluate` computes the nodes and may look at operands and results.
using NodeEvaluator = llvm::function_ref<llvm::Expected<LargeBytes>(
    const ir::NodeView& node, llvm::ArrayRef<llvm::ArrayRef<uint8_t>> inputs)>;
llvm::Expected<std::vector<Bytes>> interpret(const ir::Graph& graph, llvm::ArrayRef<Bytes> inputs,
                                             NodeEvaluator evaluate);

}  // namespace codl::compiler
