#include "compiler/simulate/simulate.h"

#include "compiler/simulate/host_calls.h"

namespace codl::compiler {

namespace {

// Of what `maker` made, the bytes that `reader`, a kernel, reads.
double handed_bytes_of(const Schedule& schedule, const Step& maker, const Step& reader) {
  if (maker.kind == StepKind::Download) return maker.moved_bytes;
  if (maker.kind != StepKind::Kernel) return 0;
  kernels::OperandShape made[kernels::kMaxOperands];
  kernels::OperandShape read[kernels::kMaxOperands];
  for (size_t i = 0; i + 1 < reader.operands.size(); ++i)
    if (reader.operands[i] == maker.operands.back())
      return handed_bytes(maker.shape(schedule.tensors, made), reader.shape(schedule.tensors, read),
                          i);
  return 0;
}

double given_bytes_of(const Schedule& schedule, const Step& step) {
  double bytes = 0;
  for (TensorId operand : step.operands)
    if (schedule.tensors[operand].storage == Storage::Input)
      bytes += static_cast<double>(schedule.tensors[operand].shape.bytes);
  return bytes;
}

}  // namespace

Timeline simulate(const Schedule& schedule, const DeviceProfile& profile) {
  std::vector<PlannedStep> steps;
  for (const Step& step : schedule.steps) {
    PlannedStep& planned = steps.emplace_back();
    planned.step.lane = static_cast<uint8_t>(step.lane);
    planned.step.alone_us = step.predicted_us;
    const bool is_kernel = step.kind == StepKind::Kernel;
    for (StepId wait : step.waits) {
      planned.step.waits.push_back({wait});
      planned.wait_bytes.push_back(is_kernel ? handed_bytes_of(schedule, schedule.steps[wait], step)
                                             : 0);
    }
    planned.given_bytes = is_kernel ? given_bytes_of(schedule, step) : 0;
    planned.is_copy = step.lane == Lane::Transfer;
    planned.is_download = step.kind == StepKind::Download;
    planned.call_us = step.call_us;
  }
  return run_lanes(with_host_calls(std::move(steps), schedule.gate, profile));
}

}  // namespace codl::compiler
