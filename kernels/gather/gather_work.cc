#include "kernels/common/work/work_counts.h"
#include "kernels/gather/gather.h"

namespace codl::kernels {

extern const OpWork kGatherWork;
const OpWork kGatherWork = {KernelFamily::Move, count_moves};

}  // namespace codl::kernels
