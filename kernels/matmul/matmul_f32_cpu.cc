// Matrix product with packed weights, Plain, of floats or of halves: its tasks.
// common/gemm/panel_rows_f32_cpu.cc computes them. Weights that are integers become floats in
// registers for a single row, and else, panel by panel, what x is, in scratch.
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/matmul/matmul.h"
#include "schema/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/matmul_f32_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/gemm/block_panels-inl.h"
#include "kernels/common/gemm/panel_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {

// Computes a row in `panels`.
template <class T>
HWY_NOINLINE void multiply_row_in_blocks(const PanelRows<T>& product, const uint8_t* weights,
                                         WeightBlocks blocks, Range panels) {
  HWY_ALIGN float sums[kBlockPanels * kChannelPanel];
  const int64_t panel_bytes = block_panel_bytes(blocks, product.depth);
  const bool has_four_bits = blocks.bits == 4;
  const auto one = has_four_bits ? multiply_row<4, 1, T> : multiply_row<8, 1, T>;
  const auto most =
      has_four_bits ? multiply_row<4, kBlockPanels, T> : multiply_row<8, kBlockPanels, T>;
  PanelOutput<T> output = {
      .activation = &product.activation, .y = nullptr, .y_stride = 0, .lanes = {}};
  int count = 0;
  for (int32_t panel = panels.begin; panel < panels.end; panel += count) {
    count = panels.end - panel < kBlockPanels ? 1 : kBlockPanels;
    (count == 1 ? one : most)(product.x, weights + panel * panel_bytes, product.depth, blocks.size,
                              product.bias + panel * kChannelPanel, sums);
    for (int i = 0; i < count; ++i) {
      const int32_t column = (panel + i) * kChannelPanel;
      const int32_t left = product.columns - column;
      const int32_t lanes = left < kChannelPanel ? left : kChannelPanel;
      output.lanes = {lanes, lanes};
      output.y = product.y + column;
      finish_panel(output, sums + i * kChannelPanel, kChannelPanel, 1);
    }
  }
}

// Computes rows in `panels`, two at most at a time, for whose weights there is scratch.
template <class Sums, class T>
HWY_NOINLINE void multiply_rows_in_blocks(PanelRows<T> product, const uint8_t* weights,
                                          WeightBlocks blocks, int64_t row_begin, int64_t row_end,
                                          Range panels, T* scratch) {
  const int64_t panel_bytes = block_panel_bytes(blocks, product.depth);
  const float* const bias = product.bias;
  T* const y = product.y;
  const int32_t columns = product.columns;
  product.weights = scratch;
  product.brings_ahead = false;
  for (int32_t panel = panels.begin; panel < panels.end; panel += kMatMulWidenedPanels) {
    const int32_t left = panels.end - panel;
    const int32_t count = left < kMatMulWidenedPanels ? left : kMatMulWidenedPanels;
    for (int32_t i = 0; i < count; ++i) {
      const uint8_t* const w = weights + (panel + i) * panel_bytes;
      T* const to = scratch + i * product.panel_elements;
      if (blocks.bits == 4)
        widen_panel<4>(w, product.depth, blocks.size, to);
      else
        widen_panel<8>(w, product.depth, blocks.size, to);
    }
    product.bias = bias + panel * kChannelPanel;
    product.y = y + panel * kChannelPanel;
    product.columns = columns - panel * kChannelPanel;
    multiply_rows<Sums>(product, row_begin, row_end, {0, count});
  }
}

template <class Sums, class T>
void multiply(const KernelArgs& args) {
  const auto& params = args.params_as<MatMulParams>();
  const TensorView& x = args.operands[0];
  const TensorView& w = args.operands[1];
  const TensorView& y = args.output();
  const WeightBlocks blocks = w.shape.dtype == DType::U8 ? blocks_of(w.shape) : WeightBlocks{};
  const MatMulWork work = matmul_work(x.shape, w.shape, y.shape, args.part_dim, args.part);
  const PanelRows<T> product = {
      .x = x.as<const T>(),
      .x_stride = x.strides[0],
      .depth = x.shape.dims[1],
      .weights = w.as<const T>(),
      .bias = args.operands[2].as<const float>(),
      .y = y.as<T>(),
      .y_stride = y.strides[0],
      .columns = y.shape.dims[1],
      .is_row = y.shape.dims[0] == 1,
      .brings_ahead = true,
      .activation =
          make_activation(params.activation, params.activation_alpha, params.activation_beta),
  };
  for (int64_t task = args.task_begin; task < args.task_end;) {
    const PanelRectangle rectangle =
        take_rectangle(work.blocks, 1, work.panels, args.task_end, &task);
    const PixelRange rows = pixels_of(rectangle, work.blocks, work.rows, 0);
    if (!blocks)
      multiply_rows<Sums>(product, rows.begin, rows.end, rectangle.panels);
    else if (!product.is_row)
      multiply_rows_in_blocks<Sums>(product, w.as<const uint8_t>(), blocks, rows.begin, rows.end,
                                    rectangle.panels, static_cast<T*>(args.scratch));
    else
      multiply_row_in_blocks(product, w.as<const uint8_t>(), blocks, rectangle.panels);
  }
}

template <class SumsOfHalves>
void matmul(const KernelArgs& args) {
  if (args.operands[0].shape.dtype == DType::F16) return multiply<SumsOfHalves, Half>(args);
  multiply<FloatSums<float>, float>(args);
}

void matmul_in_floats(const KernelArgs& args) { matmul<FloatSums<Half>>(args); }
#if HWY_TARGET == HWY_NEON
void matmul_in_halves(const KernelArgs& args) { matmul<HalfSums>(args); }
#endif

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL_HALVES(matmul_f32_cpu, matmul_in_floats, matmul_in_halves);
}
#endif
