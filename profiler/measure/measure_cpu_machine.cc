#include <sched.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <utility>

#include "kernels/common/cpu/cpu_dispatch.h"
#include "profiler/fit/fit.h"
#include "profiler/fit/sample.h"
#include "profiler/measure/measure_machine.h"

namespace codl::profiler {
namespace {

constexpr size_t kAlignment = 64;  // size of the longest vector

// ---- loops --------------------------------------------------------------------------------------

#define CODL_INLINE [[gnu::always_inline]] inline

using Vector4 [[gnu::vector_size(16), gnu::may_alias]] = float;
using Vector8 [[gnu::vector_size(32), gnu::may_alias]] = float;
using Vector16 [[gnu::vector_size(64), gnu::may_alias]] = float;

// Computes sum += factor * factor, as assembly, because codl compiles without contraction.
#if defined(__x86_64__)
#define CODL_VECTOR_REGISTER "x"
#define CODL_MULTIPLY_ADD "mulps %1, %0\n\taddps %1, %0"  // SSE has no multiply-add
#define CODL_MULTIPLY_ADD_AVX "vfmadd231ps %1, %1, %0"
#elif defined(__aarch64__)
#define CODL_VECTOR_REGISTER "w"
#define CODL_MULTIPLY_ADD "fmla %0.4s, %1.4s, %1.4s"
#endif

// A core has fewer sums in flight: 4 cycles of 2 vectors each.
constexpr size_t kSums = 12;
constexpr int kSumRounds = 20000;
constexpr size_t kLoadsInRow = 8;

// Holds the loops for each target, as kernels have them.
struct Loops {
  void (*multiply_adds)();
  void (*read)(const uint8_t* data, size_t bytes);  // data is aligned to kAlignment
};

// These are no templates, because Clang checks operands of assembly against the target of the
// surrounding function.
#define CODL_ADD(text, sum) \
  asm volatile(text : "+" CODL_VECTOR_REGISTER(sum) : CODL_VECTOR_REGISTER(factor));
#define CODL_LOAD(n) asm volatile("" : : CODL_VECTOR_REGISTER(vectors[at + (n)]));
#define CODL_LOOPS(name, attributes, Vector, text)                                               \
  attributes void multiply_adds_##name() {                                                       \
    const Vector factor = Vector{} + 0.5f;                                                       \
    Vector s0{}, s1{}, s2{}, s3{}, s4{}, s5{}, s6{}, s7{}, s8{}, s9{}, s10{}, s11{};             \
    for (int round = 0; round < kSumRounds; ++round) {                                           \
      CODL_ADD(text, s0);                                                                        \
      CODL_ADD(text, s1);                                                                        \
      CODL_ADD(text, s2);                                                                        \
      CODL_ADD(text, s3);                                                                        \
      CODL_ADD(text, s4);                                                                        \
      CODL_ADD(text, s5);                                                                        \
      CODL_ADD(text, s6);                                                                        \
      CODL_ADD(text, s7);                                                                        \
      CODL_ADD(text, s8);                                                                        \
      CODL_ADD(text, s9);                                                                        \
      CODL_ADD(text, s10);                                                                       \
      CODL_ADD(text, s11);                                                                       \
    }                                                                                            \
  }                                                                                              \
  attributes void read_##name(const uint8_t* data, size_t bytes) {                               \
    const auto* vectors = reinterpret_cast<const Vector*>(data);                                 \
    for (size_t at = 0; at + kLoadsInRow <= bytes / sizeof(Vector); at += kLoadsInRow) {         \
      CODL_LOAD(0)                                                                               \
      CODL_LOAD(1) CODL_LOAD(2) CODL_LOAD(3) CODL_LOAD(4) CODL_LOAD(5) CODL_LOAD(6) CODL_LOAD(7) \
    }                                                                                            \
  }
CODL_LOOPS(baseline, , Vector4, CODL_MULTIPLY_ADD)
#if defined(__x86_64__)
CODL_LOOPS(avx2, [[gnu::target("avx2,fma")]], Vector8, CODL_MULTIPLY_ADD_AVX)
CODL_LOOPS(avx3, [[gnu::target("avx512f")]], Vector16, CODL_MULTIPLY_ADD_AVX)
#endif

Loops loops_of([[maybe_unused]] kernels::CpuTarget target) {
#if defined(__x86_64__)
  if (kernels::cpu_vector_lanes(target) == 16) return {multiply_adds_avx3, read_avx3};
  if (target == kernels::CpuTarget::Avx2) return {multiply_adds_avx2, read_avx2};
#endif
  return {multiply_adds_baseline, read_baseline};
}

constexpr int kAdds = 64;  // number of additions in a row
constexpr int kAddRounds = 2000;

// Each addition waits a cycle for the one before.
template <int... i>
CODL_INLINE void add_in_a_chain(std::integer_sequence<int, i...>) {
  uint64_t sum = 0;
  uint64_t step = 1;
  asm volatile("" : "+r"(step));
  const auto add = [&](int) __attribute__((always_inline)) {
    sum += step;
    asm volatile("" : "+r"(sum));
  };
  for (int round = 0; round < kAddRounds; ++round) (add(i), ...);
}

// ---- times --------------------------------------------------------------------------------------

// Returns the least disturbed of several runs, after one that does not count.
template <typename Work>
double quiet_us(int runs, Work work) {
  std::vector<double> times_us;
  work();
  for (int run = 0; run < runs; ++run) {
    const int64_t start_ns = rt::now_ns();
    work();
    times_us.push_back(micros_since(start_ns));
  }
  return std::max(quantile(times_us, kQuietShare), 1e-3);
}

class AlignedMemory {
 public:
  explicit AlignedMemory(size_t bytes) : memory_(bytes + kAlignment, 1) {}
  const uint8_t* data() const {
    return memory_.data() + (kAlignment - reinterpret_cast<uintptr_t>(memory_.data()) % kAlignment);
  }

 private:
  std::vector<uint8_t> memory_;
};

// Returns 10^9 bytes a second if one core reads so many bytes again and again.
double read_gb_per_s(const Loops& loops, const uint8_t* data, size_t bytes) {
  constexpr size_t kMinBytes = size_t{4} << 20;
  const size_t passes = std::max<size_t>(kMinBytes / bytes, 1);
  const double us = quiet_us(9, [&] {
    for (size_t pass = 0; pass < passes; ++pass) loops.read(data, bytes);
  });
  return static_cast<double>(bytes * passes) / (us * 1e3);
}

// Times the sizes if Linux does not tell them.
CacheSizes timed_cache_sizes(const Loops& loops) {
  constexpr size_t kMaxBytes = size_t{64} << 20;
  const AlignedMemory memory(kMaxBytes);
  std::vector<std::pair<double, double>> curve;
  for (size_t bytes = 8 << 10; bytes <= kMaxBytes; bytes *= 2)
    curve.emplace_back(static_cast<double>(bytes) / kKb,
                       1 / read_gb_per_s(loops, memory.data(), bytes));
  return cache_steps(curve);
}

// Returns a number of bytes that no cache keeps.
size_t memory_bytes_beyond(double cache_kb) {
  constexpr double kMin = 64 << 20;
  constexpr double kMax = 512 << 20;
  return static_cast<size_t>(std::clamp(2 * cache_kb * kKb, kMin, kMax));
}

}  // namespace

CacheSizes read_cache_sizes(const std::string& folder) {
  CacheSizes sizes;
  for (int index = 0; index < 8; ++index) {
    const std::string path = folder + "/index" + std::to_string(index) + "/";
    int level = 0;
    std::string type;
    double size = 0;
    char unit = 'K';
    if (!(std::ifstream(path + "level") >> level) || !(std::ifstream(path + "type") >> type) ||
        !(std::ifstream(path + "size") >> size >> unit) || type == "Instruction")
      continue;
    if (unit == 'M') size *= kKb;
    (level == 1 ? sizes.l1_kb : level == 2 ? sizes.l2_kb : sizes.last_level_kb) = size;
  }
  return sizes;
}

CacheSizes cache_steps(const std::vector<std::pair<double, double>>& curve) {
  constexpr double kStep = 1.3;
  constexpr double kBeyond = 4;  // so many times a level's size do not fit in it
  double levels_kb[3] = {};
  size_t first = 0;
  for (double& level_kb : levels_kb) {
    size_t last = first;
    while (last + 1 < curve.size() && curve[last + 1].second <= kStep * curve[first].second) ++last;
    if (last + 1 >= curve.size()) break;  // no step: the last level is memory
    level_kb = curve[last].first;
    for (first = last; first + 1 < curve.size() && curve[first].first < kBeyond * level_kb;)
      ++first;
  }
  return {levels_kb[0], levels_kb[1], levels_kb[2]};
}

double memory_latency_ns(double last_cache_kb) {
  constexpr size_t kLineWords = 16;
  constexpr int kSteps = 200'000;
  std::vector<uint32_t> next(memory_bytes_beyond(last_cache_kb) / sizeof(uint32_t));
  std::vector<uint32_t> order(next.size() / kLineWords);
  std::iota(order.begin(), order.end(), 0u);
  std::mt19937 random(20);
  std::shuffle(order.begin(), order.end(), random);
  for (size_t i = 0; i < order.size(); ++i)
    next[order[i] * kLineWords] = order[(i + 1) % order.size()] * static_cast<uint32_t>(kLineWords);
  uint32_t at = 0;
  return 1e3 / kSteps * quiet_us(5, [&] {
           for (int step = 0; step < kSteps; ++step) at = next[at];
           asm volatile("" : : "r"(at));
         });
}

void measure_cpu_machine(MeasuredCpu& processor, MachineFacts* facts) {
  constexpr int kTries = 15;
  const kernels::CpuTarget target = kernels::best_cpu_target();
  const Loops loops = loops_of(target);
  const auto set = [facts](double CpuMachine::*field, double value) {
    facts->set(field, value, Origin::Measured);
  };
  const double lanes = kernels::cpu_vector_lanes(target);
  const double cycles_per_us = kAdds * kAddRounds / quiet_us(kTries, [] {
                                 add_in_a_chain(std::make_integer_sequence<int, kAdds>());
                               });
  set(&CpuMachine::ghz, cycles_per_us * 1e-3);
  set(&CpuMachine::vector_lanes, lanes);
  set(&CpuMachine::fma_per_cycle,
      kSums * kSumRounds / (quiet_us(kTries, loops.multiply_adds) * cycles_per_us));
  if (target >= kernels::CpuTarget::NeonHalf)
    facts->set(&CpuMachine::half_rate, kAssumedHalfRate, Origin::Assumed);
  if (target == kernels::CpuTarget::NeonDot || target == kernels::CpuTarget::Avx3Vnni)
    facts->set(&CpuMachine::byte_rate, kAssumedByteRate, Origin::Assumed);

  CacheSizes sizes = read_cache_sizes("/sys/devices/system/cpu/cpu" +
                                      std::to_string(std::max(sched_getcpu(), 0)) + "/cache");
  if (sizes.l1_kb == 0 || sizes.l2_kb == 0) sizes = timed_cache_sizes(loops);
  const double last_kb = std::max(sizes.last_level_kb, sizes.l2_kb);
  set(&CpuMachine::l1_kb, sizes.l1_kb);
  set(&CpuMachine::l2_kb, sizes.l2_kb);
  set(&CpuMachine::last_level_kb, sizes.last_level_kb);

  const size_t bytes = memory_bytes_beyond(last_kb);
  const AlignedMemory memory(bytes);
  const auto gb_per_s_of = [&](double kb) {
    return read_gb_per_s(loops, memory.data(), static_cast<size_t>(std::max(kb, 4.0) * kKb));
  };
  constexpr double kMaxLastKb = 16 << 10;
  const double memory_gb_per_s = gb_per_s_of(static_cast<double>(bytes) / kKb);
  // This counts one load each cycle.
  const double vector_gb = lanes * sizeof(float) * cycles_per_us * 1e-3;
  set(&CpuMachine::loads_per_cycle, gb_per_s_of(sizes.l1_kb / 2) / vector_gb);
  set(&CpuMachine::l2_gb_per_s, gb_per_s_of(sizes.l2_kb / 2));
  set(&CpuMachine::last_level_gb_per_s,
      sizes.last_level_kb == 0 ? memory_gb_per_s
                               : gb_per_s_of(std::min(sizes.last_level_kb / 2, kMaxLastKb)));
  set(&CpuMachine::memory_gb_per_s, memory_gb_per_s);

  const auto workers = static_cast<size_t>(processor.thread_count());
  const size_t share = bytes / workers / kAlignment * kAlignment;
  const auto read_share = [&](int32_t worker) {
    loops.read(memory.data() + static_cast<size_t>(worker) * share, share);
  };
  set(&CpuMachine::memory_all_gb_per_s,
      static_cast<double>(share * workers) /
          (1e3 * quiet_us(9, [&] { processor.all_us(read_share); })));
  constexpr int kForks = 100;
  std::atomic<size_t> begun_count = 0;
  const double forks_us = quiet_us(kTries, [&] {
    for (int i = 0; i < kForks; ++i) {
      const size_t all_begun = begun_count + workers;
      // Each worker waits for all others, so that none takes over the work of one that is late.
      processor.all_us([&](int32_t) {
        ++begun_count;
        while (begun_count < all_begun) rt::pause_core();
      });
    }
  });
  set(&CpuMachine::fork_join_us, workers > 1 ? forks_us / kForks : 0);
}

}  // namespace codl::profiler
