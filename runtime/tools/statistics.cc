#include "runtime/tools/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace codl::tools {
namespace {

// Smallest value that at least `share` of the sorted values do not exceed.
double nearest_rank(const std::vector<double>& sorted, double share) {
  const double rank = std::ceil(share * static_cast<double>(sorted.size()));
  const auto index = static_cast<size_t>(std::max(rank, 1.0)) - 1;
  return sorted[std::min(index, sorted.size() - 1)];
}

}  // namespace

Latencies latencies_of(std::vector<double> runs_us) {
  std::sort(runs_us.begin(), runs_us.end());
  const size_t middle = runs_us.size() / 2;
  Latencies latencies;
  latencies.min_us = runs_us.front();
  latencies.median_us =
      runs_us.size() % 2 == 1 ? runs_us[middle] : (runs_us[middle - 1] + runs_us[middle]) / 2;
  latencies.p90_us = nearest_rank(runs_us, 0.90);
  latencies.p99_us = nearest_rank(runs_us, 0.99);
  return latencies;
}

ValueRange value_range_of(codl_dtype_t dtype, std::string_view bytes) {
  ValueRange range;
  double sum = 0;
  const size_t count = bytes.size() / element_bytes(dtype);
  for (size_t i = 0; i < count; ++i) {
    const double value = read_element(dtype, bytes.data() + i * element_bytes(dtype));
    range.min = i == 0 ? value : std::min(range.min, value);
    range.max = i == 0 ? value : std::max(range.max, value);
    sum += value;
  }
  range.mean = sum / static_cast<double>(count);
  return range;
}

}  // namespace codl::tools
