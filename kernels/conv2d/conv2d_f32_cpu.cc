// The direct convolution of floats, and of halves.
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/conv2d/conv2d.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv2d/conv2d_f32_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/gemm/panel_halves-inl.h"
#include "kernels/conv2d/conv2d_direct-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {

template <class SumsOfHalves>
void conv2d(const KernelArgs& args) {
  if (args.operands[1].shape.dtype == DType::F16) return conv2d_direct<SumsOfHalves>(args);
  conv2d_direct<FloatSums<float>>(args);
}

void conv2d_in_floats(const KernelArgs& args) { conv2d<FloatSums<Half>>(args); }
#if HWY_TARGET == HWY_NEON
void conv2d_in_halves(const KernelArgs& args) { conv2d<HalfSums>(args); }
#endif

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL_HALVES(conv2d_f32_cpu, conv2d_in_floats, conv2d_in_halves);
}
#endif
