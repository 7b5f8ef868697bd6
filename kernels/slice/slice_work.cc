#include "kernels/common/step_work.h"
#include "kernels/slice/slice.h"

namespace codl::kernels {

extern const OpWork kSliceWork;
const OpWork kSliceWork = {add_moved};

}  // namespace codl::kernels
