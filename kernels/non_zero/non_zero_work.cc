#include "kernels/common/work_counts.h"
#include "kernels/non_zero/non_zero.h"

namespace codl::kernels {
extern const OpWork kNonZeroWork;
const OpWork kNonZeroWork = {add_traffic, count_loops};

}  // namespace codl::kernels
