#include "kernels/common/step_work.h"
#include "kernels/compress/compress.h"

namespace codl::kernels {

extern const OpWork kCompressWork;
const OpWork kCompressWork = {add_moved};

}  // namespace codl::kernels
