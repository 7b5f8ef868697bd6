// Counts live OpenCL objects: a layer between the loader and the driver counts creations and
// releases. So objects that a session forgets are told from those that a driver keeps.
#pragma once

#include <cstdint>

namespace codl::test {

struct ClObjects {
  int64_t alive = 0;  // references that are held
  int64_t made = 0;   // since the program began
};

// Asks the loader for the layer. Call it before OpenCL is loaded; it has no effect if OPENCL_LAYERS
// names layers already. A loader that knows no layers counts nothing: `made` stays 0.
void count_cl_objects();

ClObjects cl_objects();

// Creates a context of the first device and forgets it. Returns false if there is no device.
bool leak_cl_object();

}  // namespace codl::test
