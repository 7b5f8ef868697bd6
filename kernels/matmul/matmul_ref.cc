#include "kernels/matmul/matmul.h"
#include "kernels/ref.h"
#include "kernels/unary/unary.h"

namespace codl::kernels {

void matmul_ref(const KernelArgs& args) {
  const auto& params = args.params_as<MatMulParams>();
  const TensorView& x = args.operands[0];
  const TensorView& w = args.operands[1];
  const float* bias = args.operands[2].as<const float>();
  const TensorView& y = args.output();
  const Range columns = channels_of_part(args.part_dim, args.part, y.shape);
  for (int32_t row = 0; row < y.shape.dims[0]; ++row)
    for (int32_t column = columns.begin; column < columns.end; ++column) {
      double sum = 0.0;
      for (int32_t k = 0; k < x.shape.dims[1]; ++k)
        sum += double{x.as<const float>()[row * x.strides[0] + k]} *
               double{w.as<const float>()[k * w.strides[0] + column]};
      y.as<float>()[row * y.strides[0] + column] =
          unary_value_ref(params.activation, params.activation_alpha, params.activation_beta,
                          static_cast<float>(sum) + bias[column]);
    }
}

}  // namespace codl::kernels
