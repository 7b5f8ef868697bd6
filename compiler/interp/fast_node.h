// Evaluates nodes and graphs with the kernels of the device's CPU, on values in ONNX order.
#pragma once

#include <vector>

#include "compiler/interp/interpreter.h"
#include "schema/step_shape.h"

namespace codl::compiler {

// Views the bytes of an F32 value as floats.
inline const float* floats(llvm::ArrayRef<uint8_t> bytes) {
  return reinterpret_cast<const float*>(bytes.data());
}

// Is a line of memory, aligned as kernels want it.
struct alignas(64) MemoryLine {
  uint8_t bytes[64];
};
using AlignedMemory = std::vector<MemoryLine>;

// Makes a node ready to be evaluated often: by the first f32 kernel of the CPU that takes it, with
// its constants packed, or by the plain kernel where there is none. Results are those of
// evaluate_node(), rounded in another order. Evaluating changes nothing, so several threads may.
class FastNode {
 public:
  // Borrows the graph, whose constants must not change afterwards.
  FastNode(const ir::Graph& graph, const ir::Node& node);
  llvm::Expected<LargeBytes> evaluate(llvm::ArrayRef<llvm::ArrayRef<uint8_t>> inputs) const;

 private:
  bool take(const KernelInfo& kernel);

  const ir::Graph* graph_;
  ir::Node node_;
  const KernelInfo* kernel_ = nullptr;           // null: uses the plain kernel
  std::vector<kernels::OperandShape> operands_;  // the kernel's operands; the output is the last
  kernels::StepNeeds needs_;
  std::vector<AlignedMemory> packed_;  // indexed by operand; empty: as it is
};

// Runs all nodes of a graph.
class FastGraph {
 public:
  // Borrows the graph.
  explicit FastGraph(const ir::Graph& graph);
  llvm::Expected<std::vector<Bytes>> run(llvm::ArrayRef<Bytes> inputs) const;
  // `node` is one of the graph.
  llvm::Expected<LargeBytes> evaluate(const ir::NodeView& node,
                                      llvm::ArrayRef<llvm::ArrayRef<uint8_t>> inputs) const;

 private:
  const ir::Graph* graph_;
  std::vector<FastNode> nodes_;
};

// Computes the activation of a node in place, on what the node without_activation() gave.
void apply_activation(const ir::NodeView& node, LargeBytes& sum);

}  // namespace codl::compiler
