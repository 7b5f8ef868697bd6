#include "compiler/interp/fast_node.h"

#include <algorithm>
#include <cassert>

#include "compiler/ops/activation.h"
#include "kernels/common/contract/contract.h"
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/kernel_table.h"
#include "kernels/pack.h"
#include "kernels/unary/unary.h"

namespace codl::compiler {
namespace {

using kernels::OperandShape;
using kernels::TensorView;

AlignedMemory aligned_memory(uint64_t bytes) {
  return AlignedMemory((bytes + sizeof(MemoryLine) - 1) / sizeof(MemoryLine));
}

OperandShape shape_of(const ir::TensorType& type, bool is_map) {
  OperandShape shape;
  shape.dtype = type.dtype;
  shape.layout = is_map ? Layout::Nhwc : Layout::Plain;
  shape.rank = type.rank();
  for (int32_t i = 0; i < shape.rank; ++i) shape.dims[i] = type.dims[i];
  if (is_map) shape.row_end = shape.dims[2];
  shape.bytes = static_cast<uint64_t>(kernels::stored_elements(shape)) * dtype_bytes(shape.dtype);
  return shape;
}

// Gives the same results on every machine that has AVX2: with wider vectors some sums are rounded
// in another order, and a search may turn on a digit. A build for one processor (CODL_TO_RUN_HERE)
// may have wider vectors alone.
kernels::CpuKernel function_of(const KernelInfo& kernel) {
  const kernels::CpuKernelTargets& targets = *kernels::cpu_kernel_targets(kernel);
  const bool has_wider_alone = targets.avx2 == nullptr && targets.avx3 != nullptr;
  return kernels::kernel_for(
      targets, std::min(kernels::best_cpu_target(),
                        has_wider_alone ? kernels::CpuTarget::Avx3 : kernels::CpuTarget::Avx2));
}

void run(const KernelInfo& kernel, const kernels::StepNeeds& needs, const void* params,
         llvm::ArrayRef<TensorView> operands) {
  AlignedMemory scratch = aligned_memory(needs.scratch_bytes);
  AlignedMemory shared = aligned_memory(needs.shared_bytes);
  kernels::KernelArgs args;
  args.params = params;
  args.operands = operands.data();
  args.operand_count = static_cast<uint32_t>(operands.size());
  args.scratch = scratch.data();
  args.shared = shared.data();
  args.task_end = needs.task_count;
  for (args.phase = 0; args.phase < needs.phase_count; ++args.phase) function_of(kernel)(args);
}

// Converts a map from one layout to the other.
void convert(const TensorView& from, const TensorView& to) {
  static const KernelInfo& kernel = *llvm::find_if(kKernelInfos, [](const KernelInfo& info) {
    return info.op == OpKind::Convert && info.processor == Processor::Cpu && !info.is_reference();
  });
  const ConvertParams params = {};
  const OperandShape shapes[] = {from.shape, to.shape};
  kernels::StepShape step;
  step.kernel = &kernel;
  step.params = &params;
  step.operands = shapes;
  step.operand_count = 2;
  kernels::StepNeeds needs;
  const char* expected = kernels::check_step(step, &needs);
  assert(expected == nullptr);
  (void)expected;
  run(kernel, needs, &params, {from, to});
}

// Kernels take one view type for what they read and what they write; only the last is written.
void* memory_of(llvm::ArrayRef<uint8_t> bytes) { return const_cast<uint8_t*>(bytes.data()); }

}  // namespace

FastNode::FastNode(const ir::Graph& graph, const ir::Node& node) : graph_(&graph), node_(node) {
  if (node.op == OpKind::Convert || node.inputs.size() >= kernels::kMaxOperands) return;
  for (const KernelInfo& kernel : kKernelInfos)
    if (kernel.op == node.op && kernel.processor == Processor::Cpu && !kernel.is_reference() &&
        take(kernel))
      return;
}

bool FastNode::take(const KernelInfo& kernel) {
  const ir::NodeView view{*graph_, node_};
  const bool is_map = kernel.layout == Layout::Nhwc;
  operands_.clear();
  for (uint32_t i = 0; i < view.input_count(); ++i) {
    const PackingKind packing = kernel.packing_of(i);
    const bool is_packed = view.input_value(i).is_constant && packing != PackingKind::None;
    operands_.push_back(shape_of(view.input(i), is_map && !is_packed && view.input(i).rank() == 4));
    if (!is_packed) continue;
    const int32_t groups = node_.op == OpKind::Conv2d ? view.params<Conv2dParams>().groups : 1;
    OperandShape& shape = operands_.back();
    shape.layout = Layout::Packed;
    shape.bytes = kernels::packed_bytes({packing, shape.dtype}, shape.dims, shape.rank, groups);
  }
  if (is_map && view.output().rank() != 4) return false;
  operands_.push_back(shape_of(view.output(), is_map));
  kernels::StepShape step;
  step.kernel = &kernel;
  step.params = node_.params.data();
  step.operands = operands_.data();
  step.operand_count = static_cast<uint32_t>(operands_.size());
  needs_ = {};
  if (kernels::check_step(step, &needs_) != nullptr) return false;
  kernel_ = &kernel;
  for (uint32_t i = 0; i < view.input_count(); ++i) {
    const OperandShape& shape = operands_[i];
    packed_.emplace_back();
    if (shape.layout != Layout::Packed) continue;
    packed_.back() = aligned_memory(shape.bytes);
    kernels::pack({kernel.packing_of(i), shape.dtype}, shape.dims, shape.rank,
                  node_.op == OpKind::Conv2d ? view.params<Conv2dParams>().groups : 1,
                  view.input_value(i).as<float>().data(), packed_.back().data());
  }
  return true;
}

llvm::Expected<LargeBytes> FastNode::evaluate(
    llvm::ArrayRef<llvm::ArrayRef<uint8_t>> inputs) const {
  const ir::NodeView view{*graph_, node_};
  if (kernel_ == nullptr) return evaluate_node(view, inputs);
  LargeBytes output(static_cast<size_t>(view.output().element_count()) * sizeof(float));
  std::vector<AlignedMemory> maps;
  llvm::SmallVector<TensorView, 4> operands;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const OperandShape& shape = operands_[i];
    if (shape.layout == Layout::Packed) {
      operands.push_back(kernels::make_view(shape, const_cast<MemoryLine*>(packed_[i].data())));
      continue;
    }
    operands.push_back(kernels::make_view(shape, memory_of(inputs[i])));
    if (shape.layout != Layout::Nhwc) continue;
    maps.push_back(aligned_memory(shape.bytes));
    operands.back().data = maps.back().data();
    convert(kernels::make_view(shape_of(view.input(static_cast<uint32_t>(i)), false),
                               memory_of(inputs[i])),
            operands.back());
  }
  operands.push_back(kernels::make_view(operands_.back(), output.data()));
  const bool is_map = operands_.back().layout == Layout::Nhwc;
  if (is_map) {
    maps.push_back(aligned_memory(operands_.back().bytes));
    operands.back().data = maps.back().data();
  }
  run(*kernel_, needs_, node_.params.data(), operands);
  if (is_map)
    convert(operands.back(), kernels::make_view(shape_of(view.output(), false), output.data()));
  return output;
}

FastGraph::FastGraph(const ir::Graph& graph) : graph_(&graph) {
  nodes_.reserve(graph.nodes().size());
  for (const ir::Node& node : graph.nodes()) nodes_.emplace_back(graph, node);
}

llvm::Expected<LargeBytes> FastGraph::evaluate(
    const ir::NodeView& node, llvm::ArrayRef<llvm::ArrayRef<uint8_t>> inputs) const {
  return nodes_[static_cast<size_t>(&node.node - graph_->nodes().data())].evaluate(inputs);
}

llvm::Expected<std::vector<Bytes>> FastGraph::run(llvm::ArrayRef<Bytes> inputs) const {
  return interpret(*graph_, inputs,
                   [&](const ir::NodeView& node, llvm::ArrayRef<llvm::ArrayRef<uint8_t>> operands) {
                     return evaluate(node, operands);
                   });
}

void apply_activation(const ir::NodeView& node, LargeBytes& sum) {
  const UnaryParams activation = last_function(node.node);
  if (activation.kind == kUnaryIdentity) return;
  auto* y = reinterpret_cast<float*>(sum.data());
  const int64_t count = node.output().element_count();
  if (activation.kind == kUnaryRelu) {
    for (int64_t i = 0; i < count; ++i) y[i] = std::max(y[i], 0.0f);
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    y[i] = kernels::unary_value_ref(activation.kind, activation.alpha, activation.beta, y[i]);
}

}  // namespace codl::compiler
