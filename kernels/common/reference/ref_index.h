// Gives reference kernels loops and addresses for any layout with strides, windows and parts.
#pragma once

#include <cstddef>
#include <cstring>

#include "kernels/common/contract/contract.h"

namespace codl::kernels {

// Returns the elements from view.data to the element at `index` (ONNX order).
inline int64_t offset_of(const TensorView& view, const int32_t* index) {
  int64_t offset = 0;
  for (int32_t i = 0; i < view.shape.rank; ++i) {
    const int32_t first = i == 2 ? view.shape.row_begin : 0;
    offset += (index[i] - first) * view.strides[i];
  }
  return offset;
}

// Calls body(const int32_t* index) for every output element of the part, in ONNX order.
template <typename Body>
void for_each_output(const KernelArgs& args, Body body) {
  const OperandShape& y = args.output().shape;
  int32_t begin[kMaxRank] = {};
  int32_t end[kMaxRank] = {};
  for (int32_t i = 0; i < y.rank; ++i) end[i] = y.dims[i];
  if (y.rank == 4) {
    const Range rows = rows_of_part(args.part_dim, args.part, y);
    begin[2] = rows.begin;
    end[2] = rows.end;
  }
  if (args.part_dim == SplitDim::OutputChannel) {
    begin[1] = args.part.begin;
    end[1] = args.part.end;
  }
  int32_t index[kMaxRank] = {};
  for (int32_t i = 0; i < y.rank; ++i) index[i] = begin[i];
  while (true) {
    body(static_cast<const int32_t*>(index));
    int32_t i = y.rank - 1;
    for (; i >= 0; --i) {
      if (++index[i] < end[i]) break;
      index[i] = begin[i];
    }
    if (i < 0) return;
  }
}

// Writes the pad lanes of the part's pixels, if the output is Nhwc and the part has its last
// channel.
inline void zero_pad_lanes(const KernelArgs& args) {
  const TensorView& y = args.output();
  if (y.shape.layout != Layout::Nhwc) return;
  if (channels_of_part(args.part_dim, args.part, y.shape).end != y.shape.dims[1]) return;
  const Range rows = rows_of_part(args.part_dim, args.part, y.shape);
  const int32_t pad = padded_channels(y.shape) - y.shape.dims[1];
  for (int32_t n = 0; n < y.shape.dims[0]; ++n)
    for (int32_t h = rows.begin; h < rows.end; ++h)
      for (int32_t w = 0; w < y.shape.dims[3]; ++w) {
        const int32_t index[4] = {n, y.shape.dims[1], h, w};
        for (int32_t i = 0; i < pad; ++i) y.as<float>()[offset_of(y, index) + i] = 0.0f;
      }
}

// Copies one element: what moves data does not care which dtype it is.
inline void copy_element(const TensorView& to, int64_t to_offset, const TensorView& from,
                         int64_t from_offset) {
  const size_t bytes = dtype_bytes(to.shape.dtype);
  std::memcpy(to.as<char>() + to_offset * static_cast<int64_t>(bytes),
              from.as<const char>() + from_offset * static_cast<int64_t>(bytes), bytes);
}

}  // namespace codl::kernels
