#include "kernels/common/work_counts.h"
#include "kernels/expand/expand.h"

namespace codl::kernels {

extern const OpWork kExpandWork;
const OpWork kExpandWork = {add_moved, count_moves};

}  // namespace codl::kernels
