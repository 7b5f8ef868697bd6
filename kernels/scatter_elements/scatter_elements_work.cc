#include "kernels/common/work/work_counts.h"
#include "kernels/scatter_elements/scatter_elements.h"

namespace codl::kernels {
extern const OpWork kScatterElementsWork;
const OpWork kScatterElementsWork = {KernelFamily::Move, count_loops};

}  // namespace codl::kernels
