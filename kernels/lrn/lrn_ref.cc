#include <cmath>

#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/common/reference/ref_index.h"
#include "kernels/lrn/lrn.h"

namespace codl::kernels {

float lrn_power_ref(float base, float beta) { return std::pow(base, beta); }

void lrn_ref(const KernelArgs& args) {
  const auto& params = args.params_as<LrnParams>();
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const int32_t channels = y.shape.dims[1];
  const LrnNeighbours neighbours = lrn_neighbours(params, channels);
  for_each_output(args, [&](const int32_t* index) {
    const int32_t begin = index[1] - neighbours.below;
    const int32_t end = index[1] + neighbours.above + 1;
    int32_t from[4] = {index[0], begin < 0 ? 0 : begin, index[2], index[3]};
    double sum = 0.0;
    for (; from[1] < (end < channels ? end : channels); ++from[1]) {
      const double element = x.as<const float>()[offset_of(x, from)];
      sum += element * element;
    }
    const double base = params.bias + double{lrn_scale(params)} * sum;
    y.as<float>()[offset_of(y, index)] = static_cast<float>(
        x.as<const float>()[offset_of(x, index)] / std::pow(base, double{params.beta}));
  });
  zero_pad_lanes(args);
}

CODL_CPU_KERNEL_PLAIN(lrn_any_cpu, lrn_ref);

}  // namespace codl::kernels
