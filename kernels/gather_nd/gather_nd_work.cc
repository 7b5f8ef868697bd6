#include "kernels/common/step_work.h"
#include "kernels/gather_nd/gather_nd.h"

namespace codl::kernels {

extern const OpWork kGatherNdWork;
const OpWork kGatherNdWork = {add_gathered};

}  // namespace codl::kernels
