// A device of random costs, for tests of searches.
#pragma once

#include <random>

#include "compiler/device/device_profile.h"

namespace codl::test {

// Each kernel's shares are a function of what is drawn and of its name: others do not change with
// a kernel more.
compiler::DeviceProfile random_profile(std::mt19937& random, Layout layout = Layout::Nhwc);

}  // namespace codl::test
