#include "compiler/variants/precision_choices.h"

#include <algorithm>

#include "compiler/support/error.h"
#include "compiler/variants/variants.h"

namespace codl::compiler {
namespace {

// The loss on so many samples is near that on all, and each takes as long as a run.
constexpr size_t kMaxMeasuredSamples = 16;

// Every other sample is for measuring: limits of values were seen on the rest.
std::vector<size_t> measured_samples(size_t count) {
  const size_t step = 2 * std::max<size_t>(count / (2 * kMaxMeasuredSamples), 1);
  std::vector<size_t> samples;
  for (size_t i = 1; i < count && samples.size() < kMaxMeasuredSamples; i += step)
    samples.push_back(i);
  return samples;
}

}  // namespace

llvm::Expected<HalvesJudge> HalvesJudge::make(const ir::Graph& graph,
                                              const std::string& calibration, double budget) {
  HalvesJudge judge;
  judge.budget_ = budget;
  if (!calibration.empty()) {
    CODL_ASSIGN_OR_RETURN(opened, CalibrationData::open(calibration, graph));
    judge.calibration_ = std::make_unique<CalibrationData>(std::move(opened));
    CODL_ASSIGN_OR_RETURN(meter,
                          DeviationMeter::make(graph, *judge.calibration_,
                                               measured_samples(judge.calibration_->count())));
    judge.meter_ = std::move(meter);
  }
  CODL_ASSIGN_OR_RETURN(seen, see_magnitudes(graph, judge.calibration_.get()));
  judge.seen_ = std::move(seen);
  return judge;
}

llvm::Expected<AllowedForms> HalvesJudge::allow(ir::Graph& graph, Precision precision) const {
  AllowedForms allowed = allow_forms(graph, precision, seen_);
  if (precision == Precision::Auto && meter_)
    if (llvm::Error error = keep_budget(graph, allowed)) return error;
  return allowed;
}

// Rounding adds up towards the end, where a network has its heads: the search is for the longest
// part from the beginning on that may be in halves.
llvm::Error HalvesJudge::keep_budget(ir::Graph& graph, AllowedForms& allowed) const {
  const auto with_floats_from = [&](size_t first) {
    ir::Graph tried = graph;
    for (size_t i = first; i < tried.nodes().size(); ++i)
      tried.value(tried.nodes()[i].output).precision = Precision::Fp32;
    return tried;
  };
  size_t kept = 0, lost = graph.nodes().size() + 1;
  while (kept + 1 < lost) {
    // All of it comes first, which nearly always keeps the budget.
    const size_t tried = lost > graph.nodes().size() ? graph.nodes().size() : (kept + lost) / 2;
    CODL_ASSIGN_OR_RETURN(deviation, meter_->measure(with_floats_from(tried)));
    (deviation.loss() <= budget_ ? kept : lost) = tried;
  }
  for (size_t i = kept; i < graph.nodes().size(); ++i) {
    const ir::Node& node = graph.nodes()[i];
    if (graph.value(node.output).precision != Precision::Fp32 && node.op != OpKind::Convert)
      allowed.floats.push_back({node.name,
                                "with it in halves, more would be lost than "
                                "--accuracy-budget"});
  }
  graph = with_floats_from(kept);
  return llvm::Error::success();
}

llvm::Expected<std::optional<Deviation>> HalvesJudge::loss_of(const ir::Graph& graph) const {
  if (!meter_) return std::nullopt;
  CODL_ASSIGN_OR_RETURN(deviation, meter_->measure(graph));
  return std::optional(deviation);
}

llvm::Expected<std::vector<PrecisionChoice>> compare_precisions(
    const ir::Graph& graph, const LatencyPredictor& predictor, const PartitionOptions& partition,
    const HalvesJudge& judge, Precision chosen, const PlanFigures& figures) {
  std::vector<PrecisionChoice> choices;
  for (const Precision precision : kPrecisions) {
    PrecisionChoice choice;
    choice.precision = precision;
    choice.is_chosen = precision == chosen;
    ir::Graph tried = graph;
    if (auto allowed = judge.allow(tried, precision); !allowed) return allowed.takeError();
    PlanFigures found = figures;
    if (!choice.is_chosen) {
      CODL_ASSIGN_OR_RETURN(estimated,
                            VariantMaker(tried, predictor, precision, partition).estimate());
      found = estimated;
    }
    choice.predicted_us = found.predicted_us;
    choice.weight_bytes = found.weight_bytes;
    if (precision != Precision::Fp32) {
      CODL_ASSIGN_OR_RETURN(deviation, judge.loss_of(tried));
      choice.deviation = deviation;
    }
    choices.push_back(choice);
  }
  return choices;
}

}  // namespace codl::compiler
