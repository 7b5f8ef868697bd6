// Makes a device with random costs, for tests of searches.
#pragma once

#include <random>

#include "compiler/device/device_profile.h"

namespace codl::test {

// Each kernel's shares depend on the drawn numbers and its name, so another kernel does not change
// them.
compiler::DeviceProfile random_profile(std::mt19937& random, Layout layout = Layout::Nhwc);

}  // namespace codl::test
