// Describes the fault switch of the tests: it makes a plan's convolutions on one queue write zeros.
#pragma once

#include <cstdint>
#include <vector>

namespace codl::test {

enum class FaultQueue { Cpu, Gpu };

// Changes the plan so that every check still holds: the activation of each Conv2d and
// DepthwiseConv2d step of `queue`, in every variant, becomes Clip(0, 0). Returns the number of
// changed steps. The bytes must be a valid plan.
int zero_queue(std::vector<uint8_t>& plan, FaultQueue queue);

}  // namespace codl::test
