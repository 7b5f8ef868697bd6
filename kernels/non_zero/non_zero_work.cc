#include "kernels/common/work/work_counts.h"
#include "kernels/non_zero/non_zero.h"

namespace codl::kernels::non_zero {
extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Move, count_loops};

}  // namespace codl::kernels::non_zero
