#include <cmath>

#include "kernels/common/reference/ref_index.h"
#include "kernels/softmax/softmax.h"

namespace codl::kernels {

void softmax_ref(const KernelArgs& args) {
  const int32_t axis = args.params_as<SoftmaxParams>().axis;
  const bool is_log = args.params_as<SoftmaxParams>().is_log != 0;
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  for_each_output(args, [&](const int32_t* index) {
    const float own = x.as<const float>()[offset_of(x, index)];
    int32_t from[kMaxRank] = {};
    for (int32_t i = 0; i < y.shape.rank; ++i) from[i] = index[i];
    from[axis] = 0;
    float maximum = x.as<const float>()[offset_of(x, from)];
    for (from[axis] = 1; from[axis] < y.shape.dims[axis]; ++from[axis])
      maximum = std::fmax(maximum, x.as<const float>()[offset_of(x, from)]);
    double sum = 0.0;
    for (from[axis] = 0; from[axis] < y.shape.dims[axis]; ++from[axis])
      sum += std::exp(double{x.as<const float>()[offset_of(x, from)]} - maximum);
    const double distance = double{own} - maximum;
    y.as<float>()[offset_of(y, index)] =
        static_cast<float>(is_log ? distance - std::log(sum) : std::exp(distance) / sum);
  });
  zero_pad_lanes(args);
}

}  // namespace codl::kernels
