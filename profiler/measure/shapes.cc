#include "profiler/measure/shapes.h"

#include <algorithm>

#include "kernels/common/work/step_draw.h"
#include "kernels/kernel_table.h"
#include "kernels/work_table.h"

namespace codl::profiler {
namespace {

// Limit of draws until a step is within the limits and passes the contract.
constexpr int kMaxTries = 200;

// Turns some steps into the part that one processor has of a split: rows or channels.
void take_part(kernels::StepDraw& draw) {
  StepCase& step = draw.step();
  const OperandShape& y = step.operands.back();
  const double which = draw.uniform();
  if (which < 0.3 && draw.kernel_info().can_split(SplitDim::Height) && y.rank == 4 &&
      y.dims[2] >= 4) {
    const int32_t rows = draw.between(std::max(y.dims[2] / 8, 1), y.dims[2] - 1);
    const int32_t begin = draw.chance(0.5) ? 0 : y.dims[2] - rows;
    step.part_dim = SplitDim::Height;
    step.part = {begin, begin + rows};
  } else if (which < 0.45 && draw.kernel_info().can_split(SplitDim::OutputChannel) && y.rank >= 2 &&
             y.dims[1] >= 2 * kChannelPanel) {
    const int32_t panels = y.dims[1] / kChannelPanel;
    const int32_t cut = draw.between(1, panels - 1) * kChannelPanel;
    step.part_dim = SplitDim::OutputChannel;
    step.part = draw.chance(0.5) ? Range{0, cut} : Range{cut, y.dims[1]};
  }
}

bool is_within_limits(const KernelInfo& info, const StepCase& step, const WorkLimits& limits) {
  double elements = 0;
  for (const OperandShape& shape : step.operands) {
    double count = 1;
    for (int32_t i = 0; i < shape.rank; ++i) count *= shape.dims[i];
    elements += count;
  }
  if (elements > 16 * limits.most_elements) return false;
  const kernels::StepWork work = work_of(info, step);
  return work.needed_macs <= limits.most_macs &&
         work.operations + work.transcendentals <= 10 * limits.most_elements &&
         work.read_bytes + work.written_bytes + work.weight_bytes <= 8 * limits.most_elements;
}

}  // namespace

bool has_multiply_adds(const KernelInfo& info) {
  switch (info.op) {
    case OpKind::Conv2d:
    case OpKind::DepthwiseConv2d:
    case OpKind::MatMul:
    case OpKind::BatchMatMul:
      return true;
    default:
      return false;
  }
}

kernels::StepWork work_of(const KernelInfo& info, const StepCase& item) {
  kernels::StepShape step = step_of(info, item);
  int32_t tile[kernels::kMaxTileInts] = {};
  if (info.processor == Processor::Gpu) step.tile_count = kernels::choose_tile(step, {}, tile);
  step.tile = tile;
  kernels::StepWork work;
  kernels::count_work(step, {}, &work);
  return work;
}

std::optional<StepCase> draw_step(const KernelInfo& info, const WorkLimits& limits,
                                  std::mt19937_64& random) {
  const kernels::StepSamples* const samples = kernels::samples_of(info.op);
  if (samples == nullptr) return {};
  kernels::StepDraw draw(info, random);
  for (int i = 0; i < kMaxTries; ++i) {
    draw.begin();
    if (!samples->draw(draw)) continue;
    take_part(draw);
    kernels::StepNeeds needs;
    if (kernels::check_step(step_of(info, draw.step()), &needs) == nullptr &&
        is_within_limits(info, draw.step(), limits))
      return draw.step();
  }
  return {};
}

}  // namespace codl::profiler
