// The direct convolution of floats.
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/conv2d/conv2d.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv2d/conv2d_f32_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/conv2d/conv2d_direct-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {

void conv2d_f32(const KernelArgs& args) { conv2d_direct<FloatSums<float>>(args); }

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL(conv2d_f32_cpu, conv2d_f32);
}
#endif
