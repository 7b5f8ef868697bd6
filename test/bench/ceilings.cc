#include "test/bench/ceilings.h"

#include "kernels/common/cpu/cpu_dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "test/bench/ceilings.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"

#ifndef CODL_TEST_BENCH_CEILINGS_BLOCK
#define CODL_TEST_BENCH_CEILINGS_BLOCK
namespace codl::test {
// 256 bytes are four vectors of the widest target.
constexpr int64_t kBlockFloats = 64;
}  // namespace codl::test
#endif

HWY_BEFORE_NAMESPACE();
namespace codl::test::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Runs twelve chains, which keep two units with a latency of four or five cycles busy. Returns the
// number of FLOPs.
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

// Reads `reads` blocks of kBlockFloats from `from`, beginning again after `from_blocks`, while it
// writes `writes` blocks: in turns, as evenly as they go.
void stream(const float* from, int64_t from_blocks, int64_t reads, float* to, int64_t writes) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto written = hn::Set(d, 1.0f);
  // Uses Or, so that loads are not removed, at one cycle each.
  auto any0 = hn::Zero(d), any1 = hn::Zero(d), any2 = hn::Zero(d), any3 = hn::Zero(d);
  const int64_t rounds = writes == 0 || reads < writes ? reads : writes;
  int64_t reads_due = 0;
  int64_t writes_due = 0;
  int64_t block = 0;
  for (int64_t round = 0; round < rounds; ++round) {
    for (reads_due += reads; reads_due >= rounds; reads_due -= rounds) {
      const float* p = from + block * kBlockFloats;
#pragma GCC unroll 4
      for (int64_t i = 0; i < kBlockFloats; i += 4 * lanes) {
        any0 = hn::Or(any0, hn::Load(d, p + i));
        any1 = hn::Or(any1, hn::Load(d, p + i + lanes));
        any2 = hn::Or(any2, hn::Load(d, p + i + 2 * lanes));
        any3 = hn::Or(any3, hn::Load(d, p + i + 3 * lanes));
      }
      if (++block == from_blocks) block = 0;
    }
    for (writes_due += writes; writes_due >= rounds; writes_due -= rounds, to += kBlockFloats)
#pragma GCC unroll 16
      for (int64_t i = 0; i < kBlockFloats; i += lanes) hn::Store(written, d, to + i);
  }
  const auto any = hn::Or(hn::Or(any0, any1), hn::Or(any2, any3));
  // It is no NaN, because inputs are finite.
  if (hn::GetLane(hn::MaxOfLanes(d, any)) < -__FLT_MAX__) *to = 0.0f;
}

}  // namespace
}  // namespace codl::test::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <chrono>

namespace codl::test {
namespace {

using FmaLoop = int64_t (*)(int64_t rounds, float* sink);
using StreamLoop = void (*)(const float* from, int64_t from_blocks, int64_t reads, float* to,
                            int64_t writes);

constexpr FmaLoop kFmaLoops[] = {HWY_CHOOSE_BASELINE(multiply_add), HWY_CHOOSE_AVX2(multiply_add),
                                 HWY_CHOOSE_AVX3(multiply_add), HWY_CHOOSE_BASELINE(multiply_add)};
constexpr StreamLoop kStreamLoops[] = {HWY_CHOOSE_BASELINE(stream), HWY_CHOOSE_AVX2(stream),
                                       HWY_CHOOSE_AVX3(stream), HWY_CHOOSE_BASELINE(stream)};

constexpr int64_t kFmaRounds = 20'000;     // a third of a millisecond
constexpr int64_t kMovedBytes = 16 << 20;  // moved by a try, at least

template <typename Work>
double seconds_of(Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

double peak_flops() {
  const FmaLoop loop = kFmaLoops[static_cast<size_t>(kernels::best_cpu_target())];
  float sink[3] = {0.999f, 0.001f, 0.0f};
  int64_t flops = 0;
  const double seconds = seconds_of([&] { flops = loop(kFmaRounds, sink); });
  return static_cast<double>(flops) / seconds;
}

double stream_bandwidth(const Traffic& traffic) {
  constexpr int64_t kBlockBytes = kBlockFloats * static_cast<int64_t>(sizeof(float));
  const int64_t reads = std::max(traffic.read_bytes / kBlockBytes, int64_t{1});
  const int64_t writes = traffic.written_bytes / kBlockBytes;
  const int64_t from_blocks = std::max(traffic.input_bytes / kBlockBytes, int64_t{1});
  const StreamLoop loop = kStreamLoops[static_cast<size_t>(kernels::best_cpu_target())];
  const int64_t bytes = (reads + writes) * kBlockBytes;
  const int64_t repeats = std::max(kMovedBytes / bytes, int64_t{1});
  const double seconds = seconds_of([&] {
    for (int64_t i = 0; i < repeats; ++i)
      loop(traffic.inputs, from_blocks, reads, traffic.output, writes);
  });
  return static_cast<double>(bytes * repeats) / seconds;
}

}  // namespace codl::test
#endif
