#include "runtime/src/transfer_box.h"

#include <cstring>
#include <vector>

#include "schema/step_shape.h"
#include "test/support/catch.h"

namespace codl::rt {
namespace {

using kernels::OperandShape;

OperandShape shape_of(Layout layout, std::vector<int32_t> dims, Range rows) {
  OperandShape shape;
  shape.layout = layout;
  shape.rank = static_cast<int32_t>(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) shape.dims[i] = dims[i];
  if (layout == Layout::Nhwc) {
    shape.row_begin = rows.begin;
    shape.row_end = rows.end;
  }
  shape.bytes = static_cast<uint64_t>(kernels::stored_elements(shape)) * 4;
  return shape;
}

// Returns element (n, c, h, w) of a tensor whose memory holds its own indices.
float value_at(const OperandShape& shape, const std::vector<float>& data, int32_t n, int32_t c,
               int32_t h, int32_t w) {
  int64_t strides[kMaxRank] = {};
  kernels::strides_of(shape, strides);
  return data[static_cast<size_t>(n * strides[0] + c * strides[1] +
                                  (h - shape.row_begin) * strides[2] + w * strides[3])];
}

// Copies like the OpenCL calls, from a host tensor of numbers to a device tensor of zeros.
std::vector<float> upload(const TransferBox& box, const OperandShape& host,
                          const OperandShape& device, const std::vector<float>& from) {
  std::vector<float> to(device.bytes / 4, 0.0f);
  for (size_t row = 0; row < box.row_count; ++row) {
    const size_t source = box.host_origin_bytes + row * box.host_pitch_bytes;
    const size_t target = box.device_origin_bytes + row * box.device_pitch_bytes;
    REQUIRE(source + box.row_bytes <= host.bytes);
    REQUIRE(target + box.row_bytes <= device.bytes);
    std::memcpy(reinterpret_cast<char*>(to.data()) + target,
                reinterpret_cast<const char*>(from.data()) + source, box.row_bytes);
  }
  return to;
}

// Uploads the part and checks every element of the device's window.
void check_upload(const OperandShape& host, const OperandShape& device, SplitDim dim, Range part) {
  std::vector<float> numbers(host.bytes / 4);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i + 1);
  const std::vector<float> copy =
      upload(transfer_box(host, device, dim, part), host, device, numbers);
  const Range rows = device.layout == Layout::Nhwc ? Range{device.row_begin, device.row_end}
                                                   : Range{0, device.dims[2]};
  for (int32_t n = 0; n < device.dims[0]; ++n)
    for (int32_t c = 0; c < device.dims[1]; ++c)
      for (int32_t h = rows.begin; h < rows.end; ++h)
        for (int32_t w = 0; w < device.dims[3]; ++w) {
          const int32_t place = dim == SplitDim::Height ? h : c;
          const bool is_copied = dim == SplitDim::None || (part.begin <= place && place < part.end);
          const float expected = is_copied ? value_at(host, numbers, n, c, h, w) : 0.0f;
          if (value_at(device, copy, n, c, h, w) != expected)
            FAIL("element " << n << ' ' << c << ' ' << h << ' ' << w);
        }
}

TEST_CASE("a part of the rows moves between windows of different rows") {
  for (int32_t batch : {1, 3}) {
    const std::vector<int32_t> dims = {batch, 5, 10, 3};
    check_upload(shape_of(Layout::Nhwc, dims, {0, 10}), shape_of(Layout::Nhwc, dims, {4, 9}),
                 SplitDim::Height, {5, 8});
    check_upload(shape_of(Layout::Nhwc, dims, {3, 10}), shape_of(Layout::Nhwc, dims, {0, 10}),
                 SplitDim::Height, {3, 10});
    check_upload(shape_of(Layout::Plain, dims, {}), shape_of(Layout::Plain, dims, {}),
                 SplitDim::Height, {2, 7});
  }
}

TEST_CASE("a part of the channels moves inside each pixel") {
  for (int32_t batch : {1, 2}) {
    const std::vector<int32_t> dims = {batch, 37, 4, 3};
    for (Layout layout : {Layout::Nhwc, Layout::Plain}) {
      check_upload(shape_of(layout, dims, {1, 4}), shape_of(layout, dims, {1, 4}),
                   SplitDim::OutputChannel, {16, 32});
      check_upload(shape_of(layout, dims, {0, 4}), shape_of(layout, dims, {0, 4}),
                   SplitDim::OutputChannel, {32, 37});
    }
  }
}

TEST_CASE("the pad lanes move with the last channel only") {
  const OperandShape shape = shape_of(Layout::Nhwc, {1, 37, 1, 1}, {0, 1});
  CHECK(transfer_box(shape, shape, SplitDim::OutputChannel, {32, 37}).row_bytes == 8 * 4);
  CHECK(transfer_box(shape, shape, SplitDim::OutputChannel, {16, 32}).row_bytes == 16 * 4);
}

TEST_CASE("a matrix moves by columns, a whole tensor in one piece") {
  const OperandShape matrix = shape_of(Layout::Plain, {3, 40}, {});
  const TransferBox columns = transfer_box(matrix, matrix, SplitDim::OutputChannel, {16, 40});
  CHECK(columns.row_count == 3);
  CHECK(columns.row_bytes == 24 * 4);
  CHECK(columns.device_origin_bytes == 16 * 4);
  CHECK(columns.host_pitch_bytes == 40 * 4);
  const TransferBox whole = transfer_box(matrix, matrix, SplitDim::None, {});
  CHECK(whole.row_count == 1);
  CHECK(whole.row_bytes == matrix.bytes);
}

}  // namespace
}  // namespace codl::rt
