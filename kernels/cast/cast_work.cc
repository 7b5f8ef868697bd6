#include "kernels/cast/cast.h"
#include "kernels/common/work/work_counts.h"

namespace codl::kernels {
extern const OpWork kCastWork;
const OpWork kCastWork = {KernelFamily::Elementwise, count_moves};

}  // namespace codl::kernels
