// Speed of the heavy CPU kernels on one core, in GFLOP/s and GB/s of CPU time. Not run by ctest.
//
//   taskset -c 1 kernel_bench [--benchmark_filter=REGEX] [--benchmark_repetitions=N]
//
// Names: shape/target. A step is run whole, its tasks in order.
#include <benchmark/benchmark.h>

#include "test/kernels/conv_case.h"
#include "test/kernels/cpu_runner.h"

namespace codl::test {
namespace {

using kernels::CpuTarget;

KernelCase matmul_case(int32_t m, int32_t k, int32_t n) {
  KernelCase item;
  item.op = OpKind::MatMul;
  item.params = words_of(MatMulParams{});
  item.operands = {plain_operand({m, k}), packed_operand({k, n}), packed_operand({n}),
                   plain_operand({m, n})};
  return item;
}

struct Shape {
  const char* name;
  KernelCase item;
};

std::vector<Shape> shapes() {
  const ConvWindow k3x3Pad1Stride2 = {3, 3, 2, 2, 1, 1, 1, 1, 1, 1};
  const auto conv = [](int32_t in_c, int32_t out_c, int32_t side, const ConvWindow& window) {
    return make_conv_case(OpKind::Conv2d, {.name = "",
                                           .in_c = in_c,
                                           .out_c = out_c,
                                           .in_h = side,
                                           .in_w = side,
                                           .window = window,
                                           .activation = kUnaryRelu});
  };
  const auto depthwise = [](int32_t channels, int32_t side, const ConvWindow& window) {
    return make_conv_case(OpKind::DepthwiseConv2d, {.name = "",
                                                    .out_c = channels,
                                                    .in_h = side,
                                                    .in_w = side,
                                                    .window = window,
                                                    .activation = kUnaryRelu});
  };
  return {
      {"conv 3x3 64-64 56x56", conv(64, 64, 56, k3x3)},
      {"conv 3x3 128-128 28x28", conv(128, 128, 28, k3x3)},
      {"conv 3x3 256-256 14x14", conv(256, 256, 14, k3x3)},
      {"conv 3x3 512-512 7x7", conv(512, 512, 7, k3x3)},
      {"conv 3x3/2 128-256 28x28", conv(128, 256, 28, k3x3Pad1Stride2)},
      {"conv 7x7/2 3-64 224x224", conv(3, 64, 224, k7x7Stride2)},
      {"conv 3x3 3-64 224x224", conv(3, 64, 224, k3x3)},
      {"conv 1x1 256-64 56x56", conv(256, 64, 56, k1x1)},
      {"conv 1x1 64-256 56x56", conv(64, 256, 56, k1x1)},
      {"conv 1x1 512-512 7x7", conv(512, 512, 7, k1x1)},
      {"conv 1x1 1024-256 14x14", conv(1024, 256, 14, k1x1)},
      {"conv 1x1 16-96 112x112", conv(16, 96, 112, k1x1)},
      {"conv 3x3 1024-1024 13x13", conv(1024, 1024, 13, k3x3)},
      {"depthwise 3x3 144 56x56", depthwise(144, 56, k3x3)},
      {"depthwise 3x3/2 144 56x56", depthwise(144, 56, k3x3Pad1Stride2)},
      {"depthwise 3x3 960 7x7", depthwise(960, 7, k3x3)},
      {"matmul 1x2048x1000", matmul_case(1, 2048, 1000)},
      {"matmul 128x1024x1024", matmul_case(128, 1024, 1024)},
  };
}

void run(benchmark::State& state, const KernelRow& row, kernels::CpuKernel kernel,
         const KernelCase& item) {
  kernels::StepNeeds needs;
  if (const char* expected = kernels::check_step(step_of(row, item), &needs)) {
    state.SkipWithError(expected);
    return;
  }
  const CaseInputs inputs(item, 1);
  std::vector<GuardedMemory> memory;
  std::vector<kernels::TensorView> views;
  for (size_t i = 0; i + 1 < item.operands.size(); ++i)
    memory.push_back(inputs.memory(row, i, item.operands[i]));
  memory.emplace_back(static_cast<size_t>(item.operands.back().bytes));
  for (size_t i = 0; i < item.operands.size(); ++i)
    views.push_back(kernels::make_view(item.operands[i], memory[i].data()));
  GuardedMemory scratch(static_cast<size_t>(needs.scratch_bytes));
  kernels::KernelArgs args = args_of(item, views);
  args.scratch = scratch.data();
  args.task_end = needs.task_count;
  for (auto _ : state) {
    kernel(args);
    benchmark::ClobberMemory();
  }

  // Multiply-adds of the operator, without the padding of channels that the features count.
  const OperandShape& w = item.operands[1];
  const OperandShape& y = item.operands.back();
  double macs = static_cast<double>(kernels::element_count(y));
  for (int32_t i = item.op == OpKind::MatMul ? 0 : 1; i < w.rank; ++i)
    if (item.op != OpKind::MatMul || i == 0) macs *= w.dims[i];
  double bytes = 0;
  for (const OperandShape& operand : item.operands) bytes += static_cast<double>(operand.bytes);
  const double runs = static_cast<double>(state.iterations());
  state.counters["GFLOP/s"] = benchmark::Counter(2e-9 * macs * runs, benchmark::Counter::kIsRate);
  state.counters["GB/s"] = benchmark::Counter(1e-9 * bytes * runs, benchmark::Counter::kIsRate);
  state.counters["tasks"] = needs.task_count;
}

void add_benchmarks() {
  for (const Shape& shape : shapes())
    for (const KernelRow& row : kKernelRows) {
      if (row.op != shape.item.op || row.processor != Processor::Cpu) continue;
      for (CpuTarget target : {CpuTarget::Avx3, CpuTarget::Avx2, CpuTarget::Baseline}) {
        const kernels::CpuKernel kernel = kernel_for_target(row, target);
        if (kernel == nullptr) continue;
        const std::string name = std::string(shape.name) + "/" + kernels::cpu_target_name(target);
        benchmark::RegisterBenchmark(name.c_str(), [=, item = case_for(row, shape.item),
                                                    &row](benchmark::State& state) {
          run(state, row, kernel, item);
        })->Unit(benchmark::kMicrosecond);
      }
    }
}

}  // namespace
}  // namespace codl::test

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  codl::test::add_benchmarks();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
