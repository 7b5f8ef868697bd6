// The cases of every operator. An operator without cases does not compile.
#pragma once

#include "test/kernels/binary_cases.h"
#include "test/kernels/concat_cases.h"
#include "test/kernels/conv2d_cases.h"
#include "test/kernels/convert_cases.h"
#include "test/kernels/depthwise_conv2d_cases.h"
#include "test/kernels/matmul_cases.h"
#include "test/kernels/pool2d_cases.h"
#include "test/kernels/reshape_cases.h"
#include "test/kernels/softmax_cases.h"
#include "test/kernels/transpose_cases.h"
#include "test/kernels/unary_cases.h"

namespace codl::test {

inline std::vector<KernelCase> cases_of(OpKind op) {
  switch (op) {
#define CODL_OP_BEGIN(Op, id, folder) \
  case OpKind::Op:                    \
    return folder##_cases();
#include "schema/ops.def"
  }
  return {};
}

}  // namespace codl::test
