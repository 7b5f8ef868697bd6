// Matrix product with packed weights, Plain, of floats or of halves: its tasks.
// common/gemm/panel_rows_f32_cpu.cc computes them.
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/matmul/matmul.h"
#include "schema/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/matmul_f32_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/gemm/panel_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {

template <class Sums, class T>
void multiply(const KernelArgs& args) {
  const auto& params = args.params_as<MatMulParams>();
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const MatMulWork work =
      matmul_work(x.shape, args.operands[1].shape, y.shape, args.part_dim, args.part);
  const PanelRows<T> product = {
      .x = x.as<const T>(),
      .x_stride = x.strides[0],
      .depth = x.shape.dims[1],
      .weights = args.operands[1].as<const T>(),
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
    multiply_rows<Sums>(product, rows.begin, rows.end, rectangle.panels);
  }
}

template <class SumsOfHalves>
void matmul(const KernelArgs& args) {
  if (args.operands[1].shape.dtype == DType::F16) return multiply<SumsOfHalves, Half>(args);
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
