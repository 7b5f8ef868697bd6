// Speed of every CPU row of kernels.def on one core. Not run by ctest.
//
//   taskset -c 1 kernel_bench [--benchmark_filter=REGEX] [--benchmark_repetitions=N]
//
// Names: row/shape/instruction set. A step is
// run whole, its tasks in order. GFLOP/s counts the operator's multiply-adds, GB/s each operand
// once, both of CPU time. `roof` is the share of the roofline: the time that the FLOPs take at the
// core's peak, or the bytes at the speed of a copy as large, whichever is more, over the time taken
// (above 1: an algorithm that multiplies less, or an operand that is not read whole). `peak` and
// `copy` are those ceilings, measured just before. Google Benchmark prints rates with "/s", shares
// too.
//
// Source of the model: Williams, Waterman and Patterson, "Roofline: an insightful visual
// performance model for multicore architectures", Communications of the ACM 52(4), 2009.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "test/bench/bench_shapes.h"
#include "test/bench/ceilings.h"
#include "test/kernels/cpu_runner.h"

namespace codl::test {
namespace {

using kernels::CpuTarget;

void run(benchmark::State& state, const KernelRow& row, CpuTarget target, const BenchShape& shape) {
  const KernelCase& item = shape.item;
  kernels::StepNeeds needs;
  kernels::check_step(step_of(row, item), &needs);  // add_benchmarks() asked
  const CaseInputs inputs(item, 1);
  std::vector<GuardedMemory> memory;
  std::vector<kernels::TensorView> views;
  // Aligned as in an arena; tests give a row the least that it may count on.
  for (size_t i = 0; i + 1 < item.operands.size(); ++i) {
    const GuardedMemory source = inputs.memory(row, i, item.operands[i]);
    memory.emplace_back(source.bytes());
    std::memcpy(memory.back().data(), source.data(), source.bytes());
  }
  memory.emplace_back(static_cast<size_t>(item.operands.back().bytes));
  for (size_t i = 0; i < item.operands.size(); ++i)
    views.push_back(kernels::make_view(item.operands[i], memory[i].data()));
  GuardedMemory scratch(static_cast<size_t>(needs.scratch_bytes));
  kernels::KernelArgs args = args_of(item, views);
  args.scratch = scratch.data();
  args.task_end = needs.task_count;

  int64_t bytes = 0;
  for (const OperandShape& operand : item.operands) bytes += static_cast<int64_t>(operand.bytes);
  const double peak = peak_flops();
  const double copy = copy_bandwidth(bytes);
  const kernels::CpuKernel kernel = kernel_for_target(row, target);
  for (auto _ : state) {
    kernel(args);
    benchmark::ClobberMemory();
  }

  const double runs = static_cast<double>(state.iterations());
  const auto rate = [&](double of_one_run) {
    return benchmark::Counter(of_one_run * runs, benchmark::Counter::kIsRate);
  };
  const double roof_seconds = std::max(2 * shape.macs / peak, static_cast<double>(bytes) / copy);
  if (shape.macs != 0) state.counters["GFLOP/s"] = rate(2e-9 * shape.macs);
  state.counters["GB/s"] = rate(1e-9 * static_cast<double>(bytes));
  state.counters["roof"] = rate(roof_seconds);
  state.counters["peak"] = 1e-9 * peak;
  state.counters["copy"] = 1e-9 * copy;
  state.counters["tasks"] = needs.task_count;
}

// False if a row has no shape.
bool add_benchmarks() {
  bool is_complete = true;
  const std::vector<BenchShape> shapes = bench_shapes();
  for (const KernelRow& row : kKernelRows) {
    if (row.processor != Processor::Cpu) continue;
    bool has_shape = false;
    for (const BenchShape& shape : shapes) {
      if (shape.item.op != row.op) continue;
      BenchShape own = {shape.name, case_for(row, shape.item), shape.macs};
      kernels::StepNeeds needs;
      if (kernels::check_step(step_of(row, own.item), &needs) != nullptr) continue;
      has_shape = true;
      for (CpuTarget target : kernels::kCpuTargets) {
        if (kernel_for_target(row, target) == nullptr) continue;
        const std::string name =
            std::string(row.symbol) + "/" + shape.name + "/" + kernels::cpu_target_name(target);
        benchmark::RegisterBenchmark(name.c_str(), [=, &row](benchmark::State& state) {
          run(state, row, target, own);
        })->Unit(benchmark::kMicrosecond);
      }
    }
    if (!has_shape) std::fprintf(stderr, "%s: expected a shape to time\n", row.symbol);
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
