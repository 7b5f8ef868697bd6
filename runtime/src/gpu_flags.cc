#include "runtime/src/gpu_flags.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "runtime/src/cpu_pool.h"
#include "runtime/src/diag.h"
#include "schema/mix_bits.h"

namespace codl::rt {
namespace {

// A word begins at a multiple of so many bytes, APART words of the text below: no line of a cache
// has two.
constexpr size_t kApartBytes = 128;

// OpenCL asks for the wider scope where the host is concerned. PoCL 3.1 has only the other one; the
// test says whether that is enough.
constexpr const char* kFlagText = R"(
#if __OPENCL_C_VERSION__ >= 300 && !defined(__opencl_c_atomic_scope_all_devices)
#define SCOPE memory_scope_device
#else
#define SCOPE memory_scope_all_svm_devices
#endif
#define APART 32
#define AT(line) ((volatile global atomic_uint*)words + (line) * APART)
kernel void codl_set(global uint* words, uint number) {
  atomic_store_explicit(AT(1), number, memory_order_release, SCOPE);
}
kernel void codl_wait(global uint* words, uint number, uint reads) {
  if (atomic_load_explicit(AT(2), memory_order_relaxed, SCOPE) != 0) return;
  for (uint i = 0; i < reads; ++i)
    if (atomic_load_explicit(AT(0), memory_order_acquire, SCOPE) >= number) return;
  atomic_store_explicit(AT(2), number, memory_order_release, SCOPE);
}
kernel void codl_echo(global uint* words, uint rounds) {
  uint data = words[3 * APART];
  for (uint i = 0; i < rounds; ++i) data = data * 1664525 + 1013904223;
  words[4 * APART] = data;
}
)";

// Synchronisations of the test at a driver's first session, each way, and those enqueued at a time.
constexpr uint32_t kTestCount = 256;
constexpr uint32_t kBatch = 32;
// From here on a waiting thread offers its core to others.
constexpr int64_t kFlagYieldAfterNs = 50'000;

int64_t ns_of(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

struct GpuFlags::Words {
  struct alignas(kApartBytes) Word {
    std::atomic<uint32_t> value;
  };
  Word to_gpu;
  Word to_cpu;
  Word failed;
  // A test's data, with no atomics: a flag makes them seen.
  alignas(kApartBytes) volatile uint32_t given;
  alignas(kApartBytes) volatile uint32_t made;
};

// Holds what is known of a driver, as a cache keeps it.
struct GpuFlags::Kept {
  char key[64];
  uint32_t is_good;
  uint32_t most_reads;
  codl_diag_t reason;
};

bool GpuFlags::open(GpuQueue& gpu, const codl_program_cache_t* cache, const int32_t* cpu_cores,
                    size_t cpu_core_count, codl_diag_t* out_reason) {
  const GpuDevice& device = gpu.device();
  if (!device.has_svm_atomics) {
    set_diag(out_reason, "device %s has no fine-grained SVM with atomics", device.device_name);
    return false;
  }
  // A thread that waits for a flag would have the core of the one that is to set it.
  if (gpu.may_use_cores(cpu_cores, cpu_core_count)) {
    set_diag(out_reason,
             "device %s computes on the CPU: expected cores of its own, given to the first session "
             "of the process, and workers pinned to others",
             device.device_name);
    return false;
  }
  gpu_ = &gpu;
  AffinityScope scope;
  if (cpu_core_count != 0) scope.enter(cpu_cores, cpu_core_count);
  Kept kept = {};
  Kept now = {};
  uint64_t hash = add_to_fnv(driver_hash(gpu.api(), device), kFlagText);
  std::snprintf(now.key, sizeof(now.key), "codl-flags-%016llx",
                static_cast<unsigned long long>(hash));
  const bool is_kept = cache != nullptr &&
                       cache->load(cache->context, now.key, &kept, sizeof(kept)) == sizeof(kept) &&
                       std::memcmp(kept.key, now.key, sizeof(now.key)) == 0;
  if (is_kept && kept.is_good != 1) {
    kept.reason.message[sizeof(kept.reason.message) - 1] = 0;
    set_diag(out_reason, "%s", kept.reason.message);
    return false;
  }
  bool is_good = make(out_reason);
  if (is_good && is_kept) {
    is_good = set_most_reads(std::max(kept.most_reads, 1u));
  } else if (is_good) {
    const auto keep = [&] {
      if (cache != nullptr) cache->store(cache->context, now.key, &now, sizeof(now));
    };
    // A driver that ends the process is not tried again either.
    set_diag(&now.reason, "device %s: a test of flags did not come to its end", device.device_name);
    keep();
    is_good = test(out_reason);
    now.is_good = is_good ? 1 : 0;
    now.most_reads = most_reads_;
    now.reason = is_good ? codl_diag_t() : *out_reason;
    keep();
  }
  if (!is_good) release();
  return is_good;
}

bool GpuFlags::make(codl_diag_t* out_reason) {
  const ClApi& api = gpu_->api();
  void* memory = api.clSVMAlloc(
      gpu_->context(), CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS,
      sizeof(Words), 0);
  // Aligned for the largest type of OpenCL, 128 bytes.
  if (memory != nullptr && reinterpret_cast<uintptr_t>(memory) % alignof(Words) == 0)
    words_ = new (memory) Words();
  cl_int error = CL_SUCCESS;
  if (words_ != nullptr) program_ = build();
  if (program_ != nullptr) {
    set_ = api.clCreateKernel(program_, "codl_set", &error);
    wait_ = api.clCreateKernel(program_, "codl_wait", &error);
    echo_ = api.clCreateKernel(program_, "codl_echo", &error);
  }
  const auto gets_words = [&](cl_kernel kernel) {
    return kernel != nullptr && api.clSetKernelArgSVMPointer(kernel, 0, words_) == CL_SUCCESS;
  };
  if (gets_words(set_) && gets_words(wait_) && gets_words(echo_)) return true;
  set_diag(out_reason, "device %s: expected %s, found none", gpu_->device().device_name,
           words_ == nullptr     ? "memory for flags"
           : program_ == nullptr ? "OpenCL C with atomics in global memory"
                                 : "kernels of flags");
  if (memory != nullptr && words_ == nullptr) api.clSVMFree(gpu_->context(), memory);
  return false;
}

cl_program GpuFlags::build() const {
  const ClApi& api = gpu_->api();
  const cl_device_id device = gpu_->device().device;
  char version[128] = {};
  const bool is_3 = api.clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof(version) - 1, version,
                                        nullptr) == CL_SUCCESS &&
                    std::strncmp(version, "OpenCL 3", 8) == 0;
  const char* const options = is_3 ? "-cl-std=CL3.0" : "-cl-std=CL2.0";
  cl_int error = CL_SUCCESS;
  const char* text = kFlagText;
  const cl_program program =
      api.clCreateProgramWithSource(gpu_->context(), 1, &text, nullptr, &error);
  if (program == nullptr ||
      api.clBuildProgram(program, 1, &device, options, nullptr, nullptr) == CL_SUCCESS)
    return program;
  api.clReleaseProgram(program);
  return nullptr;
}

const char* GpuFlags::text() { return kFlagText; }

void GpuFlags::release() {
  if (gpu_ == nullptr) return;
  const ClApi& api = gpu_->api();
  // Its queue may still read and write the words.
  const bool is_idle = words_ == nullptr || gpu_->drain();
  for (cl_kernel* kernel : {&set_, &wait_, &echo_}) {
    if (*kernel != nullptr) api.clReleaseKernel(*kernel);
    *kernel = nullptr;
  }
  if (program_ != nullptr) api.clReleaseProgram(program_);
  program_ = nullptr;
  if (words_ != nullptr && is_idle) api.clSVMFree(gpu_->context(), words_);
  words_ = nullptr;
}

void GpuFlags::begin_run() {
  words_->to_gpu.value.store(0, std::memory_order_relaxed);
  words_->to_cpu.value.store(0, std::memory_order_relaxed);
}

void GpuFlags::set(uint32_t number) {
  words_->to_gpu.value.store(number, std::memory_order_release);
}

void GpuFlags::open_all() { set(UINT32_MAX); }

uint32_t GpuFlags::failed_number() const {
  return words_->failed.value.load(std::memory_order_acquire);
}

bool GpuFlags::wait(uint32_t number, int64_t most_ns) const {
  // So many pauses pass between two looks at the clock; they take about a microsecond.
  constexpr int32_t kPausesPerLook = 32;
  int64_t start_ns = 0;
  for (;;) {
    for (int32_t i = 0; i < kPausesPerLook; ++i) {
      if (words_->to_cpu.value.load(std::memory_order_acquire) >= number) return true;
      pause_core();
    }
    const int64_t time_ns = now_ns();
    if (start_ns == 0) start_ns = time_ns;
    if (time_ns - start_ns > most_ns) return false;
    if (time_ns - start_ns > kFlagYieldAfterNs) sched_yield();
  }
}

cl_int GpuFlags::enqueue(cl_kernel kernel, uint32_t number) {
  const cl_int error = gpu_->api().clSetKernelArg(kernel, 1, sizeof(number), &number);
  if (error != CL_SUCCESS) return error;
  GpuKernel one;
  one.kernel = kernel;
  one.has_local = true;
  return one.enqueue(*gpu_, 0, nullptr, nullptr);
}

cl_int GpuFlags::make_kernel(const char* name, uint32_t number, GpuKernel* out_kernel) const {
  const ClApi& api = gpu_->api();
  cl_int error = CL_SUCCESS;
  out_kernel->has_local = true;
  out_kernel->kernel = api.clCreateKernel(program_, name, &error);
  if (out_kernel->kernel == nullptr) return error;
  error = api.clSetKernelArgSVMPointer(out_kernel->kernel, 0, words_);
  if (error != CL_SUCCESS) return error;
  return api.clSetKernelArg(out_kernel->kernel, 1, sizeof(number), &number);
}

cl_int GpuFlags::make_set(uint32_t number, GpuKernel* out_kernel) const {
  return make_kernel("codl_set", number, out_kernel);
}

cl_int GpuFlags::make_wait(uint32_t number, GpuKernel* out_kernel) const {
  const cl_int error = make_kernel("codl_wait", number, out_kernel);
  if (error != CL_SUCCESS) return error;
  return gpu_->api().clSetKernelArg(out_kernel->kernel, 2, sizeof(most_reads_), &most_reads_);
}

cl_int GpuFlags::enqueue_set(uint32_t number) { return enqueue(set_, number); }

cl_int GpuFlags::enqueue_wait(uint32_t number) { return enqueue(wait_, number); }

bool GpuFlags::set_most_reads(uint32_t reads) {
  most_reads_ = reads;
  return gpu_->api().clSetKernelArg(wait_, 2, sizeof(reads), &reads) == CL_SUCCESS;
}

// Times a wait for what never comes. A processor's time is that of this process: others may have
// its core meanwhile.
bool GpuFlags::run_out(uint32_t reads, int64_t* out_ns) {
  begin_run();
  words_->failed.value.store(0, std::memory_order_relaxed);
  if (!set_most_reads(reads)) return false;
  const clockid_t clock = gpu_->is_processor() ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
  const int64_t start_ns = ns_of(clock);
  const bool is_done = enqueue_wait(1) == CL_SUCCESS && gpu_->drain() && failed_number() == 1;
  *out_ns = ns_of(clock) - start_ns;
  words_->failed.value.store(0, std::memory_order_relaxed);
  return is_done;
}

bool GpuFlags::test(codl_diag_t* out_reason) {
  // So long that a host that wakes up late counts for little.
  constexpr int64_t kTimedNs = 20'000'000;
  constexpr uint32_t kMaxReads = uint32_t{1} << 30;
  // The quickest of some: the first time a program may be compiled.
  constexpr int32_t kTries = 3;
  uint32_t reads = 1024;
  int64_t best_ns = 0;
  for (;; reads *= 4) {
    best_ns = INT64_MAX;
    for (int32_t i = 0; i < kTries; ++i) {
      int64_t took_ns = 0;
      if (!run_out(reads, &took_ns)) {
        set_diag(out_reason,
                 "device %s: expected a wait for a flag that comes to an end, found none",
                 gpu_->device().device_name);
        return false;
      }
      best_ns = std::min(best_ns, took_ns);
    }
    if (best_ns > kTimedNs || reads >= kMaxReads) break;
  }
  const double all = static_cast<double>(kPatienceNs) * reads / static_cast<double>(best_ns);
  if (!set_most_reads(static_cast<uint32_t>(std::min(all, 4e9)))) {
    set_diag(out_reason, "device %s: clSetKernelArg fails", gpu_->device().device_name);
    return false;
  }
  return exchange(kTestCount, 0, out_reason);
}

bool GpuFlags::exchange(uint32_t count, uint64_t seed, codl_diag_t* out_reason) {
  constexpr uint32_t kMaxRounds = 4096;  // the GPU's delay
  constexpr uint32_t kMaxPauses = 1024;  // the CPU's
  SplitMix64 random(seed);
  const char* const name = gpu_->device().device_name;
  for (uint32_t done = 0; done < count; done += kBatch) {
    uint32_t rounds[kBatch];
    begin_run();
    cl_int error = CL_SUCCESS;
    for (uint32_t i = 0; i < kBatch && error == CL_SUCCESS; ++i) {
      // Half of the delays are none, so that each side comes first as often.
      rounds[i] = random.next() % 2 == 0 ? 0 : static_cast<uint32_t>(random.next() % kMaxRounds);
      error = enqueue_wait(i + 1);
      if (error == CL_SUCCESS) error = enqueue(echo_, rounds[i]);
      if (error == CL_SUCCESS) error = enqueue_set(i + 1);
    }
    if (error == CL_SUCCESS && gpu_->flush(kComputeQueue, nullptr) != CL_SUCCESS)
      error = CL_INVALID_COMMAND_QUEUE;
    bool is_there = error == CL_SUCCESS;
    bool is_seen = true;
    for (uint32_t i = 0; i < kBatch && is_there && is_seen; ++i) {
      uint32_t data = static_cast<uint32_t>(random.next());
      words_->given = data;
      for (uint64_t k = random.next() % 2 * (random.next() % kMaxPauses); k != 0; --k) pause_core();
      set(i + 1);
      is_there = wait(i + 1, kPatienceNs) && failed_number() == 0;
      for (uint32_t r = 0; r < rounds[i]; ++r) data = data * 1664525 + 1013904223;
      is_seen = words_->made == data;
    }
    if (is_there && is_seen) continue;
    open_all();
    gpu_->drain();
    words_->failed.value.store(0, std::memory_order_relaxed);
    if (error != CL_SUCCESS)
      set_diag(out_reason, "device %s: flags: OpenCL error %d", name, static_cast<int>(error));
    else
      set_diag(out_reason, "device %s: %s", name,
               is_there ? "what was written before a flag is not seen behind it"
                        : "a flag does not come while the host waits for it");
    return false;
  }
  return true;
}

}  // namespace codl::rt
