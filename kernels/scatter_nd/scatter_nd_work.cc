#include "kernels/common/work/work_counts.h"
#include "kernels/scatter_nd/scatter_nd.h"

namespace codl::kernels {
extern const OpWork kScatterNdWork;
const OpWork kScatterNdWork = {KernelFamily::Move, count_loops};

}  // namespace codl::kernels
