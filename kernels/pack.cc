#include "kernels/pack.h"

#include <cassert>

#include "kernels/conv2d/conv2d.h"
#include "kernels/conv2d/winograd.h"
#include "kernels/depthwise_conv2d/depthwise_conv2d.h"
#include "kernels/matmul/matmul.h"
#include "kernels/recurrent/recurrent.h"

namespace codl::kernels {

namespace {

constexpr int32_t rank_of(Packing packing) {
  if (packing == Packing::Bias) return 1;
  if (packing == Packing::RecurrentPanels) return 3;
  return packing == Packing::MatMulPanels ? 2 : 4;
}

}  // namespace

uint64_t packed_bytes(Packing packing, const int32_t* dims, [[maybe_unused]] int32_t rank,
                      int32_t groups) {
  assert(packing == Packing::None || rank == rank_of(packing));
  switch (packing) {
    case Packing::None:
      return 0;
    case Packing::Bias:
      return packed_bias_bytes(dims[0]);
    case Packing::ConvPanels:
      return conv2d_packed_bytes(dims, groups);
    case Packing::Depthwise:
      return depthwise_conv2d_packed_bytes(dims);
    case Packing::MatMulPanels:
      return matmul_packed_bytes(dims);
    case Packing::RecurrentPanels:
      return recurrent_packed_bytes(dims);
    case Packing::Winograd2:
    case Packing::Winograd4:
      return winograd_packed_bytes(packing, dims);
  }
  __builtin_unreachable();
}

void pack(Packing packing, const int32_t* dims, [[maybe_unused]] int32_t rank, int32_t groups,
          const float* src, float* dst) {
  assert(packing != Packing::None && rank == rank_of(packing));
  switch (packing) {
    case Packing::None:
      return;
    case Packing::Bias:
      return pack_bias(dims[0], src, dst);
    case Packing::ConvPanels:
      return conv2d_pack(dims, groups, src, dst);
    case Packing::Depthwise:
      return depthwise_conv2d_pack(dims, src, dst);
    case Packing::MatMulPanels:
      return matmul_pack(dims, src, dst);
    case Packing::RecurrentPanels:
      return recurrent_pack(dims, src, dst);
    case Packing::Winograd2:
    case Packing::Winograd4:
      return winograd_pack(packing, dims, src, dst);
  }
}

}  // namespace codl::kernels
