#include "kernels/common/work_counts.h"
#include "kernels/scatter_elements/scatter_elements.h"

namespace codl::kernels {
namespace {

void features(const StepShape& step, Features* out_features) { add_traffic(step, out_features); }

}  // namespace

extern const OpWork kScatterElementsWork;
const OpWork kScatterElementsWork = {features, count_loops};

}  // namespace codl::kernels
