#include "kernels/common/work_counts.h"
#include "kernels/gather/gather.h"

namespace codl::kernels {

extern const OpWork kGatherWork;
const OpWork kGatherWork = {add_moved, count_moves};

}  // namespace codl::kernels
