// Holds OpenCL's functions in a table that is filled at run time. Only this file includes OpenCL's
// headers.
#pragma once

#define CL_TARGET_OPENCL_VERSION 200  // 200: shared virtual memory; all else is 1.2
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include "codl/codl.h"

// cl_qcom_recordable_queues, which Khronos' headers lack.
using cl_recording_qcom = struct _cl_recording_qcom*;
extern "C" {
cl_recording_qcom clNewRecordingQCOM(cl_command_queue queue, cl_int* error);
cl_int clEndRecordingQCOM(cl_recording_qcom recording);
cl_int clReleaseRecordingQCOM(cl_recording_qcom recording);
// The arrays replace arguments, offsets, global and local sizes of recorded kernels.
cl_int clEnqueueRecordingQCOM(cl_command_queue queue, cl_recording_qcom recording,
                              size_t argument_count, const void* arguments, size_t offset_count,
                              const void* offsets, size_t global_count, const void* globals,
                              size_t local_count, const void* locals, cl_uint wait_count,
                              const cl_event* waits, cl_event* event);
}

namespace codl::rt {

// A queue of this property alone takes kernels that are recorded in place of being run.
inline constexpr cl_command_queue_properties kQueueRecordableQcom = cl_bitfield{1} << 30;
inline constexpr cl_device_info kRecordableQueueMaxSizeQcom = 0x41DE;

// CODL_CL(name) lists what every OpenCL 1.2 has, CODL_CL_OPTIONAL(name) what came with 2.0,
// CODL_CL_EXTENSION(name) what a platform's extensions have.
#define CODL_CL_FUNCTIONS(CODL_CL, CODL_CL_OPTIONAL, CODL_CL_EXTENSION) \
  CODL_CL(clGetPlatformIDs)                                             \
  CODL_CL(clGetPlatformInfo)                                            \
  CODL_CL(clGetDeviceIDs)                                               \
  CODL_CL(clGetDeviceInfo)                                              \
  CODL_CL(clCreateContext)                                              \
  CODL_CL(clReleaseContext)                                             \
  CODL_CL(clCreateCommandQueue)                                         \
  CODL_CL(clReleaseCommandQueue)                                        \
  CODL_CL(clCreateBuffer)                                               \
  CODL_CL(clCreateSubBuffer)                                            \
  CODL_CL(clCreateImage)                                                \
  CODL_CL(clGetMemObjectInfo)                                           \
  CODL_CL(clReleaseMemObject)                                           \
  CODL_CL(clCreateProgramWithSource)                                    \
  CODL_CL(clCreateProgramWithBinary)                                    \
  CODL_CL(clGetProgramInfo)                                             \
  CODL_CL(clBuildProgram)                                               \
  CODL_CL(clGetProgramBuildInfo)                                        \
  CODL_CL(clReleaseProgram)                                             \
  CODL_CL(clCreateKernel)                                               \
  CODL_CL(clReleaseKernel)                                              \
  CODL_CL(clGetKernelWorkGroupInfo)                                     \
  CODL_CL(clSetKernelArg)                                               \
  CODL_CL(clEnqueueNDRangeKernel)                                       \
  CODL_CL(clEnqueueMapBuffer)                                           \
  CODL_CL(clEnqueueUnmapMemObject)                                      \
  CODL_CL(clEnqueueReadBuffer)                                          \
  CODL_CL(clEnqueueReadImage)                                           \
  CODL_CL(clEnqueueWriteBuffer)                                         \
  CODL_CL(clEnqueueWriteImage)                                          \
  CODL_CL(clEnqueueReadBufferRect)                                      \
  CODL_CL(clEnqueueWriteBufferRect)                                     \
  CODL_CL(clEnqueueMarkerWithWaitList)                                  \
  CODL_CL(clCreateUserEvent)                                            \
  CODL_CL(clSetUserEventStatus)                                         \
  CODL_CL(clGetEventInfo)                                               \
  CODL_CL(clGetEventProfilingInfo)                                      \
  CODL_CL(clWaitForEvents)                                              \
  CODL_CL(clReleaseEvent)                                               \
  CODL_CL(clFlush)                                                      \
  CODL_CL(clFinish)                                                     \
  CODL_CL(clGetExtensionFunctionAddressForPlatform)                     \
  CODL_CL_OPTIONAL(clSVMAlloc)                                          \
  CODL_CL_OPTIONAL(clSVMFree)                                           \
  CODL_CL_OPTIONAL(clSetKernelArgSVMPointer)                            \
  CODL_CL_EXTENSION(clCreateCommandBufferKHR)                           \
  CODL_CL_EXTENSION(clReleaseCommandBufferKHR)                          \
  CODL_CL_EXTENSION(clFinalizeCommandBufferKHR)                         \
  CODL_CL_EXTENSION(clCommandNDRangeKernelKHR)                          \
  CODL_CL_EXTENSION(clEnqueueCommandBufferKHR)                          \
  CODL_CL_EXTENSION(clNewRecordingQCOM)                                 \
  CODL_CL_EXTENSION(clEndRecordingQCOM)                                 \
  CODL_CL_EXTENSION(clReleaseRecordingQCOM)                             \
  CODL_CL_EXTENSION(clEnqueueRecordingQCOM)

struct ClApi {
#define CODL_CL_MEMBER(name) decltype(&::name) name = nullptr;
  CODL_CL_FUNCTIONS(CODL_CL_MEMBER, CODL_CL_MEMBER, CODL_CL_MEMBER)
#undef CODL_CL_MEMBER
};

// Opens the OpenCL library and fills the table. NO_DEVICE if there is none. The library stays open:
// drivers do not survive being unloaded while threads of theirs run.
codl_status_t load_cl_api(ClApi* out_api, codl_diag_t* diag);

// Fills in the functions of a platform's extensions, as far as it has them.
void load_extensions(ClApi& api, cl_platform_id platform);

// Returns DEVICE_ERROR and writes a line such as "clFinish: OpenCL error -5".
codl_status_t cl_fault(codl_diag_t* diag, const char* call, cl_int error);

}  // namespace codl::rt
