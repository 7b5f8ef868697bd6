#include "compiler/partition/kernel_choice.h"

#include "compiler/partition/split_geometry.h"
#include "kernels/kernel_table.h"
#include "kernels/pack.h"
#include "kernels/work_table.h"
#include "schema/step_shape.h"

namespace codl::compiler {

static constexpr uint32_t kWeights = 1;  // the operand with packed weights

kernels::OperandShape value_shape(const ir::Value& value, Form form, Range rows) {
  const ir::TensorType& type = value.type;
  kernels::OperandShape shape;
  shape.dtype = form.dtype;
  shape.layout = form.layout;
  shape.rank = type.rank();
  for (int32_t i = 0; i < shape.rank; ++i) shape.dims[i] = type.dims[static_cast<size_t>(i)];
  if (form.layout == Layout::Nhwc || form.layout == Layout::Image2d) {
    shape.row_begin = rows.empty() ? 0 : rows.begin;
    shape.row_end = rows.empty() ? shape.dims[2] : rows.end;
  }
  if (!is_image(form))
    shape.bytes = static_cast<uint64_t>(kernels::stored_elements(shape)) * dtype_bytes(shape.dtype);
  if (form.dtype == DType::I8 && is_real(type)) {
    shape.scale = value.grid.scale;
    shape.zero_point = value.grid.zero_point;
  }
  return shape;
}

int32_t groups_of(const ir::Node& node) {
  return node.op == OpKind::Conv2d ? node.params.as<Conv2dParams>().groups : 1;
}

Packing packing_of(const ir::NodeView& node, uint32_t operand, const KernelInfo& kernel,
                   DType reals) {
  const PackingKind kind = kernel.packing_of(operand);
  const DType dtype = node.input(operand).dtype;
  if (reals == DType::I8 && kernel.has(Signature::Q8) && kind != PackingKind::Bias &&
      node.input_value(operand).has_channel_grids)
    return {kind, DType::I8};
  if (kernel.has(Signature::Blocks) && operand == kWeights)
    if (const WeightBlocks blocks = node.input_value(operand).blocks)
      return {kind, DType::U8, blocks};
  // Bytes are multiplied by halves on a GPU where the node may have halves.
  const bool are_halves = reals == DType::F16 || (reals == DType::I8 && kind != PackingKind::None &&
                                                  kernel.processor == Processor::Gpu &&
                                                  precision_of(node) != ir::Precision::Fp32);
  const bool is_half = are_halves && dtype == DType::F32 && kernel.takes_halves() &&
                       !kernel.stays_float(operand, node.input_count() + 1);
  return {kind, is_half ? DType::F16 : dtype};
}

kernels::OperandShape constant_shape(const ir::NodeView& node, uint32_t operand,
                                     const KernelInfo& kernel, DType reals) {
  const Packing packing = packing_of(node, operand, kernel, reals);
  kernels::OperandShape shape =
      value_shape(node.input_value(operand), {Layout::Plain, packing.dtype}, {});
  if (packing.kind != PackingKind::None) {
    shape.layout = Layout::Packed;
    shape.bytes = kernels::packed_bytes(packing, shape.dims, shape.rank, groups_of(node.node));
  }
  return shape;
}

namespace {

// Each kernel of `op` on `processor` that has a model, accepts the step and has room on the device
// for the work-groups of its tile, whatever part of the step is computed; reference kernels only
// where no other takes it, and kernels whose work-items spill registers only where all do. If its
// real numbers are halves or quantised, kernels that take none such are left out: they may accept
// the type as their own. `prepare` makes the operands those of the kernel.
void each_candidate(OpKind op, Processor processor, DType reals, kernels::StepShape& step,
                    const LatencyPredictor& predictor,
                    llvm::function_ref<void(const KernelInfo& kernel)> prepare,
                    llvm::function_ref<void(const kernels::StepShape& step)> visit) {
  const kernels::GpuFacts& gpu = predictor.profile().gpu_facts;
  const bool has_limit = processor == Processor::Gpu && gpu.thread_registers > 0;
  bool has_found = false;
  const auto visit_each = [&](bool is_reference, bool spills) {
    for (const KernelInfo& kernel : kKernelInfos) {
      if (kernel.op != op || kernel.processor != processor ||
          kernel.is_reference() != is_reference || !predictor.can_predict(kernel) ||
          (reals == DType::F16 && !kernel.takes_halves()) ||
          (reals == DType::I8 && !kernel.takes_quantised()))
        continue;
      step.kernel = &kernel;
      prepare(kernel);
      kernels::StepNeeds needs;
      if (kernels::check_step(step, &needs) != nullptr ||
          (processor == Processor::Gpu && !kernels::has_room_for_group(step, gpu)) ||
          (has_limit && kernels::fits_registers(step, gpu) == spills))
        continue;
      has_found = true;
      visit(step);
    }
  };
  for (const bool is_reference : {false, true})
    for (const bool spills : {false, true})
      if (!has_found && (has_limit || !spills)) visit_each(is_reference, spills);
}

// Returns true for a node whose values lie in memory of one queue if the other touches neither.
bool may_stay_in_place(const ir::NodeView& node) {
  if (node.input_count() != 1 || node.graph.is_output(node.node.output)) return false;
  const ir::Value& input = node.input_value(0);
  return !input.is_constant && !input.is_input && !node.graph.is_output(node.node.inputs[0]);
}

}  // namespace

void each_kernel(const ir::NodeView& node, Processor processor, Form maps, SplitDim dim, Range part,
                 const LatencyPredictor& predictor,
                 llvm::function_ref<void(const kernels::StepShape& step)> visit) {
  const DeviceProfile& profile = predictor.profile();
  kernels::OperandShape shapes[kernels::kMaxOperands];
  const uint32_t input_count = node.input_count();
  if (input_count + 1 > kernels::kMaxOperands) return;
  const auto shape_of = [&](ir::ValueId id, Range rows) {
    const ir::Value& value = node.graph.value(id);
    const DType reals = is_applications(node.graph, id) ? DType::F32 : maps.dtype;
    return value_shape(value, form_with(value, {maps.layout, reals}), rows);
  };
  for (uint32_t i = 0; i < input_count; ++i)
    if (!node.input_value(i).is_constant) shapes[i] = shape_of(node.node.inputs[i], {});
  shapes[input_count] = shape_of(node.node.output, {});

  for (const kernels::OperandShape& shape : llvm::makeArrayRef(shapes, input_count + 1))
    if (shape.layout == Layout::Image2d &&
        (kernels::image_width(shape) > profile.image_max_width ||
         kernels::image_height(shape) > profile.image_max_height))
      return;
  // The schedule promises a part no more rows than it reads.
  if (dim == SplitDim::Height) {
    for (uint32_t i = 0; i < input_count; ++i)
      if (!node.input_value(i).is_constant)
        shapes[i] = shape_of(node.node.inputs[i], read_region(node, i, dim, part).rows);
    shapes[input_count] = shape_of(node.node.output, part);
  }

  kernels::StepShape step;
  step.params = node.node.params.data();
  step.operands = shapes;
  step.operand_count = input_count + 1;
  step.part_dim = dim;
  if (dim != SplitDim::None) step.part = part;
  // If the queues share operand or result, the value is moved, and the step takes at least this.
  const bool may_stay = may_stay_in_place(node);
  const auto prepare = [&](const KernelInfo& kernel) {
    const Storage memory = processor == Processor::Cpu ? Storage::Host : Storage::Device;
    step.is_in_place = may_stay && stays_in_place(step, memory, memory);
    for (uint32_t i = 0; i < input_count; ++i)
      if (node.input_value(i).is_constant) shapes[i] = constant_shape(node, i, kernel, maps.dtype);
  };
  each_candidate(node.node.op, processor, maps.dtype, step, predictor, prepare, visit);
}

void each_kernel(const ir::NodeView& node, Processor processor, const LatencyPredictor& predictor,
                 llvm::function_ref<void(const kernels::StepShape& step)> visit) {
  for (Form maps : map_forms(node, processor, predictor.profile()))
    each_kernel(node, processor, maps, SplitDim::None, {}, predictor, visit);
}

std::optional<KernelChoice> choose_kernel(const ir::NodeView& node, Processor processor, Form maps,
                                          SplitDim dim, Range part,
                                          const LatencyPredictor& predictor,
                                          bool other_processor_busy, PackingSet packings) {
  std::optional<KernelChoice> best;
  each_kernel(node, processor, maps, dim, part, predictor, [&](const kernels::StepShape& step) {
    Packing packing = {step.kernel->packing};
    if (packing.kind != PackingKind::None) packing.dtype = step.operands[kWeights].dtype;
    if ((packings & bit_of(packing)) == 0) return;
    const double launch_us = predictor.launch_us(step);
    const double predicted_us = predictor.predict_us(step, other_processor_busy) + launch_us;
    if (!best || predicted_us < best->predicted_us)
      best = KernelChoice{step.kernel, maps, predicted_us, launch_us};
  });
  return best;
}

const KernelInfo* choose_mover(kernels::StepShape step, Processor processor,
                               const LatencyPredictor& predictor) {
  const KernelInfo* best = nullptr;
  double best_us = 0;
  each_candidate(
      OpKind::Convert, processor, DType::F32, step, predictor, [](const KernelInfo&) {},
      [&](const kernels::StepShape& candidate) {
        const double us = predictor.predict_us(candidate, false);
        if (best != nullptr && us >= best_us) return;
        best = candidate.kernel;
        best_us = us;
      });
  return best;
}

int32_t rows_at_once(const KernelInfo& kernel) {
  switch (kernel.packing_of(kWeights)) {
    case PackingKind::Winograd2:
      return 2;
    case PackingKind::Winograd4:
      return 4;
    default:
      return 1;
  }
}

}  // namespace codl::compiler
