// All ways of sharing and of gating that a relu plan has, and the OpenCL to run them on.
#pragma once

#include <string>

#include "runtime/src/gpu_device.h"
#include "test/runtime/relu_plan.h"
#include "test/support/catch.h"

namespace codl::test {

inline constexpr GpuHalf kHalves[] = {GpuHalf::FineSvm,         GpuHalf::FineSvmChannels,
                                      GpuHalf::FineSvmImages,   GpuHalf::SubBuffer,
                                      GpuHalf::SubBufferImages, GpuHalf::Separate,
                                      GpuHalf::SeparateImages,  GpuHalf::SeparateChannels};
inline constexpr Gate kGates[] = {Gate::HostEnqueue, Gate::UserEvent};

// Null, and one line to say so, where this machine has no OpenCL device.
inline const rt::ClApi* machine_opencl() {
  static const rt::ClApi* const found = [] {
    static rt::ClApi api;
    codl_diag_t diag;
    rt::GpuDevice device;
    if (rt::load_cl_api(&api, &diag) == CODL_OK &&
        rt::choose_device(api, nullptr, nullptr, &device, &diag) == CODL_OK)
      return static_cast<const rt::ClApi*>(&api);
    WARN("[SKIP] " << diag.message);
    return static_cast<const rt::ClApi*>(nullptr);
  }();
  return found;
}

inline std::string describe(GpuHalf half, Gate gate) {
  return "half " + std::to_string(static_cast<int>(half)) + ", gate " + name_of(gate);
}

}  // namespace codl::test
