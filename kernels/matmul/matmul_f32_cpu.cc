// Matrix product with packed weights, Plain, float32: its tasks. common/gemm/panel_rows_f32_cpu.cc
// computes them.
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/matmul/matmul.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/matmul_f32_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/gemm/panel_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {

void matmul_f32(const KernelArgs& args) {
  const auto& params = args.params_as<MatMulParams>();
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const MatMulWork work =
      matmul_work(x.shape, args.operands[1].shape, y.shape, args.part_dim, args.part);
  const PanelRows<float> product = {
      .x = x.as<const float>(),
      .x_stride = x.strides[0],
      .depth = x.shape.dims[1],
      .weights = args.operands[1].as<const float>(),
      .bias = args.operands[2].as<const float>(),
      .y = y.as<float>(),
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
    multiply_rows<FloatSums<float>>(product, rows.begin, rows.end, rectangle.panels);
  }
}

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL(matmul_f32_cpu, matmul_f32);
}
#endif
