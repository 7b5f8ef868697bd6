#include "profiler/cpu_lane.h"

#include "test/support/catch.h"

namespace codl::profiler {
namespace {

OperandShape map(int32_t rows, int32_t row_begin, int32_t row_end) {
  OperandShape shape;
  shape.layout = Layout::Nhwc;
  shape.rank = 4;
  const int32_t dims[] = {1, 16, rows, 10};
  std::copy(dims, dims + 4, shape.dims);
  shape.row_begin = row_begin;
  shape.row_end = row_end;
  shape.bytes = memory_bytes(shape);
  return shape;
}

TEST_CASE("a lane has the rows of its part in its caches, of what is stored") {
  constexpr size_t kRowBytes = 10 * 16 * 4;
  StepCase item;
  item.part_dim = SplitDim::Height;
  item.part = {10, 20};
  item.operands = {map(40, 0, 40), map(40, 18, 40), map(20, 0, 20)};

  const ByteRange of_all = bytes_near_part(item, item.operands[0]);
  CHECK(of_all.begin == 18 * kRowBytes);
  CHECK(of_all.end == 40 * kRowBytes);
  const ByteRange of_part = bytes_near_part(item, item.operands[1]);
  CHECK(of_part.begin == 0);
  CHECK(of_part.end == 22 * kRowBytes);
  const ByteRange output = bytes_near_part(item, item.operands[2]);
  CHECK(output.begin == 8 * kRowBytes);
  CHECK(output.end == 20 * kRowBytes);
}

TEST_CASE("a lane has all of an operand whose rows are not cut") {
  StepCase item;
  item.operands = {map(20, 0, 20), map(20, 0, 20)};
  const ByteRange range = bytes_near_part(item, item.operands[0]);
  CHECK(range.begin == 0);
  CHECK(range.end == item.operands[0].bytes);
}

}  // namespace
}  // namespace codl::profiler
