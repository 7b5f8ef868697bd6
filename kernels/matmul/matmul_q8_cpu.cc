// Matrix product of bytes with packed weights, Plain.
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/matmul/matmul.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/matmul_q8_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/gemm/panel_bytes-inl.h"
#include "kernels/common/gemm/panel_multiply-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {

template <class Sums>
void matmul_bytes(const KernelArgs& args) {
  const auto& params = args.params_as<MatMulParams>();
  const TensorView& x = args.operands[0];
  const TensorView& w = args.operands[1];
  const TensorView& y = args.output();
  const MatMulWork work = matmul_work(x.shape, w.shape, y.shape, args.part_dim, args.part);
  ByteScales scales(
      x.shape, nullptr, y.shape,
      make_activation(params.activation, params.activation_alpha, params.activation_beta),
      x.shape.dims[1], args.scratch, work.panels.count());
  const int64_t depth = x.shape.dims[1];
  const auto* bias = args.operands[2].as<const float>();
  const PanelRows<int8_t> product = {
      .x = x.as<const int8_t>(),
      .x_stride = x.strides[0],
      .depth = depth,
      .weights = w.as<const int8_t>(),
      .bias = bias,
      .y = PanelPointer<int8_t>::of(y),
      .y_stride = y.strides[0],
      .columns = y.shape.dims[1],
      .is_row = y.shape.dims[0] == 1,
      .brings_ahead = true,
      .activation = scales.activation,
      .panel_elements = byte_panel_bytes(1, depth),
      .scales = &scales,
      .first_panel = work.panels.begin,
  };
  for (int64_t task = args.task_begin; task < args.task_end;) {
    const PanelRectangle rectangle =
        take_rectangle(work.blocks, 1, work.panels, args.task_end, &task);
    const PixelRange rows = pixels_of(rectangle, work.blocks, work.rows, 0);
    for (int32_t panel = rectangle.panels.begin; panel < rectangle.panels.end; ++panel)
      scales.fill(panel - work.panels.begin,
                  end_of_panel(product.weights, panel, product.panel_elements),
                  bias + panel * kChannelPanel, kChannelPanel);
    multiply_rows_of<Sums>(product, rows.begin, rows.end, rectangle.panels);
  }
}

#if HWY_TARGET != HWY_AVX3
void matmul_of_bytes(const KernelArgs& args) { matmul_bytes<ByteSums>(args); }
#endif
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
void matmul_with_dots(const KernelArgs& args) { matmul_bytes<DotSums>(args); }
#endif

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL_DOTS(matmul_q8_cpu, matmul_of_bytes, matmul_with_dots);
}
#endif
