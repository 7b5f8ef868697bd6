#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>

#include "profiler/fit/fit.h"
#include "profiler/fit/sample.h"
#include "profiler/measure/measure_machine.h"

namespace codl::profiler {
namespace {

// fmas: independent multiply-adds; chain: each waits for the one before. chase: each load gives the
// next address. read: four independent loads; all units read the same few bytes, or share all of
// them.
constexpr char kMachineKernels[] = R"(
__kernel void fmas(__global float* out, int rounds) {
  float8 a = (float8)(get_global_id(0)), b = a + 1.0f;
  for (int i = 0; i < rounds; ++i) {
    a = mad(a, (float8)(0.999f), (float8)(0.5f));
    b = mad(b, (float8)(0.999f), (float8)(0.5f));
  }
  a += b;
  if (a.s0 + a.s1 + a.s2 + a.s3 + a.s4 + a.s5 + a.s6 + a.s7 == 1.0f) out[0] = 1.0f;
}
__kernel void chain(__global float* out, int rounds) {
  float a = get_global_id(0);
  for (int i = 0; i < rounds; ++i) a = mad(a, 0.999f, 0.5f);
  if (a == 1.0f) out[0] = a;
}
__kernel void chase(__global const uint* restrict next, int count, __global uint* restrict out) {
  uint at = 0;
  for (int i = 0; i < count; ++i) at = next[at];
  out[0] = at;
}
__kernel void read(__global const float4* restrict in, int is_near, int step, int mask, int rounds,
                   __global float* restrict out) {
  int at = is_near ? get_local_id(0) : get_global_id(0);
  float4 a = 0.0f, b = 0.0f, c = 0.0f, d = 0.0f;
  for (int i = 0; i < rounds; ++i) {
    a += in[at & mask];
    b += in[(at + step) & mask];
    c += in[(at + 2 * step) & mask];
    d += in[(at + 3 * step) & mask];
    at += 4 * step;
  }
  a += b + c + d;
  if (a.x + a.y + a.z + a.w == -1.2345f) out[0] = a.x;
}
)";

// Returns what makers and drivers publish, 0 for other devices: OpenCL has no query for the
// registers of a work-item. The first entry counts that is a part of the device's vendor and name.
// Sources: CUDA's compute capabilities since 3.5; Mesa's ir3, which has full registers r0 to r47 of
// four floats; Arm's guide to OpenCL on Bifrost and Valhall (101574, section 9.6). Mali-T GPUs are
// older than those.
double thread_registers(const MeasuredGpu& processor) {
  constexpr struct {
    const char* name;
    double registers;
  } kKnown[] = {{"NVIDIA", 255}, {"Adreno", 192}, {"Mali-T", 0}, {"Mali", 64}};
  const std::string names = processor.info(CL_DEVICE_VENDOR) + ' ' + processor.info(CL_DEVICE_NAME);
  for (const auto& known : kKnown)
    if (names.find(known.name) != std::string::npos) return known.registers;
  return 0;
}

// Measures a real GPU, not OpenCL on a processor.
class GpuMeasures {
 public:
  GpuMeasures(MeasuredGpu& processor, MachineFacts* facts) : processor_(processor), facts_(facts) {
    for (size_t i = 0; i < std::size(kNames); ++i)
      kernels_[i] = processor.make_kernel(kMachineKernels, kNames[i]);
    out_ = processor.make_buffer(64, 0, nullptr);
    const auto most = static_cast<double>(processor.number(CL_DEVICE_MAX_MEM_ALLOC_SIZE)) / 4;
    most_bytes_ = std::bit_floor(static_cast<size_t>(std::min(most, 0x1p29)));
  }
  GpuMeasures(const GpuMeasures&) = delete;
  GpuMeasures& operator=(const GpuMeasures&) = delete;
  ~GpuMeasures() {
    for (cl_kernel kernel : kernels_) processor_.api().clReleaseKernel(kernel);
    processor_.api().clReleaseMemObject(out_);
  }

  void run() {
    const bool is_phone = processor_.device().has_host_memory;
    const double units = processor_.gpu_facts().units;
    const auto wave = static_cast<double>(processor_.preferred_group_items(kernels_[kFmas]));
    set(&GpuMachine::units, units, Origin::Measured);
    set(&GpuMachine::wave_width, wave, Origin::Measured);
    set(&GpuMachine::max_waves, (is_phone ? 1024 : 2048) / wave, Origin::Assumed);
    // Adreno's units have 128 or 192 (Mesa), and 128 are assumed for Mali's (profiles/).
    set(&GpuMachine::registers_kb, is_phone ? 128 : 256, Origin::Assumed);
    if (const double registers = thread_registers(processor_); registers > 0)
      set(&GpuMachine::thread_registers, registers, Origin::Published);
    set(&GpuMachine::local_kb,
        static_cast<double>(processor_.number(CL_DEVICE_LOCAL_MEM_SIZE)) / kKb, Origin::Measured);
    const double ghz = measure_clock();
    // There are many groups, so those of a unit run one after the other.
    set(&GpuMachine::fma_per_cycle, fmas_per_us() / (units * ghz * 1e3), Origin::Measured);
    if (processor_.info(CL_DEVICE_EXTENSIONS).find("cl_khr_fp16") != std::string::npos)
      set(&GpuMachine::half_rate, kAssumedHalfRate, Origin::Assumed);

    const CacheSizes sizes = measure_caches();
    set(&GpuMachine::texture_kb, 0, Origin::Assumed);
    set(&GpuMachine::last_level_kb, 0, Origin::Assumed);
    // A buffer of a few times the cache's size would still be in it for a good part.
    constexpr double kBeyond = 16;
    const size_t beyond = std::min(
        std::bit_ceil(std::max(size_t{64} << 20, static_cast<size_t>(kBeyond * sizes.l2_kb * kKb))),
        most_bytes_);
    set(&GpuMachine::l1_gb_per_s, read_gb_per_s(sizes.l1_kb * kKb / 2, true) / units,
        Origin::Measured);
    set(&GpuMachine::l2_gb_per_s, read_gb_per_s(sizes.l2_kb * kKb / 2, false), Origin::Measured);
    const double memory_gb_per_s = read_gb_per_s(static_cast<double>(beyond), false);
    set(&GpuMachine::last_level_gb_per_s, memory_gb_per_s, Origin::Assumed);
    set(&GpuMachine::memory_gb_per_s, memory_gb_per_s, Origin::Measured);
  }

 private:
  enum Kernel { kFmas, kChain, kChase, kRead };
  static constexpr const char* kNames[] = {"fmas", "chain", "chase", "read"};
  static constexpr int kRuns = 7;
  static constexpr size_t kGroupItems = 64;
  static constexpr size_t kGroupsOfUnit = 32;

  void set(double GpuMachine::*field, double value, Origin origin) {
    facts_->set(field, value, origin);
  }

  template <typename... Values>
  void set_arguments(cl_kernel kernel, const Values&... values) {
    cl_uint argument = 0;
    (processor_.check("clSetKernelArg",
                      processor_.api().clSetKernelArg(kernel, argument++, sizeof(values), &values)),
     ...);
  }

  size_t all_groups() const {
    return kGroupsOfUnit * static_cast<size_t>(processor_.gpu_facts().units);
  }

  // Returns the least disturbed of several runs, after one that does not count.
  double quiet_us(Kernel kernel, size_t groups, size_t items, int runs = kRuns) {
    processor_.kernel_us(kernels_[kernel], groups, items);
    std::vector<double> times_us;
    for (int run = 0; run < runs; ++run)
      times_us.push_back(processor_.kernel_us(kernels_[kernel], groups, items));
    return std::max(quantile(times_us, kQuietShare), 1e-3);
  }

  // Returns the rounds of a kernel in a microsecond; it runs long enough for its launch not to
  // matter.
  double rounds_per_us(Kernel kernel, size_t groups, size_t items) {
    constexpr double kLongUs = 1000;
    for (cl_int rounds = 1 << 10;; rounds *= 2) {
      set_arguments(kernels_[kernel], out_, rounds);
      if (processor_.kernel_us(kernels_[kernel], groups, items) < kLongUs && rounds < 1 << 24)
        continue;
      return rounds / quiet_us(kernel, groups, items);
    }
  }

  double measure_clock() {
    // Some phones' drivers report 0 or 1.
    constexpr uint64_t kMinMhz = 50;
    constexpr double kCyclesOfFma = 4;
    const uint64_t mhz = processor_.number(CL_DEVICE_MAX_CLOCK_FREQUENCY);
    if (mhz >= kMinMhz)
      set(&GpuMachine::ghz, static_cast<double>(mhz) * 1e-3, Origin::Measured);
    else
      set(&GpuMachine::ghz, kCyclesOfFma * rounds_per_us(kChain, 1, 1) * 1e-3, Origin::Assumed);
    return facts_->machine.gpu.ghz;
  }

  double fmas_per_us() {
    constexpr double kFmasOfRound = 16;
    return kFmasOfRound * static_cast<double>(all_groups() * kGroupItems) *
           rounds_per_us(kFmas, all_groups(), kGroupItems);
  }

  // Returns the nanoseconds of a load that waits for the one before, among so many bytes.
  double chase_ns(size_t bytes) {
    constexpr size_t kLineWords = 32;
    std::vector<cl_uint> next(bytes / sizeof(cl_uint));
    std::vector<cl_uint> order(next.size() / kLineWords);
    std::iota(order.begin(), order.end(), 0u);
    std::mt19937 random(20);
    std::shuffle(order.begin(), order.end(), random);
    for (size_t i = 0; i < order.size(); ++i)
      next[order[i] * kLineWords] =
          order[(i + 1) % order.size()] * static_cast<cl_uint>(kLineWords);
    const cl_mem buffer = processor_.make_buffer(bytes, CL_MEM_COPY_HOST_PTR, next.data());
    processor_.read_us(buffer, bytes);
    // Loads all lines, or a cache keeps those of a run whatever the size.
    constexpr size_t kMinLoads = 8192;
    const auto count = static_cast<cl_int>(std::max(order.size(), kMinLoads));
    set_arguments(kernels_[kChase], buffer, count, out_);
    const double us = quiet_us(kChase, 1, 1, count > 1 << 16 ? 1 : kRuns);
    processor_.api().clReleaseMemObject(buffer);
    return 1e3 * us / count;
  }

  CacheSizes measure_caches() {
    std::vector<std::pair<double, double>> curve;
    const size_t most = std::min(size_t{128} << 20, most_bytes_);
    for (size_t bytes = 4 << 10; bytes <= most; bytes *= 2)
      curve.emplace_back(static_cast<double>(bytes) / kKb, chase_ns(bytes));
    CacheSizes sizes = cache_steps(curve);
    // The last step is the cache that all units share; those between come from a unit's pages and
    // lines.
    if (sizes.last_level_kb > 0) sizes.l2_kb = sizes.last_level_kb;
    // A single step is the cache that all units share.
    const double told_kb =
        static_cast<double>(processor_.number(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE)) / kKb;
    if (sizes.l2_kb == 0) sizes = {0, sizes.l1_kb > 0 ? sizes.l1_kb : told_kb, 0};
    set(&GpuMachine::l1_kb, sizes.l1_kb, Origin::Measured);
    set(&GpuMachine::l2_kb, sizes.l2_kb, Origin::Measured);
    set(&GpuMachine::latency_ns, curve.back().second, Origin::Measured);
    return sizes;
  }

  // Returns 10^9 bytes a second of all units, which read the same bytes again and again, or share
  // all of them.
  double read_gb_per_s(double bytes, bool is_near) {
    constexpr size_t kMinBytes = 4096;
    constexpr cl_int kLoadsOfRound = 4;
    const size_t size =
        std::min(std::bit_floor(std::max(static_cast<size_t>(bytes), kMinBytes)), most_bytes_);
    const std::vector<float> ones(size / sizeof(float), 1.0f);
    const cl_mem buffer =
        processor_.make_buffer(size, CL_MEM_COPY_HOST_PTR, const_cast<float*>(ones.data()));
    const size_t items = all_groups() * kGroupItems;
    const cl_int near = is_near ? 1 : 0;
    // The step is a few items longer than all, so that a unit reads other bytes in each pass.
    const auto step = static_cast<cl_int>(is_near ? kGroupItems : items + 3 * kGroupItems);
    const auto mask = static_cast<cl_int>(size / sizeof(cl_float4) - 1);
    const size_t passes = 2;
    const auto rounds = static_cast<cl_int>(std::max<size_t>(
        passes * size / sizeof(cl_float4) / static_cast<size_t>(step * kLoadsOfRound), 256));
    set_arguments(kernels_[kRead], buffer, near, step, mask, rounds, out_);
    const double us = quiet_us(kRead, all_groups(), kGroupItems);
    processor_.api().clReleaseMemObject(buffer);
    return static_cast<double>(items * sizeof(cl_float4)) * kLoadsOfRound * rounds / (us * 1e3);
  }

  MeasuredGpu& processor_;
  MachineFacts* facts_;
  cl_kernel kernels_[std::size(kNames)] = {};
  cl_mem out_ = nullptr;
  size_t most_bytes_ = 0;  // limit of a buffer
};

// Serves OpenCL on a processor, whose units are cores like the CPU's.
void set_processor(MeasuredGpu& processor, MachineFacts* facts) {
  const CpuMachine& cpu = facts->machine.cpu;
  const double units = processor.gpu_facts().units;
  const auto lanes = static_cast<double>(processor.number(CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT));
  const auto set = [facts](double GpuMachine::*field, double value) {
    facts->set(field, value, Origin::Measured);
  };
  const auto assume = [facts](double GpuMachine::*field, double value) {
    facts->set(field, value, Origin::Assumed);
  };
  set(&GpuMachine::units, units);
  set(&GpuMachine::wave_width, 1);
  set(&GpuMachine::ghz, cpu.ghz);
  set(&GpuMachine::fma_per_cycle, cpu.fma_per_cycle * std::max(lanes, 1.0));
  assume(&GpuMachine::max_waves, 1);
  // AVX-512 has 32 registers of 16 floats; AVX2 16 of 8, and NEON 32 of 4.
  assume(&GpuMachine::registers_kb, lanes >= 16 ? 2 : 0.5);
  set(&GpuMachine::local_kb, 0);
  set(&GpuMachine::l1_kb, cpu.l1_kb);
  set(&GpuMachine::texture_kb, 0);
  set(&GpuMachine::l2_kb, cpu.l2_kb);
  set(&GpuMachine::last_level_kb, cpu.last_level_kb);
  set(&GpuMachine::l1_gb_per_s, cpu.loads_per_cycle * cpu.vector_lanes * sizeof(float) * cpu.ghz);
  assume(&GpuMachine::l2_gb_per_s, cpu.l2_gb_per_s * units);
  assume(&GpuMachine::last_level_gb_per_s, cpu.last_level_gb_per_s * units);
  // The bandwidth of several cores together was measured if the processor has several.
  const double all_gb_per_s = facts->machine.cpu_threads > 1
                                  ? std::max(cpu.memory_all_gb_per_s, cpu.memory_gb_per_s)
                                  : cpu.memory_gb_per_s;
  assume(&GpuMachine::memory_gb_per_s, std::min(cpu.memory_gb_per_s * units, all_gb_per_s));
  set(&GpuMachine::latency_ns, memory_latency_ns(std::max(cpu.last_level_kb, cpu.l2_kb)));
}

}  // namespace

void measure_gpu_machine(MeasuredGpu& processor, MachineFacts* facts) {
  if (processor.is_cpu_device())
    set_processor(processor, facts);
  else
    GpuMeasures(processor, facts).run();
}

}  // namespace codl::profiler
