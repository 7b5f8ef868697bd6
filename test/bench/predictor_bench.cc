// Time of one prediction, of each kernel's shapes in turn: the planner makes one for each
// alternative of each node. Not run by ctest.
//
//   predictor_bench [PROFILE] [--benchmark_...]
//
// PROFILE: a name or a file; by default h200-nvidia.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <string>
#include <vector>

#include "compiler/device/latency_predictor.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include "test/bench/bench_shapes.h"
#include "test/kernels/cpu_runner.h"

namespace codl::test {
namespace {

struct Alternative {
  const KernelInfo* kernel;
  KernelCase item;
};

std::vector<Alternative> alternatives(const compiler::LatencyPredictor& predictor) {
  std::vector<Alternative> found;
  for (const KernelInfo& kernel : kKernelInfos) {
    if (!predictor.can_predict(kernel)) continue;
    for (const BenchShape& shape : bench_shapes()) {
      if (shape.item.op != kernel.op) continue;
      Alternative one = {&kernel, case_for(kernel, shape.item)};
      kernels::StepNeeds needs;
      if (kernels::check_step(step_of(kernel, one.item), &needs) == nullptr)
        found.push_back(std::move(one));
    }
  }
  return found;
}

void predict(benchmark::State& state, const compiler::DeviceProfile& profile) {
  const compiler::LatencyPredictor predictor(profile);
  const std::vector<Alternative> all = alternatives(predictor);
  std::vector<kernels::StepShape> steps;
  for (const Alternative& one : all) steps.push_back(step_of(*one.kernel, one.item));
  for (auto _ : state)
    for (const kernels::StepShape& step : steps)
      benchmark::DoNotOptimize(predictor.predict_us(step, false));
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(steps.size()));
  state.counters["us_per_prediction"] = benchmark::Counter(
      1e-6 * static_cast<double>(state.iterations()) * static_cast<double>(steps.size()),
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

}  // namespace
}  // namespace codl::test

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const std::string name = argc > 1 ? argv[1] : "h200-nvidia";
  auto profile = codl::compiler::load_device_profile(name);
  if (!profile) {
    llvm::errs() << llvm::toString(profile.takeError()) << "\n";
    return 1;
  }
  benchmark::RegisterBenchmark(
      name.c_str(), [&](benchmark::State& state) { codl::test::predict(state, *profile); });
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
