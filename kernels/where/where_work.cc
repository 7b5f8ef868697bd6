#include "kernels/common/work_counts.h"
#include "kernels/where/where.h"

namespace codl::kernels {
extern const OpWork kWhereWork;
const OpWork kWhereWork = {add_traffic, count_loops};

}  // namespace codl::kernels
