#include "kernels/common/reference/ref_index.h"
#include "kernels/conv2d/conv2d.h"
#include "kernels/ref.h"
#include "kernels/unary/unary.h"

namespace codl::kernels {

void conv2d_ref(const KernelArgs& args) {
  const auto& params = args.params_as<Conv2dParams>();
  const TensorView& x = args.operands[0];
  const TensorView& w = args.operands[1];
  const float* bias = args.operands[2].as<const float>();
  const TensorView& y = args.output();
  const int32_t* filter = w.shape.dims;
  const int32_t group_channels = y.shape.dims[1] / params.groups;
  for_each_output(args, [&](const int32_t* index) {
    const int32_t first_channel = index[1] / group_channels * filter[1];
    double sum = 0.0;
    for (int32_t ic = 0; ic < filter[1]; ++ic)
      for (int32_t kh = 0; kh < filter[2]; ++kh) {
        const int32_t ih = index[2] * params.stride_h - params.pad_top + kh * params.dilation_h;
        if (ih < 0 || ih >= x.shape.dims[2]) continue;
        const int32_t x_index[4] = {index[0], first_channel + ic, ih, 0};
        const int32_t w_index[4] = {index[1], ic, kh, 0};
        const float* x_row = x.as<const float>() + offset_of(x, x_index);
        const float* w_row = w.as<const float>() + offset_of(w, w_index);
        for (int32_t kw = 0; kw < filter[3]; ++kw) {
          const int32_t iw = index[3] * params.stride_w - params.pad_left + kw * params.dilation_w;
          if (iw < 0 || iw >= x.shape.dims[3]) continue;
          sum += double{x_row[iw * x.strides[3]]} * double{w_row[kw * w.strides[3]]};
        }
      }
    float value = static_cast<float>(sum) + bias[index[1]];
    if (params.has_residual != 0) {
      const TensorView& residual = args.operands[3];
      value += residual.as<const float>()[offset_of(residual, index)];
    }
    y.as<float>()[offset_of(y, index)] =
        unary_value_ref(params.activation, params.activation_alpha, params.activation_beta, value);
  });
  zero_pad_lanes(args);
}

}  // namespace codl::kernels
