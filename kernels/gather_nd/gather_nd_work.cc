#include "kernels/common/work/work_counts.h"
#include "kernels/gather_nd/gather_nd.h"

namespace codl::kernels::gather_nd {

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Move, count_moves};

}  // namespace codl::kernels::gather_nd
