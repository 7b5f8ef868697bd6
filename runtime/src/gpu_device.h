// Which OpenCL device runs the GPU queue, and what it can do.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codl/codl.h"
#include "runtime/src/cl_api.h"
#include "schema/plan_fields.h"

namespace codl::rt {

struct GpuDevice {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  char platform_name[128] = {};
  char device_name[128] = {};
  uint64_t base_alignment_bytes = 1;  // alignment of a sub-buffer's origin
  uint64_t max_allocation_bytes = 0;
  bool has_images = false;
  uint64_t max_image_width = 0;
  uint64_t max_image_height = 0;
  uint64_t max_group_items = 0;
  size_t max_group_sizes[3] = {};  // along each dim
  uint64_t group_local_bytes = 0;  // local memory, at most
  bool has_fine_svm = false;
  bool has_svm_atomics = false;  // on that memory
  bool has_host_memory = false;  // device and host share one memory
  // It can be given recorded kernels: by cl_khr_command_buffer, by cl_qcom_recordable_queues.
  bool has_command_buffers = false;
  bool has_recordable_queues = false;
};

// Chooses the first GPU, else the first device of any type, of the platforms and devices whose
// names contain the given parts (null: any). Platforms without devices are skipped: an installed
// driver for hardware that is not there is common. Returns NO_DEVICE if there is none.
codl_status_t choose_device(const ClApi& api, const char* platform_part, const char* device_part,
                            GpuDevice* out_device, codl_diag_t* diag);

// Returns a hash of the platform's, the device's and the driver's names: what a driver does is kept
// under it.
uint64_t driver_hash(const ClApi& api, const GpuDevice& device);

// Returns NO_DEVICE, and what is missing, if the device cannot hold the variant's memory.
codl_status_t check_device(const GpuDevice& device, const plan::VariantDef& variant,
                           codl_diag_t* diag);

}  // namespace codl::rt
