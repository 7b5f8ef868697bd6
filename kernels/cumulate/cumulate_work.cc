#include "kernels/common/work/work_counts.h"
#include "kernels/cumulate/cumulate.h"

namespace codl::kernels {
extern const OpWork kCumulateWork;
const OpWork kCumulateWork = {KernelFamily::Reduction, count_loops};

}  // namespace codl::kernels
