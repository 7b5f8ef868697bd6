#include "kernels/common/work/work_counts.h"
#include "kernels/gather_nd/gather_nd.h"

namespace codl::kernels {

extern const OpWork kGatherNdWork;
const OpWork kGatherNdWork = {KernelFamily::Move, count_moves};

}  // namespace codl::kernels
