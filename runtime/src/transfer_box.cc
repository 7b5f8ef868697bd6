#include "runtime/src/transfer_box.h"

#include "schema/step_shape.h"

namespace codl::rt {
namespace {

using kernels::OperandShape;

// All numbers are products of verified dims: at most kMaxElements elements.
size_t as_size(int64_t value) { return static_cast<size_t>(value); }

// Returns the bytes of one row of the value: all columns, in Nhwc with all channels.
size_t row_bytes_of(const OperandShape& shape) {
  const int64_t lanes = shape.layout == Layout::Nhwc ? kernels::padded_channels(shape) : 1;
  return as_size(shape.dims[3] * lanes) * dtype_bytes(shape.dtype);
}

// Returns the bytes from one channel to the next: adjacent in Nhwc, a plane apart in Plain.
size_t channel_bytes_of(const OperandShape& shape) {
  int64_t elements = 1;
  if (shape.layout != Layout::Nhwc)
    for (int32_t i = 2; i < shape.rank; ++i) elements *= shape.dims[i];
  return as_size(elements) * dtype_bytes(shape.dtype);
}

TransferBox height_box(const OperandShape& host, const OperandShape& device, Range rows) {
  const bool is_nhwc = device.layout == Layout::Nhwc;
  const size_t row_bytes = row_bytes_of(device);
  const auto origin = [&](const OperandShape& shape) {
    return as_size(rows.begin - shape.row_begin) * row_bytes;
  };
  const auto pitch = [&](const OperandShape& shape) {
    return as_size(is_nhwc ? kernels::rows_held(shape) : shape.dims[2]) * row_bytes;
  };
  TransferBox box;
  box.row_bytes = as_size(rows.count()) * row_bytes;
  box.row_count = as_size(is_nhwc ? device.dims[0] : int64_t{device.dims[0]} * device.dims[1]);
  box.host_origin_bytes = origin(host);
  box.host_pitch_bytes = pitch(host);
  box.device_origin_bytes = origin(device);
  box.device_pitch_bytes = pitch(device);
  return box;
}

TransferBox channel_box(const OperandShape& shape, Range channels) {
  const size_t channel_bytes = channel_bytes_of(shape);
  int32_t end = channels.end;
  int32_t stored_channels = shape.dims[1];
  TransferBox box;
  box.row_count = as_size(shape.dims[0]);
  if (shape.layout == Layout::Nhwc) {
    stored_channels = kernels::padded_channels(shape);
    if (end == shape.dims[1]) end = stored_channels;
    box.row_count *= as_size(int64_t{kernels::rows_held(shape)} * shape.dims[3]);
  }
  box.row_bytes = as_size(end - channels.begin) * channel_bytes;
  box.host_origin_bytes = box.device_origin_bytes = as_size(channels.begin) * channel_bytes;
  box.host_pitch_bytes = box.device_pitch_bytes = as_size(stored_channels) * channel_bytes;
  return box;
}

}  // namespace

TransferBox transfer_box(const OperandShape& host, const OperandShape& device, SplitDim part_dim,
                         Range part) {
  if (part_dim == SplitDim::Height) return height_box(host, device, part);
  if (part_dim == SplitDim::OutputChannel) return channel_box(device, part);
  TransferBox box;
  box.row_bytes = box.host_pitch_bytes = box.device_pitch_bytes = static_cast<size_t>(device.bytes);
  return box;
}

}  // namespace codl::rt
