// Finds the device of the tests of OpenCL kernels, or says that they are skipped.
#pragma once

#include <string>

#include "test/support/catch.h"
#include "test/support/cl_device.h"

namespace codl::test {

// Returns null, after the line of a skip, on a machine without OpenCL.
inline ClDevice* opencl_device() {
  std::string reason;
  ClDevice* const device = ClDevice::get(&reason);
  if (device == nullptr) WARN("[SKIP] OpenCL kernels: " << reason);
  return device;
}

}  // namespace codl::test
