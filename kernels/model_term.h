// Terms of latency models by name.
#pragma once

#include <charconv>
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

}  // namespace codl::kernels
