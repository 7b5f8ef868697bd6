// Measures every CPU kernel of kernels.def on one core. ctest does not run it.
//
//   taskset -c 1 kernel_bench [--benchmark_filter=REGEX] [--benchmark_repetitions=N]
//
// Names: kernel/shape/instruction set. A step is run whole, its tasks in order. GFLOP/s counts the
// multiply-adds of sums of products, GB/s the bytes that the step must move according to
// bench_shapes.h, at the cache level of its operands. `roof` is the share of the roofline: the time
// that the step's arithmetic takes at the rate of multiply-adds, or that a loop takes which only
// moves the bytes, whichever is more, over the measured time. Above 1, an algorithm multiplies
// less, or the processor adds at the same time. `peak` and `stream` are those ceilings;
// `arithmetic` and `memory` the two times, and `best` the measured time, in microseconds.
// `over_floats` of a kernel of bytes is the time of the best kernel of floats, which takes turns
// with it, over its own.
//
// Source of the model: Williams, Waterman and Patterson, "Roofline: an insightful visual
// performance model for multicore architectures", Communications of the ACM 52(4), 2009.
#include <benchmark/benchmark.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "test/bench/bench_shapes.h"
#include "test/bench/ceilings.h"
#include "test/kernels/cpu_runner.h"

namespace codl::test {
namespace {

using kernels::CpuTarget;

// Holds the operands as in a plan's arena: one after the other at multiples of 64 bytes, in huge
// pages if there are that many. (Tests give a kernel only the guaranteed alignment.)
class OperandMemory {
 public:
  explicit OperandMemory(const std::vector<OperandShape>& operands) {
    size_t end = 0;
    for (const OperandShape& operand : operands) {
      offsets_.push_back(end);
      end += (static_cast<size_t>(operand.bytes) + 63) / 64 * 64;
    }
    constexpr size_t kHugePageBytes = size_t{2} << 20;
    // There is more at the end, because a stream moves whole blocks.
    const size_t bytes = round_up(end + 256, kHugePageBytes);
    all_ = static_cast<uint8_t*>(std::aligned_alloc(kHugePageBytes, bytes));
    if (end >= kHugePageBytes) madvise(all_, bytes, MADV_HUGEPAGE);
    std::memset(all_, 0, bytes);
  }
  OperandMemory(const OperandMemory&) = delete;
  OperandMemory& operator=(const OperandMemory&) = delete;
  ~OperandMemory() { std::free(all_); }

  float* at(size_t operand) const { return reinterpret_cast<float*>(all_ + offsets_[operand]); }
  int64_t input_bytes() const { return static_cast<int64_t>(offsets_.back()); }

 private:
  uint8_t* all_;
  std::vector<size_t> offsets_;
};

// Returns the largest cache that is too small for `bytes`: when data is read twice, the second time
// is free if it is still there.
int64_t cache_below(int64_t bytes) {
  int64_t below = 0;
  for (int name : {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE})
    if (const int64_t size = sysconf(name); size < bytes) below = std::max(below, size);
  return below;
}

// Returns the case with maps and weights of 8 bits.
KernelCase in_bytes(const KernelInfo& info, KernelCase item) {
  for (const size_t i : {size_t{0}, size_t{1}, item.operands.size() - 1}) {
    OperandShape& shape = item.operands[i];
    shape.dtype = DType::I8;
    if (i == 1) {
      shape.bytes =
          kernels::packed_bytes({info.packing, DType::I8}, shape.dims, shape.rank, groups_of(item));
      continue;
    }
    shape.scale = 0x1p-6f;
    shape.zero_point = 3;
    shape.bytes = kernels::stored_bytes(shape);
  }
  return item;
}

// Fills in an input of such a case.
void fill_bytes(const KernelInfo& info, const KernelCase& item, size_t i, float* to) {
  const OperandShape& shape = item.operands[i];
  std::mt19937 random(1);
  const auto byte = [&] { return static_cast<int32_t>(random() % 255) - 127; };
  if (shape.layout != Layout::Packed) {
    for (size_t k = 0; k < shape.bytes; ++k)
      reinterpret_cast<int8_t*>(to)[k] = static_cast<int8_t>(byte());
    return;
  }
  std::vector<float> numbers(static_cast<size_t>(kernels::element_count(shape)));
  for (float& number : numbers) number = 0x1p-7f * static_cast<float>(byte());
  kernels::pack({info.packing_of(static_cast<uint32_t>(i)), shape.dtype}, shape.dims, shape.rank,
                groups_of(item), numbers.data(), to);
}

Traffic traffic_of(const BenchShape& shape, const OperandMemory& memory) {
  const int64_t inputs = memory.input_bytes();
  const int64_t written = static_cast<int64_t>(shape.item.operands.back().bytes);
  int64_t read = shape.read_bytes == 0 ? inputs : shape.read_bytes;
  if (shape.block_bytes > cache_below(inputs + written)) read *= 2;
  return {memory.at(0), inputs, read, memory.at(shape.item.operands.size() - 1), written};
}

// Returns the shape as the kernel takes it.
BenchShape shape_for(const KernelInfo& info, const BenchShape& shape) {
  BenchShape own = shape;
  own.item = case_for(info, shape.item);
  if (info.has(Signature::Q8)) own.item = in_bytes(info, std::move(own.item));
  return own;
}

// Holds a step, ready to run. The contract takes it.
class Step {
 public:
  Step(const KernelInfo& info, CpuTarget target, const BenchShape& shape)
      : kernel_(kernel_for_target(info, target)),
        item_(shape.item),
        needs_(needs_of(info, item_)),
        memory_(item_.operands),
        scratch_(static_cast<size_t>(needs_.scratch_bytes)),
        shared_(static_cast<size_t>(needs_.shared_bytes)),
        traffic_(traffic_of(shape, memory_)) {
    const CaseInputs inputs(item_, 1);
    for (size_t i = 0; i < item_.operands.size(); ++i) {
      views_.push_back(kernels::make_view(item_.operands[i], memory_.at(i)));
      if (i + 1 == item_.operands.size()) break;
      if (info.has(Signature::Q8)) {
        fill_bytes(info, item_, i, memory_.at(i));
        continue;
      }
      const GuardedMemory source = inputs.memory(info, i, item_.operands[i]);
      std::memcpy(memory_.at(i), source.data(), source.bytes());
    }
    args_ = args_of(item_, views_);
    args_.scratch = scratch_.data();
    args_.task_end = needs_.task_count;
    args_.shared = shared_.data();
  }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  const kernels::StepNeeds& needs() const { return needs_; }
  const Traffic& traffic() const { return traffic_; }
  double seconds() const { return seconds_; }

  void run() {
    for (args_.phase = 0; args_.phase < needs_.phase_count; ++args_.phase) kernel_(args_);
  }

  // Takes a time; seconds() is the best.
  void time() {
    constexpr double kTrySeconds = 1e-3;
    run();  // the operands are in the cache that they fit, as in a try after the first
    const auto start = std::chrono::steady_clock::now();
    for (int64_t repeat = 0; repeat < runs_; ++repeat) run();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    seconds_ = std::min(seconds_, time.count() / static_cast<double>(runs_));
    runs_ = std::max(static_cast<int64_t>(kTrySeconds / seconds_), int64_t{1});
  }

 private:
  static kernels::StepNeeds needs_of(const KernelInfo& info, const KernelCase& item) {
    kernels::StepNeeds needs;
    kernels::check_step(step_of(info, item), &needs);
    return needs;
  }

  kernels::CpuKernel kernel_;
  KernelCase item_;
  kernels::StepNeeds needs_;
  OperandMemory memory_;
  GuardedMemory scratch_;
  GuardedMemory shared_;
  Traffic traffic_;
  std::vector<kernels::TensorView> views_;
  kernels::KernelArgs args_;
  double seconds_ = 1e30;
  int64_t runs_ = 1;
};

// Returns the steps of the operator's kernels of floats, by the best code up to `target`.
std::vector<std::unique_ptr<Step>> steps_of_floats(OpKind op, CpuTarget target,
                                                   const BenchShape& shape) {
  std::vector<std::unique_ptr<Step>> steps;
  for (const KernelInfo& info : kKernelInfos) {
    if (info.processor != Processor::Cpu || info.op != op || !takes_floats(info)) continue;
    const BenchShape own = shape_for(info, shape);
    kernels::StepNeeds needs;
    if (kernels::check_step(step_of(info, own.item), &needs) != nullptr) continue;
    CpuTarget best = target;
    while (kernel_for_target(info, best) == nullptr)
      best = static_cast<CpuTarget>(static_cast<int>(best) - 1);
    steps.push_back(std::make_unique<Step>(info, best, own));
  }
  return steps;
}

void run(benchmark::State& state, const KernelInfo& info, CpuTarget target,
         const BenchShape& shape) {
  const BenchShape own = shape_for(info, shape);
  Step step(info, target, own);
  for (auto _ : state) {
    step.run();
    benchmark::ClobberMemory();
  }

  // Takes the best of tries that take turns: interference slows the step and its ceilings alike.
  constexpr int kTries = 10;
  std::vector<std::unique_ptr<Step>> of_floats;
  if (!takes_floats(info)) of_floats = steps_of_floats(info.op, target, shape);
  double peak = 0;
  double stream = 0;
  for (int i = 0; i < kTries; ++i) {
    peak = std::max(peak, peak_flops());
    stream = std::max(stream, stream_bandwidth(step.traffic()));
    step.time();
    for (const auto& other : of_floats) other->time();
  }

  const double seconds = step.seconds();
  const Traffic& traffic = step.traffic();
  const double bytes = static_cast<double>(traffic.read_bytes + traffic.written_bytes);
  const double arithmetic_seconds = 2 * (own.macs + own.other_ops) / peak;
  const double memory_seconds = bytes / stream;
  if (own.macs != 0) state.counters["GFLOP/s"] = 2e-9 * own.macs / seconds;
  state.counters["GB/s"] = 1e-9 * bytes / seconds;
  state.counters["roof"] = std::max(arithmetic_seconds, memory_seconds) / seconds;
  state.counters["best"] = 1e6 * seconds;
  state.counters["arithmetic"] = 1e6 * arithmetic_seconds;
  state.counters["memory"] = 1e6 * memory_seconds;
  state.counters["peak"] = 1e-9 * peak;
  state.counters["stream"] = 1e-9 * stream;
  state.counters["tasks"] = step.needs().task_count;
  if (of_floats.empty()) return;
  double floats = 1e30;
  for (const auto& other : of_floats) floats = std::min(floats, other->seconds());
  state.counters["over_floats"] = floats / seconds;
}

// Returns false if a kernel has no shape.
bool add_benchmarks() {
  bool is_complete = true;
  const std::vector<BenchShape> shapes = bench_shapes();
  for (const KernelInfo& info : kKernelInfos) {
    if (info.processor != Processor::Cpu) continue;
    bool has_shape = false;
    for (const BenchShape& shape : shapes) {
      if (shape.item.op != info.op) continue;
      kernels::StepNeeds needs;
      if (kernels::check_step(step_of(info, shape_for(info, shape).item), &needs) != nullptr)
        continue;
      has_shape = true;
      for (CpuTarget target : kernels::kCpuTargets) {
        if (kernel_for_target(info, target) == nullptr) continue;
        const std::string name =
            std::string(info.symbol) + "/" + shape.name + "/" + kernels::cpu_target_name(target);
        benchmark::RegisterBenchmark(name.c_str(), [=, &info](benchmark::State& state) {
          run(state, info, target, shape);
        })->Unit(benchmark::kMicrosecond);
      }
    }
    if (!has_shape) std::fprintf(stderr, "%s: expected a shape to time\n", info.symbol);
    is_complete = is_complete && has_shape;
  }
  return is_complete;
}

}  // namespace
}  // namespace codl::test

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  if (!codl::test::add_benchmarks()) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
