#include "kernels/common/work/work_counts.h"
#include "kernels/scatter_nd/scatter_nd.h"

namespace codl::kernels::scatter_nd {
extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Move, count_loops};

}  // namespace codl::kernels::scatter_nd
