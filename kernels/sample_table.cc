// Expands the list of operators with a file <op>_samples.cc, which CMake makes.
#include "kernels/common/work/step_draw.h"

namespace codl::kernels {

#define CODL_SAMPLES(Op) extern const StepSamples k##Op##Samples;
#include "kernels/samples.inc"
#undef CODL_SAMPLES

const StepSamples* samples_of(OpKind op) {
  static constexpr const StepSamples* kSamples[] = {
#define CODL_SAMPLES(Op) &k##Op##Samples,
#include "kernels/samples.inc"
#undef CODL_SAMPLES
  };
  for (const StepSamples* samples : kSamples)
    if (samples->op == op) return samples;
  return nullptr;
}

}  // namespace codl::kernels
