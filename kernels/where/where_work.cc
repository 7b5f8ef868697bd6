#include "kernels/common/work/work_counts.h"
#include "kernels/where/where.h"

namespace codl::kernels::where {
extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Elementwise, count_loops};

}  // namespace codl::kernels::where
