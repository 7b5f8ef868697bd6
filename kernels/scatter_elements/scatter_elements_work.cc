#include "kernels/common/work/work_counts.h"
#include "kernels/scatter_elements/scatter_elements.h"

namespace codl::kernels::scatter_elements {
extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Move, count_loops};

}  // namespace codl::kernels::scatter_elements
