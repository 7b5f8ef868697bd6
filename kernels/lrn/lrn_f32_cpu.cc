// Nhwc: the squares of a pixel's channels go to scratch memory, between zeros, where the neighbours
// of a vector of channels are vectors that begin some floats earlier or later.
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/lrn/lrn.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/lrn/lrn_f32_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/cpu/half-inl.h"
#include "kernels/common/cpu/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;

HWY_INLINE Vector power(Vector base, float beta) {
  const Floats d;
  if (beta == kLrnUsualBeta) {
    const Vector root = hn::Sqrt(base);
    return hn::Mul(root, hn::Sqrt(root));
  }
  HWY_ALIGN float lanes[hn::MaxLanes(Floats())];
  hn::Store(base, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = lrn_power_ref(lanes[i], beta);
  return hn::Load(d, lanes);
}

template <class T>
void lrn(const KernelArgs& args) {
  const Floats d;
  const auto& params = args.params_as<LrnParams>();
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const RowWork work = row_work(args.part_dim, args.part, y.shape);
  const LrnNeighbours neighbours = lrn_neighbours(params, y.shape.dims[1]);
  const int64_t channels = y.shape.dims[1];
  const int64_t stored = padded_channels(y.shape);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const Vector scale = hn::Set(d, lrn_scale(params));
  const Vector bias = hn::Set(d, params.bias);
  auto* const scratch = static_cast<float*>(args.scratch);
  float* const squares = scratch + neighbours.below;
  const int64_t floats = lrn_scratch_floats(params, y.shape);
  for (int64_t i = 0; i < floats; ++i) scratch[i] = 0.0f;
  const Units units = units_of_tasks(work.units, work.task_count, args.task_begin, args.task_end);
  for (int64_t unit = units.begin; unit < units.end; ++unit) {
    const int64_t n = unit / work.rows.count();
    const int64_t h = work.rows.begin + unit % work.rows.count();
    const T* from = x.as<const T>() + n * x.strides[0] + (h - x.shape.row_begin) * x.strides[2];
    T* to = y.as<T>() + n * y.strides[0] + (h - y.shape.row_begin) * y.strides[2];
    for (int32_t w = 0; w < y.shape.dims[3]; ++w, from += x.strides[3], to += y.strides[3]) {
      for (int64_t c = 0; c < stored; c += lanes) {
        const Vector v = load_lanes(d, from + c, stored - c);
        store_lanes(d, hn::Mul(v, v), squares + c, stored - c);
      }
      for (int64_t c = 0; c < stored; c += lanes) {
        Vector sum = hn::Zero(d);
        for (int32_t i = 0; i < neighbours.count(); ++i)
          sum = hn::Add(sum, hn::LoadU(d, scratch + c + i));
        const Vector divisor = power(hn::MulAdd(scale, sum, bias), params.beta);
        const Vector result = hn::Div(load_lanes(d, from + c, stored - c), divisor);
        store_lanes(d, keep_lanes(d, result, channels - c), to + c, stored - c);
      }
    }
  }
}

void lrn_f32(const KernelArgs& args) {
  args.output().shape.dtype == DType::F16 ? lrn<Half>(args) : lrn<float>(args);
}

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL(lrn_f32_cpu, lrn_f32);
}
#endif
