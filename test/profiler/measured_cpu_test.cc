#include "profiler/measure/measured_cpu.h"

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

TEST_CASE("a processor has the rows of its part in its caches, of what is stored") {
  constexpr size_t kRowBytes = 10 * 16 * 4;
  StepCase item;
  item.part_dim = SplitDim::Height;
  item.part = {10, 20};
  item.operands = {map(40, 0, 40), map(40, 18, 40), map(20, 0, 20)};

  const auto only_range_of = [&](size_t operand) {
    const std::vector<ByteRange> ranges = ranges_near_part(item, item.operands[operand]);
    REQUIRE(ranges.size() == 1);
    return ranges[0];
  };
  CHECK(only_range_of(0).begin == 18 * kRowBytes);
  CHECK(only_range_of(0).end == 40 * kRowBytes);
  CHECK(only_range_of(1).begin == 0);
  CHECK(only_range_of(1).end == 22 * kRowBytes);
  CHECK(only_range_of(2).begin == 8 * kRowBytes);
  CHECK(only_range_of(2).end == 20 * kRowBytes);
}

TEST_CASE("a processor has the rows of its part of every plane") {
  StepCase item;
  item.part_dim = SplitDim::Height;
  item.part = {0, 10};
  OperandShape planes = map(20, 0, 20);
  planes.layout = Layout::Plain;
  planes.bytes = memory_bytes(planes);
  item.operands = {planes, map(20, 0, 20)};
  constexpr size_t kRowBytes = 10 * 4;
  const std::vector<ByteRange> ranges = ranges_near_part(item, planes);
  REQUIRE(ranges.size() == 16);
  CHECK(ranges[15].begin == 15 * 20 * kRowBytes);
  CHECK(ranges[15].end == (15 * 20 + 12) * kRowBytes);
}

TEST_CASE("a processor has all of an operand whose rows are not cut") {
  StepCase item;
  item.operands = {map(20, 0, 20), map(20, 0, 20)};
  const std::vector<ByteRange> ranges = ranges_near_part(item, item.operands[0]);
  REQUIRE(ranges.size() == 1);
  CHECK(ranges[0].begin == 0);
  CHECK(ranges[0].end == item.operands[0].bytes);
}

}  // namespace
}  // namespace codl::profiler
