#include "kernels/common/work/work_counts.h"
#include "kernels/gather_elements/gather_elements.h"

namespace codl::kernels::gather_elements {

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Move, count_moves};

}  // namespace codl::kernels::gather_elements
