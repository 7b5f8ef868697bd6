// Holds OpenCL's functions in a table that is filled at run time. Only this file includes OpenCL's
// headers.
#pragma once

#define CL_TARGET_OPENCL_VERSION 200  // 200: shared virtual memory; all else is 1.2
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include "codl/codl.h"

namespace codl::rt {

// CODL_CL(name) lists what every OpenCL 1.2 has, CODL_CL_OPTIONAL(name) what came with 2.0.
#define CODL_CL_FUNCTIONS(CODL_CL, CODL_CL_OPTIONAL) \
  CODL_CL(clGetPlatformIDs)                          \
  CODL_CL(clGetPlatformInfo)                         \
  CODL_CL(clGetDeviceIDs)                            \
  CODL_CL(clGetDeviceInfo)                           \
  CODL_CL(clCreateContext)                           \
  CODL_CL(clReleaseContext)                          \
  CODL_CL(clCreateCommandQueue)                      \
  CODL_CL(clReleaseCommandQueue)                     \
  CODL_CL(clCreateBuffer)                            \
  CODL_CL(clCreateSubBuffer)                         \
  CODL_CL(clCreateImage)                             \
  CODL_CL(clGetMemObjectInfo)                        \
  CODL_CL(clReleaseMemObject)                        \
  CODL_CL(clCreateProgramWithSource)                 \
  CODL_CL(clCreateProgramWithBinary)                 \
  CODL_CL(clGetProgramInfo)                          \
  CODL_CL(clBuildProgram)                            \
  CODL_CL(clGetProgramBuildInfo)                     \
  CODL_CL(clReleaseProgram)                          \
  CODL_CL(clCreateKernel)                            \
  CODL_CL(clReleaseKernel)                           \
  CODL_CL(clGetKernelWorkGroupInfo)                  \
  CODL_CL(clSetKernelArg)                            \
  CODL_CL(clEnqueueNDRangeKernel)                    \
  CODL_CL(clEnqueueMapBuffer)                        \
  CODL_CL(clEnqueueUnmapMemObject)                   \
  CODL_CL(clEnqueueReadBuffer)                       \
  CODL_CL(clEnqueueReadImage)                        \
  CODL_CL(clEnqueueWriteBuffer)                      \
  CODL_CL(clEnqueueWriteImage)                       \
  CODL_CL(clEnqueueReadBufferRect)                   \
  CODL_CL(clEnqueueWriteBufferRect)                  \
  CODL_CL(clEnqueueMarkerWithWaitList)               \
  CODL_CL(clCreateUserEvent)                         \
  CODL_CL(clSetUserEventStatus)                      \
  CODL_CL(clGetEventInfo)                            \
  CODL_CL(clGetEventProfilingInfo)                   \
  CODL_CL(clWaitForEvents)                           \
  CODL_CL(clReleaseEvent)                            \
  CODL_CL(clFlush)                                   \
  CODL_CL(clFinish)                                  \
  CODL_CL_OPTIONAL(clSVMAlloc)                       \
  CODL_CL_OPTIONAL(clSVMFree)                        \
  CODL_CL_OPTIONAL(clSetKernelArgSVMPointer)

struct ClApi {
#define CODL_CL_MEMBER(name) decltype(&::name) name = nullptr;
  CODL_CL_FUNCTIONS(CODL_CL_MEMBER, CODL_CL_MEMBER)
#undef CODL_CL_MEMBER
};

// Opens the OpenCL library and fills the table. NO_DEVICE if there is none. The library stays open:
// drivers do not survive being unloaded while threads of theirs run.
codl_status_t load_cl_api(ClApi* out_api, codl_diag_t* diag);

// Returns DEVICE_ERROR and writes a line such as "clFinish: OpenCL error -5".
codl_status_t cl_fault(codl_diag_t* diag, const char* call, cl_int error);

}  // namespace codl::rt
