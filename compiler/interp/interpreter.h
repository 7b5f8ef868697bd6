// Runs a graph with the plain kernels (*_ref): constant folding, and the oracle of the tests.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/graph.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

using Bytes = std::vector<uint8_t>;

// One node on plain (ONNX order) operands. `inputs` are the operands' bytes, in order.
llvm::Expected<Bytes> evaluate_node(const ir::NodeView& node,
                                    llvm::ArrayRef<llvm::ArrayRef<uint8_t>> inputs);

// What evaluating nodes of one model while it is compiled may take: a few bytes of a hostile file
// may ask for any amount of memory and time. There is room for shape arithmetic, masks and position
// tables, and for weights that are computed from other weights (dequantized, transposed ...).
class EvaluationBudget {
 public:
  // What a rule asks for while the model is read, and what is left of the finished graph; of the
  // first less, because the second takes its results for weights.
  static constexpr int64_t kBytesOfRules = int64_t{1} << 23;
  static constexpr int64_t kBytesOfGraph = int64_t{1} << 26;

  explicit EvaluationBudget(int64_t bytes) : bytes_left_(bytes) {}
  // The model has so many bytes of weights, or so many more.
  void add_weights(int64_t bytes) {
    bytes_left_ += kBytesPerWeightByte * bytes;
    steps_left_ += kStepsPerWeightByte * static_cast<double>(bytes);
  }
  // True, and less is left, if there is enough for the node.
  bool take(const ir::NodeView& node);

 private:
  // A weight of one byte becomes f32 (4 bytes), minus its zero point, times its scale, transposed.
  static constexpr int64_t kBytesPerWeightByte = 16;
  // Multiply-adds, comparisons, elements read and written: a second, with the plain kernels.
  static constexpr double kSteps = 6e7;
  static constexpr double kStepsPerWeightByte = 16;

  int64_t bytes_left_;
  double steps_left_ = kSteps;
};

// The whole graph: inputs and outputs in the graph's order, ONNX order and dtype, whatever layouts
// the graph has. Input error if the sizes of `inputs` are not those of the graph.
llvm::Expected<std::vector<Bytes>> interpret(const ir::Graph& graph, llvm::ArrayRef<Bytes> inputs);

}  // namespace codl::compiler
