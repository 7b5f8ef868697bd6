#include "kernels/common/work/work_counts.h"
#include "kernels/cumulate/cumulate.h"

namespace codl::kernels::cumulate {
extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Reduction, count_loops};

}  // namespace codl::kernels::cumulate
