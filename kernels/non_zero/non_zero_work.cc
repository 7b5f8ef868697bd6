#include "kernels/common/work/work_counts.h"
#include "kernels/non_zero/non_zero.h"

namespace codl::kernels {
extern const OpWork kNonZeroWork;
const OpWork kNonZeroWork = {KernelFamily::Move, count_loops};

}  // namespace codl::kernels
