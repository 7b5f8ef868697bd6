#include "compiler/simulate/simulate_plan.h"

#include <algorithm>
#include <map>

#include "compiler/predict/latency_predictor.h"
#include "compiler/simulate/host_calls.h"
#include "compiler/support/error.h"
#include "kernels/kernel_table.h"
#include "schema/verify_plan.h"

namespace codl::compiler {

namespace {

double moved_bytes(const plan::VariantDef& variant, const plan::StepDef& step) {
  const plan::TensorDef& tensor = *variant.tensors()->Get(step.operands()->Get(0));
  double share = 1;
  if (step.part_end() > step.part_begin() && step.part_dim() != 0) {
    const int32_t extent = step.part_dim() == static_cast<uint8_t>(SplitDim::Height)
                               ? tensor.row_end() - tensor.row_begin()
                               : tensor.dims()->Get(1);
    share = static_cast<double>(step.part_end() - step.part_begin()) / std::max(extent, 1);
  }
  return static_cast<double>(tensor.bytes()) * std::min(share, 1.0);
}

bool is_kernel(const plan::StepDef& step) { return kind_of(step) == StepKind::Kernel; }

// Of what `maker` made, the bytes that `reader`, a kernel, reads.
double handed_bytes_of(const plan::VariantDef& variant, const plan::StepDef& maker,
                       const plan::StepDef& reader) {
  if (kind_of(maker) == StepKind::Download) return moved_bytes(variant, maker);
  if (!is_kernel(maker)) return 0;
  kernels::OperandShape made[kernels::kMaxOperands];
  kernels::OperandShape read[kernels::kMaxOperands];
  const uint32_t tensor = maker.operands()->Get(maker.operands()->size() - 1);
  for (uint32_t i = 0; i + 1 < reader.operands()->size(); ++i)
    if (reader.operands()->Get(i) == tensor)
      return handed_bytes(step_shape_of(variant, maker, made), step_shape_of(variant, reader, read),
                          i);
  return 0;
}

double given_bytes_of(const plan::VariantDef& variant, const plan::StepDef& step) {
  double bytes = 0;
  for (uint32_t operand : *step.operands()) {
    const plan::TensorDef& tensor = *variant.tensors()->Get(operand);
    if (storage_of(tensor) == Storage::Input) bytes += static_cast<double>(tensor.bytes());
  }
  return bytes;
}

// Of a step that nothing disturbs.
llvm::Expected<double> alone_us(const plan::VariantDef& variant, const plan::StepDef& step,
                                const DeviceProfile& profile) {
  const ExchangeCosts& exchange = profile.exchange;
  const LatencyPredictor predictor(profile);
  switch (kind_of(step)) {
    case StepKind::Map:
      return exchange.map_us.value +
             exchange.map_us_per_mb.value * moved_bytes(variant, step) * 1e-6;
    case StepKind::Unmap:
      return 0.0;  // map_us counts both
    case StepKind::Upload:
    case StepKind::Download:
      return predictor.copy_us(moved_bytes(variant, step), kind_of(step) == StepKind::Upload);
    case StepKind::Kernel:
      break;
  }
  const KernelRow& row = *find_kernel(step.kernel());
  if (!predictor.can_predict(row))
    return input_error(step.name()->str(),
                       "expected a kernel that profile {0} has a model of, "
                       "found {1}",
                       profile.name, row.symbol);
  kernels::OperandShape shapes[kernels::kMaxOperands];
  return predictor.predict_us(step_shape_of(variant, step, shapes), false);
}

}  // namespace

double weight_mbytes(const plan::VariantDef& variant) {
  std::map<uint32_t, uint64_t> blobs;
  for (const plan::TensorDef* tensor : *variant.tensors())
    if (storage_of(*tensor) == Storage::Weights) blobs[tensor->index()] = tensor->bytes();
  double bytes = 0;
  for (const auto& [index, blob_bytes] : blobs) bytes += static_cast<double>(blob_bytes);
  return bytes * 1e-6;
}

llvm::Expected<std::vector<LaneStep>> lane_steps_of(const plan::VariantDef& variant,
                                                    const DeviceProfile& profile) {
  std::vector<PlannedStep> steps;
  for (const plan::StepDef* step : *variant.steps()) {
    CODL_ASSIGN_OR_RETURN(us, alone_us(variant, *step, profile));
    PlannedStep& planned = steps.emplace_back();
    LaneStep& added = planned.step;
    added.lane = static_cast<uint8_t>(lane_of(*step));
    added.alone_us = us;
    added.is_enqueued = lane_of(*step) == Lane::Gpu && kind_of(*step) == StepKind::Kernel;
    for (uint32_t wait : *step->waits()) {
      added.waits.push_back({wait});
      planned.wait_bytes.push_back(
          is_kernel(*step) ? handed_bytes_of(variant, *variant.steps()->Get(wait), *step) : 0);
    }
    planned.given_bytes = is_kernel(*step) ? given_bytes_of(variant, *step) : 0;
    added.name = step->name()->str();
    if (kind_of(*step) == StepKind::Kernel) added.kernel = find_kernel(step->kernel())->symbol;
    planned.is_copy = lane_of(*step) == Lane::Transfer;
    planned.is_download = kind_of(*step) == StepKind::Download;
    if (planned.is_copy)
      planned.call_us =
          LatencyPredictor(profile).copy_call_us(moved_bytes(variant, *step), !planned.is_download);
  }
  return with_host_calls(std::move(steps), gate_of(variant), profile);
}

}  // namespace codl::compiler
