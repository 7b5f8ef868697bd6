#include "kernels/common/step_work.h"
#include "kernels/pad/pad.h"

namespace codl::kernels {

extern const OpWork kPadWork;
const OpWork kPadWork = {add_moved};

}  // namespace codl::kernels
