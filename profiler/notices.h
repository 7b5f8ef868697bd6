// Notices of a codl-profile run: about the machine, and about how good its result is.
#pragma once

#include <string>
#include <vector>

#include "profiler/fit/sample.h"

namespace codl::profiler {

// `others`: MeasuredCpu::share_of_others(). Empty: the machine is quiet.
std::string busy_notice(double others);

// A line for each processor whose steps, timed again, took another time too often for a profile of
// them to be worth much, by its repeats or, without any, by how far runs of a step lie apart.
std::vector<std::string> worth_notices(const std::vector<Sample>& samples);

// Names the kernels that were to be timed and have too few samples; empty without any.
std::string unfitted_notice(const std::vector<std::string>& kernels);

}  // namespace codl::profiler
