// How many OpenCL objects live: a layer between the loader and the driver counts what is created
// and what is released. So what a session forgets to release is told from what a driver keeps.
#pragma once

#include <cstdint>

namespace codl::test {

struct ClObjects {
  int64_t alive = 0;  // references that are held
  int64_t made = 0;   // since the program began
};

// Asks the loader for the layer. Before OpenCL is loaded; with no effect where OPENCL_LAYERS names
// layers already. A loader that knows no layers counts nothing: `made` stays 0.
void count_cl_objects();

ClObjects cl_objects();

// Creates a context of the first device and forgets it. False where there is none.
bool leak_cl_object();

}  // namespace codl::test
