#include "compiler/predict/latency_predictor.h"

#include <algorithm>
#include <cassert>
#include <string_view>

#include "kernels/work_table.h"

namespace codl::compiler {

namespace {

// Features by name. Every term of a model looks its feature up, mostly in the order that the
// contract adds them.
class FeatureTable {
 public:
  explicit FeatureTable(const kernels::Features& features) : features_(features) {
    for (uint32_t i = 0; i < features.count; ++i) names_[i] = features.items[i].name;
  }
  double value_of(std::string_view name) {
    if (name == "steps") return 1;
    for (uint32_t i = 0; i < features_.count; ++i) {
      if (last_ >= features_.count) last_ = 0;
      if (name == names_[last_]) return features_.items[last_].value;
      ++last_;
    }
    return 0;
  }

 private:
  const kernels::Features& features_;
  std::string_view names_[kernels::kMaxFeatures];
  uint32_t last_ = 0;  // where the search begins: at the feature of the term before
};

}  // namespace

double moved_bytes(const Variant& variant, const Step& step) {
  const kernels::OperandShape& shape = variant.tensors[step.operands[0]].shape;
  const auto bytes = static_cast<double>(shape.bytes);
  if (step.part_dim == SplitDim::None || step.part.empty()) return bytes;
  const int32_t extent =
      step.part_dim == SplitDim::Height ? shape.row_end - shape.row_begin : shape.dims[1];
  return bytes * std::min(static_cast<double>(step.part.count()) / std::max(extent, 1), 1.0);
}

double LatencyPredictor::terms_us(const kernels::StepShape& step, bool only_assumed) const {
  const LatencyModel* model = profile_.model_of(step.row->id);
  assert(model != nullptr && "asked for a row the profile has no model of");
  kernels::Features features;
  if (model->is_fitted)
    kernels::model_features_of(step, lanes_[static_cast<size_t>(step.row->processor)], &features);
  else
    kernels::features_of(step, &features);
  FeatureTable table(features);
  double latency_us = 0;
  for (const LatencyModel::Term& term : model->terms)
    if (!only_assumed || term.coefficient.origin == Origin::Assumed)
      latency_us += term.of(table.value_of(term.name()));
  return latency_us;
}

double LatencyPredictor::predict_us(const kernels::StepShape& step,
                                    bool other_processor_busy) const {
  const LatencyModel* model = profile_.model_of(step.row->id);
  double latency_us = terms_us(step, false);
  latency_us = kernels::over_floor_us(model->floor_us, latency_us);
  if (other_processor_busy)
    latency_us *=
        1 +
        profile_.exchange.contention_percent[static_cast<size_t>(step.row->processor)].value / 100;
  return latency_us;
}

double LatencyPredictor::step_us(const Variant& variant, const Step& step) const {
  switch (step.kind) {
    case StepKind::Map:
      return map_us(moved_bytes(variant, step));
    case StepKind::Unmap:
      return 0;  // map_us() counts both
    case StepKind::Upload:
    case StepKind::Download:
      return copy_us(moved_bytes(variant, step), step.kind == StepKind::Upload);
    case StepKind::Kernel:
      break;
  }
  kernels::OperandShape shapes[kernels::kMaxOperands];
  return predict_us(variant.shape_of(step, shapes), false);
}

double LatencyPredictor::assumed_us(const kernels::StepShape& step) const {
  const LatencyModel* model = profile_.model_of(step.row->id);
  const bool is_own = model->kernel_id == step.row->id;
  return is_own || step.row->is_reference() ? terms_us(step, true) : predict_us(step, false);
}

LatencyPredictor::Interval LatencyPredictor::interval_of(const KernelRow& row) const {
  const LatencyModel* model = profile_.model_of(row.id);
  if (model == nullptr || model->interval_high == 0) return {};
  return {model->interval_low, model->interval_high};
}

double LatencyPredictor::copy_call_us(double bytes, bool to_gpu) const {
  const std::optional<HostCosts>& host = profile_.exchange.host;
  if (!host) return 0;
  const CopyCosts& copy = to_gpu ? host->upload : host->download;
  return copy.call_us.value + copy.call_us_per_mb.value * bytes * 1e-6;
}

double LatencyPredictor::copy_us(double bytes, bool to_gpu) const {
  const std::optional<HostCosts>& host = profile_.exchange.host;
  if (!host) return profile_.exchange.copy_us_per_mb.value * bytes * 1e-6;
  const CopyCosts& copy = to_gpu ? host->upload : host->download;
  return copy.rest_us.value + copy.rest_us_per_mb.value * bytes * 1e-6;
}

double LatencyPredictor::map_us(double bytes) const {
  const ExchangeCosts& costs = profile_.exchange;
  return costs.map_us.value + costs.map_us_per_mb.value * bytes * 1e-6;
}

double LatencyPredictor::enqueue_us() const {
  const std::optional<HostCosts>& host = profile_.exchange.host;
  return host ? host->enqueue_us.value : 0;
}

double LatencyPredictor::hand_off_us(double bytes, bool to_gpu) const {
  const ExchangeCosts& costs = profile_.exchange;
  double us = costs.sync_us.value;
  if (costs.host) {
    const double cold_us_per_mb =
        (to_gpu ? costs.host->gpu_cold_us_per_mb : costs.host->cpu_cold_us_per_mb).value;
    us = cold_us_per_mb * bytes * 1e-6 +
         (to_gpu ? costs.host->submit_us.value + costs.host->start_us.value
                 : costs.host->wake_us.value + costs.host->cpu_resume_us.value);
  }
  switch (profile_.sharing) {
    case Sharing::None:
    case Sharing::FineSvm:
      return us;
    case Sharing::SubBuffer:
      return us + map_us(bytes);
    case Sharing::Separate:
      // The copy is in a queue of its own.
      if (costs.host) us += copy_call_us(bytes, to_gpu) + costs.host->queue_us.value;
      return us + copy_us(bytes, to_gpu);
  }
  __builtin_unreachable();
}

}  // namespace codl::compiler
