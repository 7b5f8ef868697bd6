#include "compiler/variants/precision_choices.h"

#include <algorithm>

#include "compiler/support/error.h"
#include "compiler/variants/variants.h"
#include "llvm/ADT/STLExtras.h"

namespace codl::compiler {
namespace {

// So many runs of nodes are judged one by one; each takes as long as a measurement.
constexpr size_t kMaxRuns = 16;

}  // namespace

llvm::Expected<HalvesJudge> HalvesJudge::make(const ir::Graph& graph, const ir::Graph& untouched,
                                              const std::string& calibration, double budget) {
  HalvesJudge judge;
  judge.budget_ = budget;
  if (!calibration.empty()) {
    CODL_ASSIGN_OR_RETURN(opened, CalibrationData::open(calibration, graph));
    judge.calibration_ = std::make_unique<CalibrationData>(std::move(opened));
    CODL_ASSIGN_OR_RETURN(
        meter, DeviationMeter::make(untouched, *judge.calibration_,
                                    judge.calibration_->some_of(1, affordable_samples(untouched))));
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

// Measures what each run of nodes loses by itself, beside what bytes lose. Rounding errors of two
// are independent, so that the squares of what they lose add up; those that lose least stay in
// halves.
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
  CODL_ASSIGN_OR_RETURN(none, meter_->measure(with_halves_in(std::vector<bool>(runs))));
  // Where bytes alone lose more, halves have nothing to add.
  const double most_loss = std::max(budget_, none.loss());
  const double square_of_none = none.relative * none.relative;
  const double most_squares = std::max(budget_ * budget_, square_of_none);
  std::vector<std::pair<double, size_t>> losses;
  for (size_t run = 0; run < runs; ++run) {
    std::vector<bool> alone(runs);
    alone[run] = true;
    CODL_ASSIGN_OR_RETURN(deviation, meter_->measure(with_halves_in(alone)));
    losses.emplace_back(deviation.relative, run);
  }
  llvm::sort(losses);
  double squares = square_of_none;
  for (const auto& [loss, run] : losses) {
    squares += loss * loss - square_of_none;
    is_half[run] = squares <= most_squares;  // false if not a number
  }
  // The estimate may be too good.
  while (!losses.empty()) {
    CODL_ASSIGN_OR_RETURN(rest, meter_->measure(with_halves_in(is_half)));
    if (rest.loss() <= most_loss) break;
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

const AskedPrecision& asked_precision(Precision reals, Bytes8 bytes) {
  return *llvm::find_if(kAskedPrecisions, [&](const AskedPrecision& asked) {
    return asked.reals == reals && (bytes == Bytes8::Always) == (asked.bytes == Bytes8::Always);
  });
}

namespace {

// Compares networks that are one, but for the numbers that their nodes multiply.
class Comparison {
 public:
  Comparison(const LatencyPredictor& predictor, const PartitionOptions& partition, double budget)
      : predictor_(predictor), partition_(partition), budget_(budget) {}

  // Returns the choice of a network. `figures` are those of its plan if it has one.
  llvm::Expected<PrecisionChoice> choice(const ir::Graph& graph, const HalvesJudge& judge,
                                         const AskedPrecision& asked,
                                         const PlanFigures* figures) const {
    PrecisionChoice choice;
    choice.name = asked.name;
    choice.is_chosen = figures != nullptr;
    ir::Graph tried = graph;
    if (auto allowed = judge.allow(tried, asked.reals); !allowed) return allowed.takeError();
    std::optional<PlanFigures> found;
    if (figures == nullptr) {
      CODL_ASSIGN_OR_RETURN(estimated, VariantMaker(tried, predictor_, partition_).estimate());
      found = estimated;
    } else {
      found = *figures;
    }
    choice.predicted_us = found->predicted_us;
    choice.weight_bytes = found->weight_bytes;
    if (asked.reals == Precision::Fp32) return choice;
    CODL_ASSIGN_OR_RETURN(deviation, judge.loss_of(tried));
    choice.deviation = deviation;
    return choice;
  }

  // Bytes count where it is known that they keep the budget.
  bool is_better(const PrecisionChoice& in_bytes, const PrecisionChoice& in_floats) const {
    return in_bytes.deviation && in_bytes.deviation->loss() <= budget_ &&
           in_bytes.predicted_us < in_floats.predicted_us;
  }

 private:
  const LatencyPredictor& predictor_;
  const PartitionOptions& partition_;
  const double budget_;
};

}  // namespace

llvm::Expected<std::vector<PrecisionChoice>> compare_precisions(
    const ir::Graph& graph, const HalvesJudge& judge, bool is_in_bytes, const ir::Graph& other,
    const LatencyPredictor& predictor, const PartitionOptions& partition,
    const ShrinkOptions& options, const AskedPrecision& chosen, const PlanFigures& figures) {
  CODL_ASSIGN_OR_RETURN(other_judge, HalvesJudge::make(other, is_in_bytes ? other : graph,
                                                       options.calibration, options.budget));
  const Comparison comparison(predictor, partition, options.budget);
  const auto choice = [&](const AskedPrecision& asked, bool in_bytes) {
    const bool is_of_plan = in_bytes == is_in_bytes;
    return comparison.choice(is_of_plan ? graph : other, is_of_plan ? judge : other_judge, asked,
                             is_of_plan && asked.name == chosen.name ? &figures : nullptr);
  };
  std::vector<PrecisionChoice> choices;
  for (const AskedPrecision& asked : kAskedPrecisions) {
    const bool is_chosen = asked.name == chosen.name;
    const bool in_bytes = is_chosen ? is_in_bytes : asked.bytes == Bytes8::Always;
    CODL_ASSIGN_OR_RETURN(found, choice(asked, in_bytes));
    // With bytes it is the network of int8, which comes before it.
    if (!is_chosen && asked.bytes == Bytes8::IfFaster &&
        comparison.is_better(choices.back(), found)) {
      found = choices.back();
      found.name = asked.name;
      found.is_chosen = false;
    }
    choices.push_back(found);
  }
  return choices;
}

}  // namespace codl::compiler
