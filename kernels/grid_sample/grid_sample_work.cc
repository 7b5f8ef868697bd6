#include "kernels/common/step_work.h"
#include "kernels/grid_sample/grid_sample.h"

namespace codl::kernels {
namespace {

void features(const StepShape& step, Features* out_features) {
  double looks = static_cast<double>(element_count(step.output()));
  for (int32_t i = 2; i < step.output().rank; ++i)
    looks *= grid_sample_taps(step.params_as<GridSampleParams>().kind);
  out_features->add("mmacs", looks * 1e-6);
  add_traffic(step, out_features);
}

}  // namespace

extern const OpWork kGridSampleWork;
const OpWork kGridSampleWork = {features};

}  // namespace codl::kernels
