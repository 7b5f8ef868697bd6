#include "kernels/cast/cast.h"
#include "kernels/common/work_counts.h"

namespace codl::kernels {
extern const OpWork kCastWork;
const OpWork kCastWork = {add_traffic, count_moves};

}  // namespace codl::kernels
