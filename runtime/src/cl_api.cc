#include "runtime/src/cl_api.h"

#include <dlfcn.h>

#include "runtime/src/diag.h"

namespace codl::rt {
namespace {

// The ICD loader comes first, then the names under which Android's vendors ship OpenCL.
constexpr const char* kLibraryNames[] = {
    "libOpenCL.so.1",   "libOpenCL.so",    "libOpenCL-pixel.so",
    "libOpenCL-car.so", "libGLES_mali.so", "libPVROCL.so",
};

// Returns false if the library lacks a function that every OpenCL 1.2 has.
bool find_functions(void* library, ClApi* api) {
  bool complete = true;
#define CODL_CL_OPTIONAL(name) \
  api->name = reinterpret_cast<decltype(api->name)>(dlsym(library, #name));
#define CODL_CL_REQUIRED(name) \
  CODL_CL_OPTIONAL(name)       \
  complete = complete && api->name != nullptr;
#define CODL_CL_NOTHING(name)
  CODL_CL_FUNCTIONS(CODL_CL_REQUIRED, CODL_CL_OPTIONAL, CODL_CL_NOTHING)
#undef CODL_CL_NOTHING
#undef CODL_CL_REQUIRED
#undef CODL_CL_OPTIONAL
  return complete;
}

}  // namespace

codl_status_t load_cl_api(ClApi* out_api, codl_diag_t* diag) {
  for (const char* name : kLibraryNames) {
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    if (find_functions(library, out_api)) return CODL_OK;
    dlclose(library);
  }
  *out_api = {};
  set_diag(diag, "no OpenCL library (libOpenCL.so or an Android vendor's)");
  return CODL_NO_DEVICE;
}

void load_extensions(ClApi& api, cl_platform_id platform) {
#define CODL_CL_NOTHING(name)
#define CODL_CL_EXTENSION(name)                    \
  api.name = reinterpret_cast<decltype(api.name)>( \
      api.clGetExtensionFunctionAddressForPlatform(platform, #name));
  CODL_CL_FUNCTIONS(CODL_CL_NOTHING, CODL_CL_NOTHING, CODL_CL_EXTENSION)
#undef CODL_CL_EXTENSION
#undef CODL_CL_NOTHING
}

codl_status_t cl_fault(codl_diag_t* diag, const char* call, cl_int error) {
  set_diag(diag, "%s: OpenCL error %d", call, static_cast<int>(error));
  return CODL_DEVICE_ERROR;
}

}  // namespace codl::rt
