#include "kernels/common/work_counts.h"
#include "kernels/scatter_nd/scatter_nd.h"

namespace codl::kernels {
extern const OpWork kScatterNdWork;
const OpWork kScatterNdWork = {add_traffic, count_loops};

}  // namespace codl::kernels
