// Reads the kernel steps of compiled plans, because networks have such shapes.
#pragma once

#include <string>
#include <vector>

#include "profiler/fit/sample.h"

namespace codl::profiler {

// Returns the steps of all variants of the plan file, each once. Throws ToolError if it is no plan.
std::vector<Sample> steps_of_plan(const std::string& path);

}  // namespace codl::profiler
