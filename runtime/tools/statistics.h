// Numbers that describe a set of numbers.
#pragma once

#include <string_view>
#include <vector>

#include "tools/dtype.h"

namespace codl::tools {

// Tools print times in milliseconds; names and JSON have microseconds.
inline double ms_of(double us) { return us / 1000; }

struct Latencies {
  double min_us = 0;
  double median_us = 0;  // mean of the middle two of an even count
  double p90_us = 0;     // nearest rank: at least 90 % of the runs took no longer
  double p99_us = 0;
};

// `runs_us` is not empty.
Latencies latencies_of(std::vector<double> runs_us);

struct ValueRange {
  double min = 0;
  double max = 0;
  double mean = 0;  // NaN if there is a value that is none
};

// Returns the range of elements as they lie in memory. Without elements it is 0, 0 and NaN.
ValueRange value_range_of(codl_dtype_t dtype, std::string_view bytes);

}  // namespace codl::tools
