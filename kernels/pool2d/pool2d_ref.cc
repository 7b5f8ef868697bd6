#include <cmath>
#include <limits>

#include "kernels/common/reference/ref_index.h"
#include "kernels/pool2d/pool2d.h"

namespace codl::kernels {

void pool2d_ref(const KernelArgs& args) {
  const auto& params = args.params_as<Pool2dParams>();
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  for_each_output(args, [&](const int32_t* index) {
    if (index[1] >= x.shape.dims[1]) {
      y.as<float>()[offset_of(y, index)] = 0;
      return;
    }
    double sum = 0.0;
    float maximum = -std::numeric_limits<float>::infinity();
    int32_t inside_count = 0;
    int32_t padded_count = 0;
    for (int32_t i = 0; i < params.kernel_h; ++i) {
      for (int32_t j = 0; j < params.kernel_w; ++j) {
        const int32_t h = index[2] * params.stride_h - params.pad_top + i * params.dilation_h;
        const int32_t w = index[3] * params.stride_w - params.pad_left + j * params.dilation_w;
        if (h < x.shape.dims[2] + params.pad_bottom && w < x.shape.dims[3] + params.pad_right)
          ++padded_count;
        if (h < 0 || h >= x.shape.dims[2] || w < 0 || w >= x.shape.dims[3]) continue;
        const int32_t from[4] = {index[0], index[1], h, w};
        const float value = x.as<const float>()[offset_of(x, from)];
        sum += value;
        if (value > maximum || std::isnan(value)) maximum = value;
        ++inside_count;
      }
    }
    const int32_t divisor = params.count_include_pad != 0 ? padded_count : inside_count;
    y.as<float>()[offset_of(y, index)] =
        params.kind == kPool2dMax ? maximum : static_cast<float>(sum / divisor);
  });
  zero_pad_lanes(args);
}

}  // namespace codl::kernels
