#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/unary/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/unary/unary_f32_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/activation/activation-inl.h"
#include "kernels/common/cpu/half-inl.h"
#include "kernels/common/cpu/stored_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {

// Says how runs of numbers are computed, which `compute` does.
struct Run {
  Activation activation;
  void (*compute)(const Run& run, const StoredNumbers& x, const StoredNumbers& y, int64_t count);
  int8_t results[256];  // where both sides are bytes: those of bytes 0 to 255 (unsigned)
};

void compute_floats(const Run& run, const StoredNumbers& x, const StoredNumbers& y, int64_t count) {
  activate_rows(run.activation, x.floats(), count, y.floats(), count, 1, count);
}

// Computes numbers in any form on either side.
void compute_blocks(const Run& run, const StoredNumbers& x, const StoredNumbers& y, int64_t count) {
  HWY_ALIGN float block[kStoredBlock];
  for (int64_t i = 0; i < count; i += kStoredBlock) {
    const int64_t some = count - i < kStoredBlock ? count - i : kStoredBlock;
    load_rows(x.at(i), some, 1, some, block, some);
    activate_rows(run.activation, block, some, block, some, 1, some);
    store_rows(block, some, 1, some, y.at(i), some);
  }
}

void look_up_bytes(const Run& run, const StoredNumbers& x, const StoredNumbers& y, int64_t count) {
  const auto* const from = static_cast<const uint8_t*>(x.first);
  int8_t* const to = y.bytes();
#pragma GCC unroll 8
  for (int64_t i = 0; i < count; ++i) to[i] = run.results[from[i]];
}

void set_results(const StoredNumbers& x, const StoredNumbers& y, Run* run) {
  int8_t bytes[256];
  for (int i = 0; i < 256; ++i) bytes[i] = static_cast<int8_t>(i);
  StoredNumbers from = x;
  StoredNumbers to = y;
  from.first = bytes;
  to.first = run->results;
  compute_blocks(*run, from, to, 256);
}

#if HWY_TARGET == HWY_NEON
// Computes limits of halves, which take no rounding.
CODL_HALF_ARITHMETIC HWY_NOINLINE void limit_halves(const Run& run, const StoredNumbers& x,
                                                    const StoredNumbers& y, int64_t count) {
  const HalfVec low = spread_half(run.activation.low);
  const HalfVec high = spread_half(run.activation.high);
  int64_t i = 0;
  for (; i + kHalfLanes <= count; i += kHalfLanes)
    store_halves(smaller_halves(larger_halves(load_halves(x.halves() + i), low), high),
                 y.halves() + i);
  if (i < count) compute_blocks(run, x.at(i), y.at(i), count - i);
}
#endif

void unary(const KernelArgs& args, bool in_halves) {
  const auto& params = args.params_as<UnaryParams>();
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const StoredNumbers all_x = stored_in(x);
  const StoredNumbers all_y = stored_in(y);
  Run run;
  run.activation = without_rounding(make_activation(params.kind, params.alpha, params.beta), all_y);
  run.compute = all_x.is_float() && all_y.is_float() ? compute_floats : compute_blocks;
#if HWY_TARGET == HWY_NEON
  if (in_halves && all_x.is_half() && all_y.is_half() && !run.activation.has_curve)
    run.compute = limit_halves;
#else
  static_cast<void>(in_halves);
#endif
  if (all_x.is_byte() && all_y.is_byte()) {
    set_results(all_x, all_y, &run);
    run.compute = look_up_bytes;
  }
  const ElementwiseWork work = elementwise_work(args.part_dim, args.part, y.shape);
  const Units units = units_of_tasks(work.units, work.task_count, args.task_begin, args.task_end);
  if (y.shape.layout == Layout::Plain) {
    const int64_t elements = element_count(y.shape);
    const int64_t begin = units.begin * kElementwiseBlock;
    const int64_t end =
        units.end * kElementwiseBlock < elements ? units.end * kElementwiseBlock : elements;
    run.compute(run, all_x.at(begin), all_y.at(begin), end - begin);
    return;
  }
  const int32_t columns = y.shape.dims[3];
  const int32_t channels = y.shape.dims[1];
  const int64_t pixel = y.strides[3];
  const bool has_every_channel = work.channels.count() == channels;
  const int64_t pad_end = work.channels.end == channels ? pixel : work.channels.end;
  // Rows of an image follow each other in memory.
  int64_t rows = 0;
  for (int64_t unit = units.begin; unit < units.end; unit += rows) {
    const int64_t n = unit / work.rows.count();
    const int64_t row = unit % work.rows.count();
    const int64_t h = work.rows.begin + row;
    rows = work.rows.count() - row < units.end - unit ? work.rows.count() - row : units.end - unit;
    const int64_t pixels = rows * columns;
    const StoredNumbers from = all_x.at(n * x.strides[0] + (h - x.shape.row_begin) * x.strides[2]);
    const StoredNumbers to = all_y.at(n * y.strides[0] + (h - y.shape.row_begin) * y.strides[2]);
    if (has_every_channel) run.compute(run, from, to, pixels * pixel);
    if (has_every_channel && work.channels.end == pad_end) continue;
    for (int64_t i = 0; i < pixels; ++i) {
      const int64_t first = i * pixel + work.channels.begin;
      if (!has_every_channel) run.compute(run, from.at(first), to.at(first), work.channels.count());
      store_zeros(to.at(i * pixel + work.channels.end), pad_end - work.channels.end);
    }
  }
}

void unary_in_floats(const KernelArgs& args) { unary(args, false); }

#if HWY_TARGET == HWY_NEON
void unary_in_halves(const KernelArgs& args) { unary(args, true); }
#endif

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL_HALVES(unary_f32_cpu, unary_in_floats, unary_in_halves);
}
#endif
