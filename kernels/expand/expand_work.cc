#include "kernels/common/work/work_counts.h"
#include "kernels/expand/expand.h"

namespace codl::kernels {

extern const OpWork kExpandWork;
const OpWork kExpandWork = {KernelFamily::Move, count_moves};

}  // namespace codl::kernels
