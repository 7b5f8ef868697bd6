#include "kernels/cast/cast.h"
#include "kernels/common/work/work_counts.h"

namespace codl::kernels::cast {
extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Elementwise, count_moves};

}  // namespace codl::kernels::cast
