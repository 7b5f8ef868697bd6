// Multiplies rows by a matrix in packed panels, with the micro-kernel, for MatMul, BatchMatMul and
// Recurrent.
// This is Highway code, compiled once per target.
#if defined(CODL_KERNELS_COMMON_PANEL_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CODL_KERNELS_COMMON_PANEL_ROWS_INL_H
#undef CODL_KERNELS_COMMON_PANEL_ROWS_INL_H
#else
#define CODL_KERNELS_COMMON_PANEL_ROWS_INL_H
#endif

#include "kernels/common/activation/activation-inl.h"
#include "kernels/common/gemm/panel_pointer.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {

struct ByteScales;

// Describes the product y = activation(x w + bias) for whole rows; a call says which of them it
// computes. T says what x, w and y are in memory (panel_pointer.h): float, Half or int8_t, of which
// y may be floats, too, HalfFactors or HalfWeights.
template <class T>
struct PanelRows {
  const InputOf<T>* x;
  int64_t x_stride;  // elements from row to row
  int64_t depth;
  const WeightOf<T>* weights;  // [ceil(columns / 16)][depth][16]
  const float* bias;           // [ceil(columns / 16)][16]
  typename PanelPointer<ResultOf<T>>::Type y;
  int64_t y_stride;
  int32_t columns;
  bool is_row;  // there is one row only
  // Says whether weights that a later pass needs are brought into the second-level cache meanwhile;
  // they are not if the same are read again and again.
  bool brings_ahead;
  bool adds_to_y = false;  // y has sums already, to which the product is added
  Activation activation;
  int64_t panel_elements = depth * kChannelPanel;
  // These are of bytes: what becomes of the sums, from panel `first_panel` on.
  const ByteScales* scales = nullptr;
  int64_t first_panel = 0;
};

// Name micro-kernels, in panel_tile-inl.h and panel_halves-inl.h.
template <class T>
struct FloatSums;
struct FloatRowSums;  // takes HalfWeights, row by row
struct HalfSums;

// Computes rows [row_begin, row_end) of y in `panels` with the micro-kernel Sums. It is in
// panel_rows_f32_cpu.cc, once for all kernels. An element adds up in the order of the depth,
// whatever the rows and panels of a call.
template <class Sums, class T>
void multiply_rows(const PanelRows<T>& product, int64_t row_begin, int64_t row_end, Range panels);

}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CODL_KERNELS_COMMON_PANEL_ROWS_INL_H
