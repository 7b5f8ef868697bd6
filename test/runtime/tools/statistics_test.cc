#include "runtime/tools/statistics.h"

#include <cmath>
#include <cstdint>

#include "test/support/catch.h"

namespace codl::tools {
namespace {

template <typename Element>
std::string_view bytes_of(const std::vector<Element>& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(Element)};
}

TEST_CASE("percentiles are nearest ranks") {
  std::vector<double> runs;
  for (int i = 100; i >= 1; --i) runs.push_back(i);
  const Latencies latencies = latencies_of(runs);
  CHECK(latencies.min_us == 1);
  CHECK(latencies.median_us == 50.5);
  CHECK(latencies.p90_us == 90);
  CHECK(latencies.p99_us == 99);
}

TEST_CASE("one run is all of its percentiles") {
  const Latencies latencies = latencies_of({7});
  CHECK(latencies.median_us == 7);
  CHECK(latencies.p99_us == 7);
}

TEST_CASE("the range of a tensor's values") {
  const std::vector<float> floats = {1, -3, 5};
  CHECK(value_range_of(CODL_FLOAT32, bytes_of(floats)).min == -3);
  CHECK(value_range_of(CODL_FLOAT32, bytes_of(floats)).max == 5);
  CHECK(value_range_of(CODL_FLOAT32, bytes_of(floats)).mean == 1);
  CHECK(value_range_of(CODL_INT64, bytes_of(std::vector<int64_t>{4, 8})).mean == 6);
  CHECK(value_range_of(CODL_INT8, bytes_of(std::vector<int8_t>{-4, 8})).min == -4);
  CHECK(value_range_of(CODL_BOOL, bytes_of(std::vector<uint8_t>{0, 1})).mean == 0.5);
  CHECK(std::isnan(value_range_of(CODL_FLOAT32, bytes_of(std::vector<float>{1, NAN})).mean));
  CHECK(value_range_of(CODL_FLOAT32, "").max == 0);
}

}  // namespace
}  // namespace codl::tools
