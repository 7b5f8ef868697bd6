#include "compiler/schedule/half_storage.h"

#include "compiler/memory/memory_plan.h"
#include "compiler/partition/partition.h"
#include "compiler/schedule/schedule.h"
#include "compiler/simulate/timing/simulate.h"
#include "kernels/kernel_table.h"
#include "test/support/catch.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

Schedule schedule_for(const ir::Graph& graph, const DeviceProfile& profile,
                      const PartitionOptions& options) {
  auto plan = partition(graph, LatencyPredictor(profile), options);
  REQUIRE(bool(plan));
  auto schedule = make_schedule(graph, *plan, LatencyPredictor(profile), "test");
  REQUIRE(bool(schedule));
  return std::move(*schedule);
}

bool is_half(const Tensor& tensor) { return tensor.shape.dtype == DType::F16; }

TEST_CASE("what the GPU alone touches becomes halves, and nothing else") {
  const auto sharing = GENERATE(Sharing::FineSvm, Sharing::SubBuffer, Sharing::Separate);
  const auto layout = GENERATE(Layout::Nhwc, Layout::Image2d);
  const auto dim = GENERATE(SplitDim::None, SplitDim::Height, SplitDim::OutputChannel);
  PartitionOptions options;
  options.strategy = dim == SplitDim::None ? "gpu" : "optimal";
  options.split_dim = dim;
  if (dim != SplitDim::None) options.ratio = 0.5;
  options.max_chain = GENERATE(1, 4);
  options.boundary_first = GENERATE(BoundaryFirst::Always, BoundaryFirst::Never);
  const ir::Graph graph = test::three_convs();
  const DeviceProfile profile = test::test_profile(sharing, layout);
  Schedule floats = schedule_for(graph, profile, options);
  Schedule schedule = floats;
  store_halves(schedule);
  CHECK(llvm::toString(predict(floats, profile)) == "");
  CHECK(llvm::toString(predict(schedule, profile)) == "");

  size_t halves = 0;
  for (TensorId id = 0; id < schedule.tensors.size(); ++id) {
    const Tensor& tensor = schedule.tensors[id];
    CAPTURE(id);
    if (!is_half(tensor)) {
      CHECK(tensor.shape.bytes == floats.tensors[id].shape.bytes);
      continue;
    }
    ++halves;
    CHECK((tensor.storage == Storage::Device || tensor.storage == Storage::Image));
    CHECK(tensor.shape.bytes * 2 == floats.tensors[id].shape.bytes);
  }
  // On one queue alone at least a and b are halves; inside a chain b is, else images beside the
  // shared memory.
  if (dim == SplitDim::None) CHECK(halves >= 2);
  if ((dim == SplitDim::Height && options.max_chain == 4) || layout == Layout::Image2d)
    CHECK(halves >= 1);
  CHECK(count_gpu_tensors(schedule).halves == halves);
  CHECK(count_gpu_tensors(schedule).all == count_gpu_tensors(floats).all);

  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    const Step& step = schedule.steps[i];
    size_t half_operands = 0;
    for (TensorId id : step.operands) half_operands += is_half(schedule.tensors[id]) ? 1 : 0;
    CAPTURE(i, step.name, half_operands);
    if (step.kind != StepKind::Kernel || step.queue != Queue::Gpu) CHECK(half_operands == 0);
    if (half_operands == 0) {
      CHECK(step.predicted_us == floats.steps[i].predicted_us);
      continue;
    }
    CHECK(step.predicted_us <= floats.steps[i].predicted_us);
    kernels::OperandShape shapes[kernels::kMaxOperands];
    kernels::StepNeeds needs;
    CHECK(kernels::check_step(schedule.shape_of(step, shapes), &needs) == nullptr);
  }
  CHECK(llvm::toString(check_races(graph, schedule)) == "");
  CHECK(llvm::toString(plan_memory(schedule, profile)) == "");
  CHECK(llvm::toString(check_memory_plan(schedule)) == "");
}

TEST_CASE("a tensor that one kernel cannot read as halves stays as it is") {
  const ir::Graph graph = test::three_convs();
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  PartitionOptions options;
  options.strategy = "gpu";
  Schedule schedule = schedule_for(graph, profile, options);
  KernelInfo without_halves = {};
  TensorId read = 0;
  for (Step& step : schedule.steps)
    if (step.name == "c") {
      without_halves = *step.kernel;
      without_halves.signatures = kF32;
      step.kernel = &without_halves;
      read = step.operands[0];
      break;
    }
  REQUIRE(without_halves.id != 0);
  store_halves(schedule);
  CHECK_FALSE(is_half(schedule.tensors[read]));
  CHECK(count_gpu_tensors(schedule).halves > 0);
}

}  // namespace
}  // namespace codl::compiler
