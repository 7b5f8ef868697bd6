// Writes the notices of a codl-profile run: about the machine, and about how good its result is.
#pragma once

#include <string>
#include <vector>

#include "profiler/fit/sample.h"

namespace codl::profiler {

// `others`: MeasuredCpu::share_of_others(). Empty if the machine is quiet.
std::string busy_notice(double others);

// Returns a line for each processor whose steps took another time too often when they were timed
// again, so that its profile is worth little. It looks at repeats or, if there are none, at the
// spread of a step's runs.
std::vector<std::string> worth_notices(const std::vector<Sample>& samples);

// Names the kernels that were to be timed and have too few samples; empty without any.
std::string unfitted_notice(const std::vector<std::string>& kernels);

}  // namespace codl::profiler
