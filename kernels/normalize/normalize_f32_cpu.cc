// Vectors lie along the innermost axis of the memory. Where it is reduced, a unit of work is one
// mean and goes through runs of elements; where it is kept, a unit is a block of neighbouring
// means. Sums and squares are taken in one pass over the memory, from a pivot near the mean.
//
// There are four ways: runs (normalize_runs-inl.h), runs of one line each (normalize_lines-inl.h),
// columns (normalize_columns-inl.h), and columns of maps in blocks of lines
// (normalize_blocks-inl.h).
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/normalize/normalize.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/normalize/normalize_f32_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "kernels/normalize/normalize_blocks-inl.h"
#include "kernels/normalize/normalize_lines-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {

void normalize_f32(const KernelArgs& args) {
  const auto& params = args.params_as<NormalizeParams>();
  const TensorView* scale = params.has_scale != 0 ? &args.operands[1] : nullptr;
  const TensorView* bias = params.has_bias != 0 ? &args.operands[args.operand_count - 2] : nullptr;
  const NormalizeWork work = normalize_work(
      params, args.part_dim, args.part, args.operands[0].shape,
      scale == nullptr ? nullptr : &scale->shape, bias == nullptr ? nullptr : &bias->shape);
  // Pointers start at the first lane, so that lanes are counted from 0 below.
  const auto first_of = [&](const TensorView* view, int k) {
    return view == nullptr ? nullptr
                           : view->as<const float>() + work.first_lane * work.lane_strides[k];
  };
  const auto numbers_of = [&](const TensorView& view) {
    return stored_in(view).at(work.first_lane * work.lane_strides[kNormalizeX]);
  };
  const Operands operands = {
      numbers_of(args.operands[0]), first_of(scale, kNormalizeScale),
      first_of(bias, kNormalizeBias), numbers_of(args.output()),
      make_activation(params.activation, params.activation_alpha, params.activation_beta)};
  const Units units = units_of_tasks(work.units, work.task_count, args.task_begin, args.task_end);
  if (work.line_blocks > 0) return run_line_blocks(args, work, operands, units);
  if (units.begin < units.end && !work.has_kept_lanes && has_single_lines(work, operands))
    return normalize_lines(work, params, operands, units);
  int64_t unit = units.begin;
  while (unit < units.end) {
    int64_t begin[3] = {};
    work.kept.add_offsets(unit / work.lane_blocks, begin);
    if (!work.has_kept_lanes) {
      normalize_runs(work, params, operands, begin);
      ++unit;
      continue;
    }
    // Blocks up to the end of the lanes that are mine.
    const int64_t block = unit % work.lane_blocks;
    const int64_t rest = work.lane_blocks - block;
    const int64_t blocks = rest < units.end - unit ? rest : units.end - unit;
    const int64_t last = (block + blocks) * kNormalizeBlock;
    const int64_t end = last < work.lanes ? last : work.lanes;
    normalize_lanes(work, params, operands, begin, block * kNormalizeBlock, end);
    unit += blocks;
  }
}

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL(normalize_f32_cpu, normalize_f32);
}
#endif
