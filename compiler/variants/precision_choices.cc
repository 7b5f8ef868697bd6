#include "compiler/variants/precision_choices.h"

#include <algorithm>

#include "compiler/support/error.h"
#include "compiler/variants/variants.h"
#include "llvm/ADT/STLExtras.h"

namespace codl::compiler {
namespace {

// The loss on so many samples is near that on all, and each takes as long as a run.
constexpr size_t kMaxMeasuredSamples = 16;

// So many runs of nodes are judged one by one; each takes as long as a measurement.
constexpr size_t kMaxRuns = 16;

}  // namespace

llvm::Expected<HalvesJudge> HalvesJudge::make(const ir::Graph& graph,
                                              const std::string& calibration, double budget) {
  HalvesJudge judge;
  judge.budget_ = budget;
  if (!calibration.empty()) {
    CODL_ASSIGN_OR_RETURN(opened, CalibrationData::open(calibration, graph));
    judge.calibration_ = std::make_unique<CalibrationData>(std::move(opened));
    CODL_ASSIGN_OR_RETURN(
        meter, DeviationMeter::make(graph, *judge.calibration_,
                                    judge.calibration_->some_of(1, kMaxMeasuredSamples)));
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

// Measures what each run of nodes loses by itself. Rounding errors of two are independent, so that
// the squares of what they lose add up; those that lose least stay in halves.
llvm::Error HalvesJudge::keep_budget(ir::Graph& graph, AllowedForms& allowed) const {
  const size_t nodes = graph.nodes().size();
  const size_t runs = std::min(nodes, kMaxRuns);
  const auto run_of = [&](size_t node) { return node * runs / nodes; };
  const auto with_halves_in = [&](const std::vector<bool>& is_half) {
    ir::Graph tried = graph;
    for (size_t i = 0; i < nodes; ++i)
      if (!is_half[run_of(i)]) tried.value(tried.nodes()[i].output).precision = Precision::Fp32;
    return tried;
  };
  std::vector<bool> is_half(runs, true);
  CODL_ASSIGN_OR_RETURN(all, meter_->measure(graph));
  if (all.loss() <= budget_) return llvm::Error::success();
  std::vector<std::pair<double, size_t>> losses;
  for (size_t run = 0; run < runs; ++run) {
    std::vector<bool> alone(runs);
    alone[run] = true;
    CODL_ASSIGN_OR_RETURN(deviation, meter_->measure(with_halves_in(alone)));
    losses.emplace_back(deviation.relative, run);
  }
  llvm::sort(losses);
  double squares = 0;
  for (const auto& [loss, run] : losses) {
    squares += loss * loss;
    is_half[run] = squares <= budget_ * budget_;  // false if not a number
  }
  // The estimate may be too good.
  while (!losses.empty()) {
    CODL_ASSIGN_OR_RETURN(rest, meter_->measure(with_halves_in(is_half)));
    if (rest.loss() <= budget_) break;
    while (!losses.empty() && !is_half[losses.back().second]) losses.pop_back();
    if (!losses.empty()) is_half[losses.back().second] = false;
  }
  for (size_t i = 0; i < nodes; ++i) {
    const ir::Node& node = graph.nodes()[i];
    const bool was_half = graph.value(node.output).precision != Precision::Fp32;
    if (!is_half[run_of(i)] && was_half && node.op != OpKind::Convert)
      allowed.floats.push_back(
          {node.name, "with it in halves, more would be lost than --accuracy-budget"});
  }
  graph = with_halves_in(is_half);
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
      CODL_ASSIGN_OR_RETURN(estimated, VariantMaker(tried, predictor, partition).estimate());
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
