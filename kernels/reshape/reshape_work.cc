#include "kernels/common/step_work.h"
#include "kernels/reshape/reshape.h"

namespace codl::kernels {

extern const OpWork kReshapeWork;
const OpWork kReshapeWork = {add_moved};

}  // namespace codl::kernels
