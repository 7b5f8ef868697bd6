// The direct convolution of operands of 8 bits.
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/conv2d/conv2d.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv2d/conv2d_q8_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/gemm/panel_bytes-inl.h"
#include "kernels/conv2d/conv2d_direct-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {

template <class Sums>
void conv2d_bytes(const KernelArgs& args) {
  const auto& params = args.params_as<Conv2dParams>();
  const TensorView& x = args.operands[0];
  const TensorView& w = args.operands[1];
  const TensorView& y = args.output();
  const Conv2dWork work = conv2d_work(params, x.shape, w.shape, y.shape, args.part_dim, args.part);
  ByteScales scales(
      x.shape, params.has_residual != 0 ? &args.operands[3].shape : nullptr, y.shape,
      make_activation(params.activation, params.activation_alpha, params.activation_beta),
      int64_t{w.shape.dims[1]} * w.shape.dims[2] * w.shape.dims[3],
      static_cast<char*>(args.scratch) + work.scales_offset, work.panels.count());
  const int32_t group_channels = y.shape.dims[1] / params.groups;
  const int32_t group_panels = static_cast<int32_t>(ceil_div(group_channels, kChannelPanel));
  const int64_t panel_bytes =
      byte_panel_bytes(int64_t{w.shape.dims[2]} * w.shape.dims[3], w.shape.dims[1]);
  for (int32_t panel = work.panels.begin; panel < work.panels.end; ++panel) {
    const int32_t first = panel % group_panels * kChannelPanel;
    scales.fill(panel - work.panels.begin, end_of_panel(w.as<const int8_t>(), panel, panel_bytes),
                args.operands[2].as<const float>() + panel / group_panels * group_channels + first,
                group_channels - first);
  }
  conv2d_direct<Sums>(args, &scales);
}

#if HWY_TARGET != HWY_AVX3
void conv2d_of_bytes(const KernelArgs& args) { conv2d_bytes<ByteSums>(args); }
#endif
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
void conv2d_with_dots(const KernelArgs& args) { conv2d_bytes<DotSums>(args); }
#endif

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL_DOTS(conv2d_q8_cpu, conv2d_of_bytes, conv2d_with_dots);
}
#endif
