#include "test/bench/ceilings.h"

#include "kernels/common/cpu_dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "test/bench/ceilings.cc"
#include "kernels/common/foreach_target.h"
//
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace codl::test::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Twelve chains: two units of a latency of four or five cycles are busy. Returns the FLOPs done.
int64_t multiply_add(int64_t rounds, float* sink) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, sink[0]);
  const auto summand = hn::Set(d, sink[1]);
  auto c0 = hn::Set(d, 0.0f), c1 = hn::Set(d, 0.1f), c2 = hn::Set(d, 0.2f), c3 = hn::Set(d, 0.3f);
  auto c4 = hn::Set(d, 0.4f), c5 = hn::Set(d, 0.5f), c6 = hn::Set(d, 0.6f), c7 = hn::Set(d, 0.7f);
  auto c8 = hn::Set(d, 0.8f), c9 = hn::Set(d, 0.9f), ca = hn::Set(d, 1.0f), cb = hn::Set(d, 1.1f);
  for (int64_t i = 0; i < rounds; ++i) {
    c0 = hn::MulAdd(c0, factor, summand);
    c1 = hn::MulAdd(c1, factor, summand);
    c2 = hn::MulAdd(c2, factor, summand);
    c3 = hn::MulAdd(c3, factor, summand);
    c4 = hn::MulAdd(c4, factor, summand);
    c5 = hn::MulAdd(c5, factor, summand);
    c6 = hn::MulAdd(c6, factor, summand);
    c7 = hn::MulAdd(c7, factor, summand);
    c8 = hn::MulAdd(c8, factor, summand);
    c9 = hn::MulAdd(c9, factor, summand);
    ca = hn::MulAdd(ca, factor, summand);
    cb = hn::MulAdd(cb, factor, summand);
  }
  const auto low = hn::Add(hn::Add(hn::Add(c0, c1), hn::Add(c2, c3)), hn::Add(c4, c5));
  const auto high = hn::Add(hn::Add(hn::Add(c6, c7), hn::Add(c8, c9)), hn::Add(ca, cb));
  sink[2] += hn::GetLane(hn::SumOfLanes(d, hn::Add(low, high)));
  return rounds * 12 * 2 * static_cast<int64_t>(hn::Lanes(d));
}

// `count`: a multiple of four vectors of any target.
void copy(const float* from, float* to, int64_t count) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < count; i += 4 * lanes) {
    const auto v0 = hn::Load(d, from + i);
    const auto v1 = hn::Load(d, from + i + lanes);
    const auto v2 = hn::Load(d, from + i + 2 * lanes);
    const auto v3 = hn::Load(d, from + i + 3 * lanes);
    hn::Store(v0, d, to + i);
    hn::Store(v1, d, to + i + lanes);
    hn::Store(v2, d, to + i + 2 * lanes);
    hn::Store(v3, d, to + i + 3 * lanes);
  }
}

}  // namespace
}  // namespace codl::test::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>

namespace codl::test {
namespace {

using FmaLoop = int64_t (*)(int64_t rounds, float* sink);
using CopyLoop = void (*)(const float* from, float* to, int64_t count);

constexpr FmaLoop kFmaLoops[] = {HWY_CHOOSE_BASELINE(multiply_add), HWY_CHOOSE_AVX2(multiply_add),
                                 HWY_CHOOSE_AVX3(multiply_add)};
constexpr CopyLoop kCopyLoops[] = {HWY_CHOOSE_BASELINE(copy), HWY_CHOOSE_AVX2(copy),
                                   HWY_CHOOSE_AVX3(copy)};

// The best of several tries: what disturbs makes slower.
constexpr int kTries = 5;
constexpr int64_t kFmaRounds = 20'000;      // a third of a millisecond
constexpr int64_t kCopiedBytes = 16 << 20;  // by a try, at least

template <typename Work>
double least_seconds(Work work) {
  double least = 1e30;
  for (int i = 0; i < kTries; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    least = std::min(least, time.count());
  }
  return least;
}

}  // namespace

double peak_flops() {
  const FmaLoop loop = kFmaLoops[static_cast<size_t>(kernels::best_cpu_target())];
  float sink[3] = {0.999f, 0.001f, 0.0f};
  int64_t flops = 0;
  const double seconds = least_seconds([&] { flops = loop(kFmaRounds, sink); });
  return static_cast<double>(flops) / seconds;
}

double copy_bandwidth(int64_t bytes) {
  constexpr int64_t kStep = 1024;  // bytes: four vectors of any target, and whole pages mostly
  const int64_t half = std::max(bytes / 2 / kStep, int64_t{1}) * kStep;
  const int64_t count = half / static_cast<int64_t>(sizeof(float));
  constexpr std::align_val_t kAlignment{4096};
  const auto release = [](float* memory) { ::operator delete(memory, kAlignment); };
  const auto allocate = [&] {
    auto* memory = static_cast<float*>(::operator new(static_cast<size_t>(half), kAlignment));
    std::memset(memory, 0, static_cast<size_t>(half));
    return std::unique_ptr<float, decltype(release)>(memory, release);
  };
  const auto from = allocate();
  const auto to = allocate();
  const CopyLoop loop = kCopyLoops[static_cast<size_t>(kernels::best_cpu_target())];
  const int64_t repeats = std::max(kCopiedBytes / (2 * half), int64_t{1});
  const double by_loop = least_seconds([&] {
    for (int64_t i = 0; i < repeats; ++i) loop(from.get(), to.get(), count);
  });
  const double by_memcpy = least_seconds([&] {
    for (int64_t i = 0; i < repeats; ++i) {
      std::memcpy(to.get(), from.get(), static_cast<size_t>(half));
      asm volatile("" ::: "memory");
    }
  });
  return 2.0 * static_cast<double>(half * repeats) / std::min(by_loop, by_memcpy);
}

}  // namespace codl::test
#endif
