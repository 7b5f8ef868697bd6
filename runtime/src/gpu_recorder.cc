#include "runtime/src/gpu_recorder.h"

#include "runtime/src/diag.h"

namespace codl::rt {

namespace {

// Khronos' extension sets no bound; no variant has so many steps.
constexpr uint32_t kUnbounded = uint32_t{1} << 24;

}  // namespace

bool GpuRecorder::open(GpuQueue& gpu, codl_diag_t* out_reason) {
  gpu_ = &gpu;
  const ClApi& api = gpu.api();
  const GpuDevice& device = gpu.device();
  cl_uint most = 0;
  if (device.has_command_buffers && api.clCreateCommandBufferKHR != nullptr &&
      api.clReleaseCommandBufferKHR != nullptr && api.clFinalizeCommandBufferKHR != nullptr &&
      api.clCommandNDRangeKernelKHR != nullptr && api.clEnqueueCommandBufferKHR != nullptr) {
    most_kernels_ = kUnbounded;
  } else if (device.has_recordable_queues && api.clNewRecordingQCOM != nullptr &&
             api.clEndRecordingQCOM != nullptr && api.clReleaseRecordingQCOM != nullptr &&
             api.clEnqueueRecordingQCOM != nullptr &&
             api.clGetDeviceInfo(device.device, kRecordableQueueMaxSizeQcom, sizeof(most), &most,
                                 nullptr) == CL_SUCCESS &&
             most != 0) {
    cl_int error = CL_SUCCESS;
    recordable_ =
        api.clCreateCommandQueue(gpu.context(), device.device, kQueueRecordableQcom, &error);
    if (recordable_ != nullptr) most_kernels_ = most;
  }
  if (most_kernels_ != 0) return true;
  set_diag(out_reason,
           "device %s: expected cl_khr_command_buffer or cl_qcom_recordable_queues, found neither",
           device.device_name);
  return false;
}

void GpuRecorder::close() {
  if (recordable_ != nullptr) gpu_->api().clReleaseCommandQueue(recordable_);
  recordable_ = nullptr;
  most_kernels_ = 0;
}

cl_int GpuRecorder::begin(GpuRecording* out_recording) {
  const ClApi& api = gpu_->api();
  const cl_command_queue queue = gpu_->queue(kComputeQueue);
  cl_int error = CL_SUCCESS;
  *out_recording =
      has_command_buffers()
          ? static_cast<void*>(api.clCreateCommandBufferKHR(1, &queue, nullptr, &error))
          : static_cast<void*>(api.clNewRecordingQCOM(recordable_, &error));
  return *out_recording == nullptr && error == CL_SUCCESS ? CL_INVALID_OPERATION : error;
}

cl_int GpuRecorder::add(GpuRecording recording, const GpuKernel& kernel) {
  const ClApi& api = gpu_->api();
  const size_t* const local = kernel.has_local ? kernel.local : nullptr;
  // Kernels of a queue in order are recorded in order.
  return has_command_buffers()
             ? api.clCommandNDRangeKernelKHR(static_cast<cl_command_buffer_khr>(recording), nullptr,
                                             nullptr, kernel.kernel, 3, nullptr, kernel.global,
                                             local, 0, nullptr, nullptr, nullptr)
             : api.clEnqueueNDRangeKernel(recordable_, kernel.kernel, 3, nullptr, kernel.global,
                                          local, 0, nullptr, nullptr);
}

cl_int GpuRecorder::end(GpuRecording recording) {
  return has_command_buffers()
             ? gpu_->api().clFinalizeCommandBufferKHR(static_cast<cl_command_buffer_khr>(recording))
             : gpu_->api().clEndRecordingQCOM(static_cast<cl_recording_qcom>(recording));
}

cl_int GpuRecorder::enqueue(GpuRecording recording, cl_uint wait_count, const cl_event* waits,
                            cl_event* out_event) {
  const ClApi& api = gpu_->api();
  gpu_->note_enqueue(kComputeQueue);
  return has_command_buffers()
             ? api.clEnqueueCommandBufferKHR(0, nullptr,
                                             static_cast<cl_command_buffer_khr>(recording),
                                             wait_count, waits, out_event)
             : api.clEnqueueRecordingQCOM(
                   gpu_->queue(kComputeQueue), static_cast<cl_recording_qcom>(recording), 0,
                   nullptr, 0, nullptr, 0, nullptr, 0, nullptr, wait_count, waits, out_event);
}

void GpuRecorder::release(GpuRecording recording) {
  const ClApi& api = gpu_->api();
  if (has_command_buffers())
    api.clReleaseCommandBufferKHR(static_cast<cl_command_buffer_khr>(recording));
  else
    api.clReleaseRecordingQCOM(static_cast<cl_recording_qcom>(recording));
}

}  // namespace codl::rt
