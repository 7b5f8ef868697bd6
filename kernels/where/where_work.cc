#include "kernels/common/work/work_counts.h"
#include "kernels/where/where.h"

namespace codl::kernels {
extern const OpWork kWhereWork;
const OpWork kWhereWork = {KernelFamily::Elementwise, count_loops};

}  // namespace codl::kernels
