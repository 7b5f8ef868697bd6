#include "kernels/common/step_work.h"
#include "kernels/expand/expand.h"

namespace codl::kernels {

extern const OpWork kExpandWork;
const OpWork kExpandWork = {add_moved};

}  // namespace codl::kernels
