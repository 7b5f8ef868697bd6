#include "kernels/pack.h"

#include <cassert>

#include "kernels/conv2d/conv2d.h"
#include "kernels/depthwise_conv2d/depthwise_conv2d.h"
#include "kernels/matmul/matmul.h"

namespace codl::kernels {

namespace {

constexpr uint32_t kWeights = 1;
constexpr uint32_t kBias = 2;

bool has_packed_operands(OpKind op) {
  return op == OpKind::Conv2d || op == OpKind::DepthwiseConv2d || op == OpKind::MatMul;
}

}  // namespace

uint64_t packed_bytes(OpKind op, uint32_t operand, const int32_t* dims,
                      [[maybe_unused]] int32_t rank, int32_t groups) {
  if (!has_packed_operands(op)) return 0;
  if (operand == kBias) {
    assert(rank == 1);
    return packed_bias_bytes(dims[0]);
  }
  if (operand != kWeights) return 0;
  assert(rank == (op == OpKind::MatMul ? 2 : 4));
  switch (op) {
    case OpKind::Conv2d:
      return conv2d_packed_bytes(dims, groups);
    case OpKind::DepthwiseConv2d:
      return depthwise_conv2d_packed_bytes(dims);
    default:
      return matmul_packed_bytes(dims);
  }
}

void pack(OpKind op, uint32_t operand, const int32_t* dims, [[maybe_unused]] int32_t rank,
          int32_t groups, const float* src, float* dst) {
  assert(packed_bytes(op, operand, dims, rank, groups) != 0);
  if (operand == kBias) return pack_bias(dims[0], src, dst);
  switch (op) {
    case OpKind::Conv2d:
      return conv2d_pack(dims, groups, src, dst);
    case OpKind::DepthwiseConv2d:
      return depthwise_conv2d_pack(dims, src, dst);
    default:
      return matmul_pack(dims, src, dst);
  }
}

}  // namespace codl::kernels
