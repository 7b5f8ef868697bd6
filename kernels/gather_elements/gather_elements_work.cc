#include "kernels/common/step_work.h"
#include "kernels/gather_elements/gather_elements.h"

namespace codl::kernels {

extern const OpWork kGatherElementsWork;
const OpWork kGatherElementsWork = {add_gathered};

}  // namespace codl::kernels
