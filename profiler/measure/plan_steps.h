// The kernel steps of compiled plans: shapes that networks have.
#pragma once

#include <string>
#include <vector>

#include "profiler/fit/sample.h"

namespace codl::profiler {

// Those of all variants of the plan file, each once. Throws ToolError if it is no plan.
std::vector<Sample> steps_of_plan(const std::string& path);

}  // namespace codl::profiler
