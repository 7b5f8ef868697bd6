// OpenCL for tests of the runtime: records every call, counts live objects and makes chosen calls
// fail. It passes calls on to a simulated device, which keeps memory but computes nothing, or to a
// real OpenCL.
//
// Only one may exist at a time, and one thread may call it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "runtime/src/cl_api.h"

namespace codl::test {

// Sets the simulated device's properties.
struct FakeDevice {
  bool has_platform = true;
  bool has_device = true;
  cl_device_type type = CL_DEVICE_TYPE_GPU;
  bool has_fine_svm = true;
  bool has_svm_atomics = true;
  std::string extensions = "";
  cl_uint most_recorded = 256;        // kernels of a recording of Qualcomm's
  cl_int recording_end = CL_SUCCESS;  // result of the end of a recording
  bool has_host_memory = true;
  bool has_images = true;
  size_t max_image_side = 16384;
  cl_ulong max_allocation_bytes = cl_ulong{1} << 30;
  cl_uint base_alignment_bits = 1024;
  size_t max_group_items = 1024;
  size_t max_group_side = 1024;
  cl_ulong group_local_bytes = 32 * 1024;
  // The driver answers this for every kernel.
  size_t kernel_group_items = 1024;
  cl_ulong kernel_local_bytes = 0;
  size_t image_row_texels = 1;       // rows of images are padded to a multiple of this
  cl_int event_state = CL_COMPLETE;  // state of every command once it is asked for
  // If false, unmapping is refused until something was waited for, as by Mesa 22.3's Rusticl.
  bool takes_early_unmap = true;
};

// Counts bytes of the memory objects that the simulated device holds.
struct FakeBytes {
  int64_t svm = 0;
  int64_t host_visible = 0;  // CL_MEM_ALLOC_HOST_PTR
  int64_t copied = 0;        // CL_MEM_COPY_HOST_PTR
  int64_t other_buffers = 0;
  int64_t images = 0;
};

class FakeCl {
 public:
  explicit FakeCl(const FakeDevice& device = {});
  explicit FakeCl(const rt::ClApi& real);
  FakeCl(const FakeCl&) = delete;
  FakeCl& operator=(const FakeCl&) = delete;
  ~FakeCl();

  const rt::ClApi& api() const { return api_; }

  // Returns the names of the called functions, in order.
  const std::vector<std::string>& calls() const { return calls_; }
  int count(const std::string& name) const;
  void clear_calls() { calls_.clear(); }

  // Counts objects, events and SVM allocations that were made and not yet released.
  int live_count() const { return live_count_; }

  // Counts SVM allocations that were made and not yet released.
  int svm_count() const { return static_cast<int>(svm_.size()); }
  // Counts SVM allocations that were released while a queue had commands that no clFinish had
  // waited for.
  int frees_in_use() const { return frees_in_use_; }

  // Returns the bytes that the simulated device holds.
  const FakeBytes& held() const { return held_; }
  // Counts events that its markers have waited for.
  int marker_waits() const { return marker_waits_; }

  // Makes the call after `index` recorded calls fail and does not pass it on, unless it releases
  // something. -1: none fails. If `count` is more than 1, so many calls fail from there on.
  void fail_at(int index, cl_int error, int count = 1) {
    fail_at_ = index;
    fail_count_ = count;
    error_ = error;
  }
  bool has_failed() const { return has_failed_; }

  FakeDevice device;

 private:
  template <size_t index, typename Function>
  friend struct FakeClCall;
  friend FakeBytes& held_by(FakeCl& fake);
  friend int& marker_waits_of(FakeCl& fake);

  void put_extensions_behind();
  // Records a call. Returns true if it shall fail.
  bool record(const char* name);
  // Note how a passed-on call changes queues and SVM: before it, and if it succeeded.
  void note_start(const char* name, cl_command_queue queue, void* memory);
  void note_success(const char* name, cl_command_queue queue, void* made);

  rt::ClApi api_;   // called by the runtime
  rt::ClApi base_;  // answers the calls
  decltype(rt::ClApi::clGetExtensionFunctionAddressForPlatform) find_extension_ = nullptr;
  std::vector<std::string> calls_;
  int live_count_ = 0;
  std::set<void*> svm_;
  std::set<cl_command_queue> busy_;
  int frees_in_use_ = 0;
  FakeBytes held_;
  int marker_waits_ = 0;
  int fail_at_ = -1;
  int fail_count_ = 1;
  cl_int error_ = CL_SUCCESS;
  bool has_failed_ = false;
};

}  // namespace codl::test
