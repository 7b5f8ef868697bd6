// Rows times a matrix in packed panels, of floats and of halves, or of one and the other.
#include "kernels/common/gemm/panel_tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/common/gemm/panel_rows_f32_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/gemm/panel_halves-inl.h"
#include "kernels/common/gemm/panel_multiply-inl.h"
#include "kernels/common/gemm/panel_rows-inl.h"
#include "kernels/common/gemm/panel_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
template <class Sums, class T>
void multiply_rows(const PanelRows<T>& product, int64_t row_begin, int64_t row_end, Range panels) {
  multiply_rows_of<Sums>(product, row_begin, row_end, panels);
}

template void multiply_rows<FloatSums<float>>(const PanelRows<float>&, int64_t, int64_t, Range);
template void multiply_rows<FloatSums<Half>>(const PanelRows<Half>&, int64_t, int64_t, Range);
template void multiply_rows<FloatSums<HalfFactors>>(const PanelRows<HalfFactors>&, int64_t, int64_t,
                                                    Range);
template void multiply_rows<FloatRowSums>(const PanelRows<HalfWeights>&, int64_t, int64_t, Range);
#if HWY_TARGET == HWY_NEON
template void multiply_rows<HalfSums>(const PanelRows<Half>&, int64_t, int64_t, Range);
#endif

}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
