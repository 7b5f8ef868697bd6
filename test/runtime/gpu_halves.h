// Lists all ways of sharing and gating that a relu plan has, and the OpenCL that runs them.
#pragma once

#include <string>
#include <vector>

#include "test/runtime/relu_plan.h"
#include "test/support/machine_opencl.h"

namespace codl::test {

inline constexpr GpuHalf kHalves[] = {GpuHalf::FineSvm,         GpuHalf::FineSvmChannels,
                                      GpuHalf::FineSvmImages,   GpuHalf::SubBuffer,
                                      GpuHalf::SubBufferImages, GpuHalf::Separate,
                                      GpuHalf::SeparateImages,  GpuHalf::SeparateChannels};
inline constexpr Gate kGates[] = {Gate::HostEnqueue, Gate::UserEvent};

// Returns null if this machine has no OpenCL device.
inline const rt::ClApi* machine_opencl() {
  const MachineOpencl* machine = machine_device();
  return machine == nullptr ? nullptr : &machine->api;
}

// Returns those that this machine's device can have.
inline std::vector<GpuHalf> halves_here() {
  std::vector<GpuHalf> halves;
  for (GpuHalf half : kHalves)
    if (half > GpuHalf::FineSvmImages || !lacks_fine_svm()) halves.push_back(half);
  return halves;
}

inline std::string describe(GpuHalf half, Gate gate) {
  return "half " + std::to_string(static_cast<int>(half)) + ", gate " + name_of(gate);
}

}  // namespace codl::test
