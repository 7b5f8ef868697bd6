#include <cmath>

#include "kernels/common/cpu_dispatch.h"
#include "kernels/common/ref_index.h"
#include "kernels/unary/unary.h"

namespace codl::kernels {

float unary_value_ref(int32_t kind, float alpha, float beta, float x) {
  switch (kind) {
    case kUnaryRelu:
      return x > 0.0f ? x : 0.0f;
    case kUnaryLeakyRelu:
      return x < 0.0f ? alpha * x : x;
    case kUnaryClip:
      return std::fmin(std::fmax(x, alpha), beta);
    case kUnarySigmoid:
      return static_cast<float>(1.0 / (1.0 + std::exp(-double{x})));
    case kUnaryTanh:
      return static_cast<float>(std::tanh(double{x}));
    default:
      return x;
  }
}

void unary_ref(const KernelArgs& args) {
  const auto& params = args.params_as<UnaryParams>();
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  for_each_output(args, [&](const int32_t* index) {
    y.as<float>()[offset_of(y, index)] = unary_value_ref(params.kind, params.alpha, params.beta,
                                                         x.as<const float>()[offset_of(x, index)]);
  });
  zero_pad_lanes(args);
}

CODL_CPU_KERNEL_PLAIN(unary_any_cpu, unary_ref);

}  // namespace codl::kernels
