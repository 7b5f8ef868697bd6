// Finds this machine's OpenCL as the runtime does, and says which features the tests lack.
#pragma once

#include "runtime/src/gpu_device.h"
#include "test/support/catch.h"

namespace codl::test {

struct MachineOpencl {
  rt::ClApi api;
  rt::GpuDevice device;
};

// Returns null, and prints one line, if this machine has no OpenCL device.
inline const MachineOpencl* machine_device() {
  static const MachineOpencl* const found = [] {
    static MachineOpencl machine;
    codl_diag_t diag;
    if (rt::load_cl_api(&machine.api, &diag) == CODL_OK &&
        rt::choose_device(machine.api, nullptr, nullptr, &machine.device, &diag) == CODL_OK)
      return static_cast<const MachineOpencl*>(&machine);
    WARN("[SKIP] " << diag.message);
    return static_cast<const MachineOpencl*>(nullptr);
  }();
  return found;
}

// Returns true, and prints one line, if there is a device but none of its memory is shared without
// mapping.
inline bool lacks_fine_svm() {
  static const bool lacks = [] {
    const MachineOpencl* machine = machine_device();
    if (machine == nullptr || machine->device.has_fine_svm) return false;
    WARN("[SKIP] " << machine->device.platform_name << ": no fine-grained SVM");
    return true;
  }();
  return lacks;
}

}  // namespace codl::test
