#include "kernels/common/work/work_counts.h"
#include "kernels/compress/compress.h"

namespace codl::kernels::compress {

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Move, count_moves};

}  // namespace codl::kernels::compress
