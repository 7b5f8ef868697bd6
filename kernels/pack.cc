#include "kernels/pack.h"

#include <cassert>

#include "kernels/conv2d/conv2d.h"
#include "kernels/conv2d/winograd.h"
#include "kernels/depthwise_conv2d/depthwise_conv2d.h"
#include "kernels/matmul/matmul.h"
#include "kernels/recurrent/recurrent.h"
#include "schema/half.h"

namespace codl::kernels {

namespace {

constexpr int32_t rank_of(PackingKind kind) {
  if (kind == PackingKind::Bias) return 1;
  if (kind == PackingKind::RecurrentPanels) return 3;
  return kind == PackingKind::MatMulPanels ? 2 : 4;
}

uint64_t packed_elements(PackingKind kind, const int32_t* dims, int32_t groups) {
  switch (kind) {
    case PackingKind::None:
      return 0;
    case PackingKind::Bias:
      return static_cast<uint64_t>(panel_channels(dims[0]));
    case PackingKind::ConvPanels:
      return conv2d_packed_elements(dims, groups);
    case PackingKind::Depthwise:
      return depthwise_conv2d_packed_elements(dims);
    case PackingKind::MatMulPanels:
      return matmul_packed_elements(dims);
    case PackingKind::RecurrentPanels:
      return recurrent_packed_elements(dims);
    case PackingKind::Winograd2:
    case PackingKind::Winograd4:
      return winograd_packed_elements(kind, dims);
  }
  __builtin_unreachable();
}

// Returns the size of weights of 8 bits.
uint64_t packed_byte_weights(PackingKind kind, const int32_t* dims, int32_t groups) {
  if (kind == PackingKind::ConvPanels) return conv2d_packed_bytes(dims, groups);
  if (kind == PackingKind::MatMulPanels) return matmul_packed_bytes(dims);
  assert(kind == PackingKind::Depthwise);
  return depthwise_conv2d_packed_bytes(dims);
}

void pack_byte_weights(PackingKind kind, const int32_t* dims, int32_t groups, const float* src,
                       int8_t* dst) {
  if (kind == PackingKind::ConvPanels) return conv2d_pack(dims, groups, src, dst);
  if (kind == PackingKind::MatMulPanels) return matmul_pack(dims, src, dst);
  assert(kind == PackingKind::Depthwise);
  depthwise_conv2d_pack(dims, src, dst);
}

// Copies the values and adds zeros up to the panel.
template <typename Element>
void pack_bias(int32_t channels, const float* src, Element* dst) {
  for (int64_t i = 0; i < panel_channels(channels); ++i)
    dst[i] = static_cast<Element>(i < channels ? src[i] : 0.0f);
}

template <typename Element>
void pack_as(PackingKind kind, const int32_t* dims, int32_t groups, const float* src,
             Element* dst) {
  switch (kind) {
    case PackingKind::None:
      return;
    case PackingKind::Bias:
      return pack_bias(dims[0], src, dst);
    case PackingKind::ConvPanels:
      return conv2d_pack(dims, groups, src, dst);
    case PackingKind::Depthwise:
      return depthwise_conv2d_pack(dims, src, dst);
    case PackingKind::MatMulPanels:
      return matmul_pack(dims, src, dst);
    case PackingKind::RecurrentPanels:
      return recurrent_pack(dims, src, dst);
    case PackingKind::Winograd2:
    case PackingKind::Winograd4:
      return winograd_pack(kind, dims, src, dst);
  }
}

}  // namespace

uint64_t packed_bytes(Packing packing, const int32_t* dims, [[maybe_unused]] int32_t rank,
                      int32_t groups) {
  assert(packing.kind == PackingKind::None || rank == rank_of(packing.kind));
  if (packing.blocks) return matmul_packed_bytes(dims, packing.blocks);
  if (packing.dtype == DType::I8) return packed_byte_weights(packing.kind, dims, groups);
  return packed_elements(packing.kind, dims, groups) * dtype_bytes(packing.dtype);
}

void pack(Packing packing, const int32_t* dims, [[maybe_unused]] int32_t rank, int32_t groups,
          const float* src, void* dst) {
  assert(packing.kind != PackingKind::None && rank == rank_of(packing.kind));
  if (packing.blocks) return matmul_pack(dims, src, packing.blocks, static_cast<uint8_t*>(dst));
  if (packing.dtype == DType::I8)
    return pack_byte_weights(packing.kind, dims, groups, src, static_cast<int8_t*>(dst));
  if (packing.dtype == DType::F16)
    return pack_as(packing.kind, dims, groups, src, static_cast<Half*>(dst));
  assert(packing.dtype == DType::F32);
  pack_as(packing.kind, dims, groups, src, static_cast<float*>(dst));
}

}  // namespace codl::kernels
