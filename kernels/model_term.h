// What latency models are made of: terms by name, and a floor.
#pragma once

#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

namespace codl::kernels {

// "mbytes": a feature. "mbytes<1.5": as much of it as is below 1.5; "mbytes>1.5": as much as is
// above. Sums of these with coefficients of 0 or more never fall where the feature rises.
struct ModelTerm {
  std::string_view feature;
  double low = 0;
  double high = std::numeric_limits<double>::infinity();

  explicit ModelTerm(std::string_view name) : feature(name) {
    const size_t at = name.find_first_of("<>");
    if (at == std::string_view::npos) return;
    feature = name.substr(0, at);
    double limit = 0;
    std::from_chars(name.data() + at + 1, name.data() + name.size(), limit);
    (name[at] == '<' ? high : low) = limit;
  }

  double of(double value) const { return value <= low ? 0 : (value < high ? value : high) - low; }
};

// Of a step whose terms sum up to `work_us`, where launches come every `floor_us` at most: a GPU
// works on a step while the next is launched, so the longer of the two decides, and where they are
// about the same the step takes up to 9 % more than either. (floor^8 + work^8)^(1/8); never falls
// where one of them rises. A floor of 0 is none.
inline double over_floor_us(double floor_us, double work_us) {
  const double longer = floor_us > work_us ? floor_us : work_us;
  if (floor_us <= 0 || work_us <= 0) return longer;
  double ratio = (floor_us > work_us ? work_us : floor_us) / longer;
  for (int i = 0; i < 3; ++i) ratio *= ratio;
  return longer * std::sqrt(std::sqrt(std::sqrt(1 + ratio)));
}

}  // namespace codl::kernels
