// LD_PRELOAD: makes OpenCL misbehave as users meet it. CODL_TEST_OPENCL says how:
//
//   none     there is no library
//   no_svm   the device has no fine-grained SVM
//   wrong    the last work-group of every launch does not run
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef int (*Enqueue)(void* queue, void* kernel, unsigned dims, const size_t* offset,
                       const size_t* global, const size_t* local, unsigned wait_count,
                       void* const* waits, void** event);

typedef int (*DeviceInfo)(void* device, unsigned what, size_t size, void* out, size_t* out_size);

#define CL_DEVICE_SVM_CAPABILITIES 0x1053

static Enqueue real_enqueue;
static DeviceInfo real_device_info;

static int is_fault(const char* fault) {
  const char* const chosen = getenv("CODL_TEST_OPENCL");
  return chosen != NULL && strcmp(chosen, fault) == 0;
}

void* dlopen(const char* name, int mode) {
  static void* (*real)(const char*, int);
  if (real == NULL) *(void**)&real = dlvsym(RTLD_NEXT, "dlopen", "GLIBC_2.34");
  if (real == NULL) *(void**)&real = dlvsym(RTLD_NEXT, "dlopen", "GLIBC_2.2.5");
  if (name != NULL && is_fault("none") &&
      (strstr(name, "OpenCL") || strstr(name, "GLES") || strstr(name, "PVR")))
    return NULL;
  return real(name, mode);
}

static int enqueue_wrong(void* queue, void* kernel, unsigned dims, const size_t* offset,
                         const size_t* global, const size_t* local, unsigned wait_count,
                         void* const* waits, void** event) {
  size_t sizes[3] = {1, 1, 1};
  unsigned most = 0;  // the dim with the most groups
  for (unsigned i = 0; i < dims; ++i) {
    sizes[i] = global[i];
    if (sizes[i] / (local ? local[i] : 1) > sizes[most] / (local ? local[most] : 1)) most = i;
  }
  const size_t group = local ? local[most] : 1;
  if (sizes[most] > group) sizes[most] -= group;
  return real_enqueue(queue, kernel, dims, offset, sizes, local, wait_count, waits, event);
}

static int device_info_no_svm(void* device, unsigned what, size_t size, void* out,
                              size_t* out_size) {
  const int error = real_device_info(device, what, size, out, out_size);
  if (error == 0 && what == CL_DEVICE_SVM_CAPABILITIES && out != NULL) memset(out, 0, size);
  return error;
}

void* dlsym(void* library, const char* name) {
  static void* (*real)(void*, const char*);
  if (real == NULL) *(void**)&real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
  if (real == NULL) *(void**)&real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  void* const found = real(library, name);
  if (found != NULL && is_fault("wrong") && strcmp(name, "clEnqueueNDRangeKernel") == 0) {
    real_enqueue = (Enqueue)found;
    return (void*)enqueue_wrong;
  }
  if (found != NULL && is_fault("no_svm") && strcmp(name, "clGetDeviceInfo") == 0) {
    real_device_info = (DeviceInfo)found;
    return (void*)device_info_no_svm;
  }
  return found;
}
