// Fuzz target: any bytes are what tools report of a device: a self-test, and codl-bench's
// measurements. Without the wrong kernels there still is a plan, and learning leaves times that are
// numbers.
#include <cmath>

#include "compiler/device/quirks.h"
#include "compiler/partition/partition.h"
#include "compiler/schedule/schedule.h"
#include "compiler/simulate/measured/learn_steps.h"
#include "compiler/simulate/timing/simulate.h"
#include "test/fuzz/no_fault.h"
#include "test/support/graphs.h"

namespace codl::test {
namespace {

constexpr char kPath[] = "fuzz.json";

// A network of three convolutions, each on both processors, in steps long enough to be measured.
struct Example {
  ir::Graph graph = three_convs();
  compiler::DeviceProfile profile = test_profile(Sharing::FineSvm);
  PlanModel plan;

  Example() {
    for (compiler::Calibration& known : profile.kernels)
      for (double& share : known.shares.of) share *= 100;
    auto schedule = schedule_on(profile);
    if (!schedule) fail(llvm::toString(schedule.takeError()));
    plan.entries.emplace_back().variants.push_back(std::move(*schedule));
  }

  llvm::Expected<compiler::Schedule> schedule_on(const compiler::DeviceProfile& device) const {
    compiler::PartitionOptions options;
    options.split_dim = SplitDim::Height;
    options.ratio = 0.5;
    const compiler::LatencyPredictor predictor(device);
    CODL_ASSIGN_OR_RETURN(partition, compiler::partition(graph, predictor, options));
    CODL_ASSIGN_OR_RETURN(schedule, compiler::make_schedule(graph, partition, predictor, "coexec"));
    if (llvm::Error error = compiler::predict(schedule, device)) return error;
    return schedule;
  }
};

// Makes the measurements claim to be of the plan's steps: otherwise they belong to another plan,
// and nothing is learned.
void claim_steps(const Variant& variant, compiler::MeasuredSteps& measured) {
  measured.entry = "";
  measured.variant = variant.name;
  measured.steps.resize(variant.steps.size());
  for (size_t i = 0; i < variant.steps.size(); ++i) {
    const Step& step = variant.steps[i];
    measured.steps[i].node = step.name;
    measured.steps[i].kernel = step.kernel != nullptr
                                   ? step.kernel->symbol
                                   : kStepKindNames[static_cast<size_t>(step.kind)];
    measured.steps[i].predicted_us = step.predicted_us;
  }
}

void expect_plan(const Example& example, const compiler::DeviceProfile& device) {
  auto schedule = example.schedule_on(device);
  if (!schedule) return expect_no_fault(schedule.takeError());
  if (!(schedule->predicted_us >= 0 && std::isfinite(schedule->predicted_us)))
    fail("expected a time of a plan, found " + std::to_string(schedule->predicted_us));
}

void run(llvm::StringRef json) {
  static const Example example;
  compiler::DeviceProfile device = example.profile;
  if (llvm::Error error = compiler::avoid_quirks(json, kPath, device))
    expect_no_fault(std::move(error));
  else
    expect_plan(example, device);

  auto measured = compiler::read_measured_steps(json, kPath, example.profile, "");
  if (!measured) return expect_no_fault(measured.takeError());
  if (measured->empty()) return;
  claim_steps(example.plan.entries[0].variants[0], measured->front());
  device = example.profile;
  compiler::LearnedSteps learned;
  if (llvm::Error error =
          compiler::learn_steps(example.plan, *measured, kPath, example.profile, learned))
    return expect_no_fault(std::move(error));
  device.learned = std::move(learned);
  expect_plan(example, device);
}

}  // namespace
}  // namespace codl::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  codl::test::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
