#include "kernels/common/reference/ref_index.h"
#include "kernels/depthwise_conv2d/depthwise_conv2d.h"
#include "kernels/ref.h"
#include "kernels/unary/unary.h"

namespace codl::kernels {

void depthwise_conv2d_ref(const KernelArgs& args) {
  const auto& params = args.params_as<DepthwiseConv2dParams>();
  const TensorView& x = args.operands[0];
  const TensorView& w = args.operands[1];
  const float* bias = args.operands[2].as<const float>();
  const TensorView& y = args.output();
  for_each_output(args, [&](const int32_t* index) {
    double sum = 0.0;
    for (int32_t kh = 0; kh < w.shape.dims[2]; ++kh)
      for (int32_t kw = 0; kw < w.shape.dims[3]; ++kw) {
        const int32_t ih = index[2] * params.stride_h - params.pad_top + kh * params.dilation_h;
        const int32_t iw = index[3] * params.stride_w - params.pad_left + kw * params.dilation_w;
        if (ih < 0 || ih >= x.shape.dims[2] || iw < 0 || iw >= x.shape.dims[3]) continue;
        const int32_t x_index[4] = {index[0], index[1], ih, iw};
        const int32_t w_index[4] = {index[1], 0, kh, kw};
        sum += double{x.as<const float>()[offset_of(x, x_index)]} *
               double{w.as<const float>()[offset_of(w, w_index)]};
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
