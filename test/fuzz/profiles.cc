// Fuzz target: any bytes are a device profile. An accepted one can be described, predicts a step of
// each kernel that has samples here, and gives a small network plans whose times are numbers.
#include <cmath>

#include "compiler/device/device_profile.h"
#include "compiler/device/latency_predictor.h"
#include "compiler/partition/partition.h"
#include "compiler/schedule/schedule.h"
#include "compiler/simulate/timing/simulate.h"
#include "kernels/kernel_table.h"
#include "test/compiler/support/sample_steps.h"
#include "test/fuzz/no_fault.h"
#include "test/support/graphs.h"

namespace codl::test {
namespace {

void expect_time(const std::string& of, double us) {
  if (!(us >= 0 && std::isfinite(us)))
    fail("expected a time of " + of + ", found " + std::to_string(us));
}

void predict_steps(const compiler::LatencyPredictor& predictor) {
  for (const KernelInfo& kernel : kKernelInfos) {
    if (!predictor.can_predict(kernel)) continue;
    const compiler::SampleStep sample(kernel.id, {});
    kernels::StepNeeds needs;
    if (kernels::check_step(sample.shape(), &needs) != nullptr) continue;
    expect_time(kernel.symbol, predictor.predict_us(sample.shape(), true));
  }
}

llvm::Error simulate_plan(const compiler::LatencyPredictor& predictor, const char* strategy) {
  const ir::Graph graph = three_convs();
  compiler::PartitionOptions options;
  options.strategy = strategy;
  CODL_ASSIGN_OR_RETURN(plan, compiler::partition(graph, predictor, options));
  CODL_ASSIGN_OR_RETURN(schedule, compiler::make_schedule(graph, plan, predictor, "coexec"));
  if (llvm::Error error = compiler::predict(schedule, predictor.profile())) return error;
  expect_time("a plan", schedule.predicted_us);
  return llvm::Error::success();
}

void run(llvm::StringRef json) {
  auto profile = compiler::parse_device_profile(json, "fuzz.json");
  if (!profile) return expect_no_fault(profile.takeError());
  compiler::describe(*profile);
  const compiler::LatencyPredictor predictor(*profile);
  predict_steps(predictor);
  for (const char* strategy : {"cpu", "segments"})
    expect_no_fault(simulate_plan(predictor, strategy));
}

}  // namespace
}  // namespace codl::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  codl::test::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
