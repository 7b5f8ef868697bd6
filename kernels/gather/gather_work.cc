#include "kernels/common/work/work_counts.h"
#include "kernels/gather/gather.h"

namespace codl::kernels::gather {

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Move, count_moves};

}  // namespace codl::kernels::gather
