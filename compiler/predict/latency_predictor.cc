#include "compiler/predict/latency_predictor.h"

#include <cassert>
#include <string_view>

#include "kernels/kernel_table.h"
#include "kernels/model_features.h"
#include "kernels/model_term.h"

namespace codl::compiler {

namespace {

double value_of(const kernels::Features& features, std::string_view name) {
  if (name == "steps") return 1;
  for (uint32_t i = 0; i < features.count; ++i)
    if (name == features.items[i].name) return features.items[i].value;
  return 0;
}

}  // namespace

double LatencyPredictor::predict_us(const kernels::StepShape& step,
                                    bool other_processor_busy) const {
  const LatencyModel* model = profile_.model_of(step.row->id);
  assert(model != nullptr && "asked for a row the profile has no model of");
  kernels::Features features;
  if (model->is_fitted)
    kernels::model_features_of(step, {profile_.cpu_threads, profile_.gpu_facts}, &features);
  else
    kernels::features_of(step, &features);
  double latency_us = 0;
  for (const LatencyModel::Term& term : model->terms) {
    const kernels::ModelTerm part(term.feature);
    latency_us += term.coefficient.value * part.of(value_of(features, part.feature));
  }
  if (other_processor_busy)
    latency_us *=
        1 +
        profile_.exchange.contention_percent[static_cast<size_t>(step.row->processor)].value / 100;
  return latency_us;
}

LatencyPredictor::Interval LatencyPredictor::interval_of(const KernelRow& row) const {
  const LatencyModel* model = profile_.model_of(row.id);
  if (model == nullptr || model->interval_high == 0) return {};
  return {model->interval_low, model->interval_high};
}

double LatencyPredictor::hand_off_us(double bytes) const {
  const ExchangeCosts& costs = profile_.exchange;
  const double mbytes = bytes * 1e-6;
  switch (profile_.sharing) {
    case GpuSharing::FineSvm:
      return costs.sync_us.value;
    case GpuSharing::SubBuffer:
      return costs.sync_us.value + costs.map_us.value + costs.map_us_per_mb.value * mbytes;
    case GpuSharing::Separate:
      return costs.sync_us.value + costs.copy_us_per_mb.value * mbytes;
  }
  __builtin_unreachable();
}

}  // namespace codl::compiler
