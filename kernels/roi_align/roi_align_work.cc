#include "kernels/common/step_work.h"
#include "kernels/roi_align/roi_align.h"

namespace codl::kernels {
namespace {

void features(const StepShape& step, Features* out_features) {
  const int32_t ratio = step.params_as<RoiAlignParams>().sampling_ratio;
  const double samples = ratio > 0 ? static_cast<double>(ratio) * ratio : 4.0;
  out_features->add("mmacs",
                    static_cast<double>(element_count(step.output())) * samples * 4.0 * 1e-6);
  add_traffic(step, out_features);
}

}  // namespace

extern const OpWork kRoiAlignWork;
const OpWork kRoiAlignWork = {features};

}  // namespace codl::kernels
