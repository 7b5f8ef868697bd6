#include "compiler/interp/interpreter.h"

#include <algorithm>
#include <cstring>

#include "compiler/ops/multiply_adds.h"
#include "compiler/support/error.h"
#include "kernels/common/contract/contract.h"
#include "kernels/kernel_table.h"
#include "kernels/ref.h"
#include "kernels/work_table.h"
#include "schema/half.h"

namespace codl::compiler {
namespace {

uint64_t tensor_bytes(const ir::TensorType& type) {
  return static_cast<uint64_t>(type.element_count()) * dtype_bytes(type.dtype);
}

// Returns the value's shape in ONNX order, whatever layout it has on the device.
kernels::OperandShape plain_shape(const ir::TensorType& type) {
  kernels::OperandShape shape;
  shape.dtype = type.dtype;
  shape.layout = Layout::Plain;
  shape.rank = type.rank();
  for (int32_t i = 0; i < type.rank(); ++i) shape.dims[i] = type.dims[i];
  shape.bytes = tensor_bytes(type);
  return shape;
}

// Holds the scratch that kernels are promised (StepNeeds::scratch_bytes).
struct alignas(64) ScratchLine {
  uint8_t bytes[64];
};

// Describes a node as a step of its plain kernel.
struct PlainStep {
  llvm::SmallVector<kernels::OperandShape, 4> shapes;
  kernels::StepShape step;

  explicit PlainStep(const ir::NodeView& node) {
    for (uint32_t i = 0; i < node.input_count(); ++i) shapes.push_back(plain_shape(node.input(i)));
    shapes.push_back(plain_shape(node.output()));
    step.params = node.node.params.data();
    step.operands = shapes.data();
    step.operand_count = static_cast<uint32_t>(shapes.size());
    for (const KernelInfo& kernel : kKernelInfos)
      if (kernel.op == node.node.op && kernel.processor == Processor::Cpu && kernel.is_reference())
        step.kernel = &kernel;
  }
  PlainStep(const PlainStep&) = delete;
  PlainStep& operator=(const PlainStep&) = delete;

  // Returns false if kernels.def has no plain kernel of the operator: its loops are only an oracle
  // for tests, without a contract.
  bool has_kernel() const { return step.kernel != nullptr; }
};

llvm::Expected<uint64_t> scratch_bytes_of(const ir::NodeView& node) {
  const PlainStep plain(node);
  if (!plain.has_kernel()) return 0;
  kernels::StepNeeds needs;
  if (const char* expected = kernels::check_step(plain.step, &needs))
    return internal_error(node.node.name, "expected {0}, found {1}", expected,
                          ir::to_string(node.output()));
  return needs.scratch_bytes;
}

// Estimates the multiply-adds, comparisons and moved elements of the node's plain kernel.
double evaluation_steps(const ir::NodeView& node) {
  double elements = static_cast<double>(node.output().element_count());
  for (uint32_t i = 0; i < node.input_count(); ++i)
    elements += static_cast<double>(node.input(i).element_count());
  double steps = multiply_adds(node);
  if (node.node.op == OpKind::Pool2d) {  // its kernels are of F32
    const auto params = node.params<Pool2dParams>();
    steps = static_cast<double>(node.output().element_count()) * params.kernel_h * params.kernel_w;
  }
  const PlainStep plain(node);
  kernels::StepNeeds needs;
  if (plain.has_kernel() && kernels::check_step(plain.step, &needs) == nullptr) {
    kernels::StepWork work;
    kernels::count_work(plain.step, {}, &work);
    steps = std::max({steps, work.macs, work.operations, work.gathers});
  }
  return elements + steps;
}

// The application has its own values as floats.
bool is_half(const ir::Graph& graph, ir::ValueId id) {
  const ir::Value& value = graph.value(id);
  return value.precision != ir::Precision::Fp32 && value.type.dtype == DType::F32 &&
         !graph.is_output(id);
}

void round_to_halves(LargeBytes& floats) {
  for (size_t at = 0; at < floats.size(); at += sizeof(float)) {
    float element;
    std::memcpy(&element, floats.data() + at, sizeof element);
    element = float_of_half(half_of(double{element}));
    std::memcpy(floats.data() + at, &element, sizeof element);
  }
}

}  // namespace

llvm::Expected<LargeBytes> evaluate_node(const ir::NodeView& node,
                                         llvm::ArrayRef<llvm::ArrayRef<uint8_t>> inputs) {
  if (inputs.size() != node.input_count())
    return internal_error(node.node.name, "expected {0} operands, found {1}", node.input_count(),
                          inputs.size());
  llvm::SmallVector<kernels::TensorView, 4> operands;
  for (uint32_t i = 0; i < node.input_count(); ++i) {
    if (inputs[i].size() != tensor_bytes(node.input(i)))
      return internal_error(node.node.name, "expected {0} bytes of operand {1}, found {2}",
                            tensor_bytes(node.input(i)), i, inputs[i].size());
    // Kernels take one view type for operands that they read or write; only the last is written.
    operands.push_back(
        kernels::make_view(plain_shape(node.input(i)), const_cast<uint8_t*>(inputs[i].data())));
  }
  LargeBytes output(tensor_bytes(node.output()));
  operands.push_back(kernels::make_view(plain_shape(node.output()), output.data()));

  CODL_ASSIGN_OR_RETURN(scratch_bytes, scratch_bytes_of(node));
  std::vector<ScratchLine> scratch((scratch_bytes + sizeof(ScratchLine) - 1) / sizeof(ScratchLine));

  kernels::KernelArgs args;
  args.params = node.node.params.data();
  args.operands = operands.data();
  args.operand_count = static_cast<uint32_t>(operands.size());
  args.scratch = scratch.data();
  args.task_end = 1;
  kernels::ref_kernel(node.node.op)(args);
  return output;
}

bool EvaluationBudget::take(const ir::NodeView& node, int64_t freed) {
  const double steps = evaluation_steps(node);
  if (steps > steps_left_ || !take_bytes(static_cast<int64_t>(tensor_bytes(node.output())) - freed))
    return false;
  steps_left_ -= steps;
  return true;
}

bool EvaluationBudget::take_bytes(int64_t bytes) {
  if (bytes > bytes_left_) return false;
  bytes_left_ -= bytes;
  return true;
}

llvm::Expected<std::vector<Bytes>> interpret(const ir::Graph& graph, llvm::ArrayRef<Bytes> inputs) {
  return interpret(graph, inputs, evaluate_node);
}

llvm::Expected<std::vector<Bytes>> interpret(const ir::Graph& graph, llvm::ArrayRef<Bytes> inputs,
                                             NodeEvaluator evaluate) {
  if (inputs.size() != graph.inputs().size())
    return input_error(graph.name, "expected {0} inputs, found {1}", graph.inputs().size(),
                       inputs.size());
  // The vector is indexed by value; constants stay where they are.
  std::vector<LargeBytes> computed(graph.values().size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ir::Value& value = graph.value(graph.inputs()[i]);
    if (inputs[i].size() != tensor_bytes(value.type))
      return input_error(value.name, "expected {0} bytes ({1}), found {2}",
                         tensor_bytes(value.type), ir::to_string(value.type), inputs[i].size());
    computed[graph.inputs()[i]].assign(inputs[i].begin(), inputs[i].end());
  }
  auto bytes_at = [&](ir::ValueId id) -> llvm::ArrayRef<uint8_t> {
    return graph.value(id).is_constant ? llvm::ArrayRef<uint8_t>(graph.value(id).bytes)
                                       : llvm::ArrayRef<uint8_t>(computed[id]);
  };

  // A value's bytes are freed after its last reader, because a network has far more values than
  // live ones.
  std::vector<size_t> last_reader(graph.values().size(), 0);
  for (size_t i = 0; i < graph.nodes().size(); ++i)
    for (ir::ValueId input : graph.nodes()[i].inputs) last_reader[input] = i;

  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const ir::Node& node = graph.nodes()[i];
    llvm::SmallVector<llvm::ArrayRef<uint8_t>, 4> operands;
    for (ir::ValueId input : node.inputs) operands.push_back(bytes_at(input));
    CODL_ASSIGN_OR_RETURN(output, evaluate(ir::NodeView{graph, node}, operands));
    if (is_half(graph, node.output)) round_to_halves(output);
    computed[node.output] = std::move(output);
    for (ir::ValueId input : node.inputs)
      if (last_reader[input] == i && !graph.is_output(input)) LargeBytes().swap(computed[input]);
  }

  std::vector<Bytes> outputs;
  for (ir::ValueId output : graph.outputs()) outputs.push_back(bytes_at(output).vec());
  return outputs;
}

}  // namespace codl::compiler
