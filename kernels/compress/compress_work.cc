#include "kernels/common/work/work_counts.h"
#include "kernels/compress/compress.h"

namespace codl::kernels {

extern const OpWork kCompressWork;
const OpWork kCompressWork = {KernelFamily::Move, count_moves};

}  // namespace codl::kernels
