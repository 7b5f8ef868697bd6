#include "kernels/common/work/work_counts.h"
#include "kernels/gather_elements/gather_elements.h"

namespace codl::kernels {

extern const OpWork kGatherElementsWork;
const OpWork kGatherElementsWork = {KernelFamily::Move, count_moves};

}  // namespace codl::kernels
