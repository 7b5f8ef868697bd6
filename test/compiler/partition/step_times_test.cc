// Tests that times that are known already are taken for equal steps only.
#include "compiler/partition/step_times.h"

#include "test/support/catch.h"
#include "test/support/expected.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

TEST_CASE("a step's time depends on the types in which its operands are stored") {
  test::GraphBuilder builder(16, 64, 16);
  const ir::ValueId a = builder.conv("a", builder.input(), 64);
  const ir::Graph graph = builder.finish(builder.conv("b", a, 64));
  DeviceProfile profile = test::test_profile(Sharing::FineSvm, Layout::Nhwc);
  for (Calibration& kernel : profile.kernels) kernel.shares[Term::Read] = 1;
  const LatencyPredictor predictor(profile);
  std::vector<ValueTensors> value_tensors(graph.values().size());
  const auto place = [&](TensorSlot slot, DType dtype) {
    value_tensors[a].tensors[static_cast<size_t>(slot)] = {
        true, value_shape(graph.value(a), {Layout::Nhwc, dtype}, {}), Storage::Device};
  };
  PlannedStep copy;
  copy.queue = Queue::Gpu;
  copy.value = a;
  copy.operands = {tensor_id(a, TensorSlot::Cpu), tensor_id(a, TensorSlot::Gpu)};
  StepTimes times(graph, predictor, value_tensors);
  double us[2] = {};
  for (const bool is_half : {false, true}) {
    for (TensorSlot slot : {TensorSlot::Cpu, TensorSlot::Gpu})
      place(slot, is_half ? DType::F16 : DType::F32);
    us[is_half] = test::value_of(times.time(copy)).alone.us;
  }
  CHECK(us[1] < us[0]);
}

}  // namespace
}  // namespace codl::compiler
