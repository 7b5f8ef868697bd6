#include "kernels/common/step_work.h"
#include "kernels/gather/gather.h"

namespace codl::kernels {

extern const OpWork kGatherWork;
const OpWork kGatherWork = {add_moved};

}  // namespace codl::kernels
