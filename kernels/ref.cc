#include "kernels/ref.h"

namespace codl::kernels {

// Each is in kernels/<folder>/<folder>_ref.cc.
#define CODL_OP_BEGIN(Op, id, folder) void folder##_ref(const KernelArgs& args);
#include "schema/ops.def"

CpuKernel ref_kernel(OpKind op) {
  switch (op) {
#define CODL_OP_BEGIN(Op, id, folder) \
  case OpKind::Op:                    \
    return folder##_ref;
#include "schema/ops.def"
  }
  __builtin_unreachable();
}

}  // namespace codl::kernels
