#include "kernels/common/work/work_counts.h"
#include "kernels/expand/expand.h"

namespace codl::kernels::expand {

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Move, count_moves};

}  // namespace codl::kernels::expand
