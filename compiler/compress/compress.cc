#include "compiler/compress/compress.h"

#include <algorithm>

#include "compiler/compress/low_rank.h"
#include "compiler/ops/multiply_adds.h"
#include "compiler/support/error.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

namespace codl::compiler {
namespace {

// Of auto. Energies from the loosest on; shares of a group's channels that may go.
constexpr double kEnergies[] = {0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999};
constexpr double kRatios[] = {0.125, 0.25, 0.375, 0.5, 0.625, 0.75};
constexpr int kToleranceSteps = 7;
// Multiply-adds that measuring one group of channels may take, and samples.
constexpr double kSensitivityMacs = 2e10;
constexpr size_t kLeastSensitivitySamples = 4, kMostSensitivitySamples = 64;

double macs_of(const ir::Graph& graph) {
  double macs = 0;
  for (const ir::Node& node : graph.nodes()) macs += multiply_adds(ir::NodeView{graph, node});
  return macs;
}

class Compressor {
 public:
  Compressor(const ir::Graph& untouched, const CompressOptions& options, const LatencyJudge& judge,
             CompressReport& report)
      : untouched_(untouched), options_(options), judge_(judge), report_(report) {}

  llvm::Expected<ir::Graph> run() {
    if (llvm::Error error = open_calibration()) return error;
    if (llvm::Error error = add_step("none", untouched_)) return error;
    ir::Graph pruned = untouched_;
    if (options_.prune) {
      CODL_ASSIGN_OR_RETURN(result, prune(untouched_));
      pruned = std::move(result);
      if (llvm::Error error = add_step("pruning", pruned)) return error;
    }
    if (!options_.low_rank) return pruned;
    CODL_ASSIGN_OR_RETURN(ranked, low_rank(pruned));
    if (llvm::Error error = add_step(options_.prune ? "pruning, low rank" : "low rank", ranked))
      return error;
    return ranked;
  }

 private:
  llvm::Error open_calibration() {
    const bool is_auto = (options_.low_rank && options_.low_rank->is_auto) ||
                         (options_.prune && options_.prune->is_auto);
    if (options_.calibration.empty()) {
      if (is_auto)
        return input_error("--calibration",
                           "expected a folder with --low-rank=auto and --prune=auto, found none");
      if (options_.importance == Importance::Activation ||
          options_.importance == Importance::Repair)
        return input_error("--calibration",
                           "expected a folder for importance by activations, found none");
      return llvm::Error::success();
    }
    CODL_ASSIGN_OR_RETURN(opened, CalibrationData::open(options_.calibration, untouched_));
    calibration_ = std::move(opened);
    // Every other sample is for measuring.
    std::vector<size_t> held_out;
    for (size_t i = 0; i < calibration_->count(); ++i)
      (i % 2 == 0 ? fitted_ : held_out).push_back(i);
    metric_ =
        options_.metric.value_or(calibration_->has_labels() ? Metric::Top1 : Metric::Relative);
    CODL_ASSIGN_OR_RETURN(meter, DeviationMeter::make(untouched_, *calibration_, held_out));
    meter_ = std::move(meter);
    return llvm::Error::success();
  }

  llvm::Expected<bool> is_within_budget(const ir::Graph& graph) const {
    if (!meter_) return true;
    CODL_ASSIGN_OR_RETURN(deviation, meter_->measure(graph));
    return deviation.is_within(metric_, options_.budget);
  }

  llvm::Error add_step(const char* what, const ir::Graph& graph) {
    CompressReport::Step step;
    step.what = what;
    CODL_ASSIGN_OR_RETURN(us, judge_(graph));
    step.cost.predicted_us = us;
    step.cost.macs = macs_of(graph);
    for (const ir::Value& value : graph.values())
      step.cost.weight_bytes += static_cast<double>(value.bytes.size());
    if (meter_) {
      CODL_ASSIGN_OR_RETURN(deviation, meter_->measure(graph));
      step.deviation = deviation;
    }
    report_.steps.push_back(std::move(step));
    return llvm::Error::success();
  }

  // ---- low rank ----

  // Each node of `graph` in the form that makes the plan shortest, if one does.
  llvm::Expected<ir::Graph> low_rank_at(const ir::Graph& graph, double energy,
                                        std::vector<std::string>& rewrites,
                                        std::vector<std::string>& untouched) const {
    ir::Graph best = graph;
    CODL_ASSIGN_OR_RETURN(least_us, judge_(graph));
    for (const ir::Node& original : graph.nodes()) {
      if (original.op != OpKind::Conv2d && original.op != OpKind::MatMul) continue;
      // Results keep their names; ids change with every rewrite.
      const std::string& result = graph.value(original.output).name;
      const auto found = llvm::find_if(best.nodes(), [&](const ir::Node& node) {
        return best.value(node.output).name == result;
      });
      const auto id = static_cast<ir::NodeId>(found - best.nodes().begin());
      std::optional<LowRankRewrite> chosen;
      const double before_us = least_us;
      std::vector<LowRankRewrite> forms = low_rank_forms(best, id, energy);
      for (LowRankRewrite& form : forms) {
        CODL_ASSIGN_OR_RETURN(us, judge_(form.graph));
        if (us >= least_us) continue;
        least_us = us;
        chosen = std::move(form);
      }
      if (!chosen) {
        untouched.push_back(llvm::formatv("{0}: full rank: {1}", original.name,
                                          forms.empty()
                                              ? "no form has fewer multiply-adds at this energy"
                                              : "the plan is not predicted to be faster with less")
                                .str());
        continue;
      }
      rewrites.push_back(llvm::formatv("{0}: {1} of rank {2}, {3:f1} us less", original.name,
                                       name_of(chosen->form), chosen->ranks, before_us - least_us)
                             .str());
      best = std::move(chosen->graph);
    }
    return best;
  }

  llvm::Expected<ir::Graph> low_rank(const ir::Graph& graph) {
    std::vector<std::string> rewrites, untouched;
    if (!options_.low_rank->is_auto) {
      CODL_ASSIGN_OR_RETURN(ranked,
                            low_rank_at(graph, options_.low_rank->value, rewrites, untouched));
      llvm::append_range(report_.rewrites, rewrites);
      llvm::append_range(report_.untouched, untouched);
      return ranked;
    }
    // The least energy within the budget: what is lost shrinks with what is kept.
    ir::Graph best = graph;
    size_t low = 0, high = std::size(kEnergies);
    while (low < high) {
      const size_t middle = (low + high) / 2;
      std::vector<std::string> tried, not_tried;
      CODL_ASSIGN_OR_RETURN(ranked, low_rank_at(graph, kEnergies[middle], tried, not_tried));
      CODL_ASSIGN_OR_RETURN(is_within, is_within_budget(ranked));
      if (is_within) {
        high = middle;
        best = std::move(ranked);
        rewrites = std::move(tried);
        untouched = std::move(not_tried);
      } else {
        low = middle + 1;
      }
    }
    if (low == std::size(kEnergies))
      report_.untouched.push_back("low rank: more is lost than the budget at every energy");
    llvm::append_range(report_.rewrites, rewrites);
    llvm::append_range(report_.untouched, untouched);
    return best;
  }

  // ---- pruning ----

  struct Pruner {
    const ir::Graph& graph;
    ChannelGroups groups;
    std::optional<ActivationMoments> moments;
    std::vector<std::vector<size_t>> order;  // by group: its channels, the least important first

    std::vector<const Channel*> removed(const std::vector<double>& ratios) const {
      std::vector<const Channel*> channels;
      for (size_t g = 0; g < groups.groups.size(); ++g)
        for (size_t i = 0; i < count_removed(g, ratios[g]); ++i)
          channels.push_back(&groups.groups[g].channels[order[g][i]]);
      return channels;
    }
    llvm::Expected<ir::Graph> with(const std::vector<double>& ratios) const {
      return pruned_and_repaired(graph, removed(ratios), moments ? &*moments : nullptr);
    }
    size_t count_removed(size_t group, double ratio) const {
      const auto count = static_cast<int32_t>(groups.groups[group].channels.size());
      return ratio <= 0 ? 0 : static_cast<size_t>(count - kept_channels(count, ratio));
    }
  };

  llvm::Expected<Pruner> make_pruner(const ir::Graph& graph) {
    Pruner pruner{graph, find_channel_groups(graph), {}, {}};
    if (calibration_) {
      CODL_ASSIGN_OR_RETURN(moments, ActivationMoments::collect(graph, *calibration_, fitted_));
      pruner.moments = std::move(moments);
    }
    const Importance importance =
        options_.importance.value_or(calibration_ ? Importance::Repair : Importance::L2);
    for (const std::vector<double>& values : importances(
             graph, pruner.groups, importance, pruner.moments ? &*pruner.moments : nullptr)) {
      std::vector<size_t>& order = pruner.order.emplace_back(values.size());
      for (size_t i = 0; i < order.size(); ++i) order[i] = i;
      llvm::stable_sort(order, [&](size_t a, size_t b) { return values[a] < values[b]; });
    }
    for (const HeldChannels& held : pruner.groups.held)
      report_.untouched.push_back(
          llvm::formatv("{0}: {1} channels are held by {2}", held.name, held.count, held.reason)
              .str());
    return pruner;
  }

  // With all weights fitted again, where there are data to fit to.
  llvm::Expected<ir::Graph> fitted(const Pruner& pruner, const std::vector<double>& ratios) {
    CODL_ASSIGN_OR_RETURN(pruned, pruner.with(ratios));
    const std::vector<const Channel*> removed = pruner.removed(ratios);
    if (!calibration_ || removed.empty()) return pruned;
    return refitted(pruner.graph, pruned, removed, *calibration_, fitted_);
  }

  // Ratios of groups without which the plan takes as long are taken back.
  llvm::Expected<std::vector<double>> keep_what_gains(const Pruner& pruner,
                                                      std::vector<double> ratios) {
    CODL_ASSIGN_OR_RETURN(all, pruner.with(ratios));
    CODL_ASSIGN_OR_RETURN(least_us, judge_(all));
    for (size_t g = 0; g < ratios.size(); ++g) {
      const ChannelGroup& group = pruner.groups.groups[g];
      const size_t removed = pruner.count_removed(g, ratios[g]);
      if (removed == 0) {
        report_.untouched.push_back(
            llvm::formatv("{0}: {1} channels stay: {2}", group.name, group.channels.size(),
                          ratios[g] > 0 ? "whole panels of kernels would be left as they are"
                                        : "what would be lost is beyond the budget")
                .str());
        continue;
      }
      std::vector<double> without = ratios;
      without[g] = 0;
      CODL_ASSIGN_OR_RETURN(candidate, pruner.with(without));
      CODL_ASSIGN_OR_RETURN(us, judge_(candidate));
      if (us <= least_us) {
        least_us = us;
        ratios = std::move(without);
        report_.untouched.push_back(
            llvm::formatv("{0}: {1} channels stay: the plan is not predicted to be faster without",
                          group.name, group.channels.size())
                .str());
      } else {
        report_.rewrites.push_back(llvm::formatv("{0}: {1} of {2} channels removed, {3:f1} us less",
                                                 group.name, removed, group.channels.size(),
                                                 us - least_us)
                                       .str());
      }
    }
    return ratios;
  }

  // By group and ratio: how far the outputs are off if only this group is pruned.
  llvm::Expected<std::vector<std::vector<double>>> sensitivities(const Pruner& pruner) {
    const double macs = std::max(macs_of(pruner.graph), 1.0);
    const size_t samples = std::min(std::clamp(static_cast<size_t>(kSensitivityMacs / macs),
                                               kLeastSensitivitySamples, kMostSensitivitySamples),
                                    fitted_.size());
    CODL_ASSIGN_OR_RETURN(meter,
                          DeviationMeter::make(pruner.graph, *calibration_,
                                               {fitted_.begin(), fitted_.begin() + samples}));
    std::vector<std::vector<double>> losses;
    for (size_t g = 0; g < pruner.groups.groups.size(); ++g) {
      losses.emplace_back();
      for (double ratio : kRatios) {
        std::vector<double> ratios(pruner.groups.groups.size(), 0);
        ratios[g] = ratio;
        CODL_ASSIGN_OR_RETURN(pruned, pruner.with(ratios));
        CODL_ASSIGN_OR_RETURN(deviation, meter.measure(pruned));
        losses.back().push_back(deviation.relative);
      }
    }
    return losses;
  }

  // Each group as far as its own loss stays below a tolerance, the largest that the budget allows.
  llvm::Expected<std::vector<double>> ratios_within_budget(const Pruner& pruner) {
    CODL_ASSIGN_OR_RETURN(losses, sensitivities(pruner));
    const auto ratios_at = [&](double tolerance) {
      std::vector<double> ratios(losses.size(), 0);
      for (size_t g = 0; g < losses.size(); ++g)
        for (size_t r = 0; r < std::size(kRatios) && losses[g][r] <= tolerance; ++r)
          ratios[g] = kRatios[r];
      return ratios;
    };
    std::vector<double> tolerances;
    for (const std::vector<double>& group : losses) llvm::append_range(tolerances, group);
    llvm::sort(tolerances);
    std::vector<double> best(losses.size(), 0);
    size_t low = 0, high = tolerances.size();
    for (int step = 0; step < kToleranceSteps && low < high; ++step) {
      const size_t middle = (low + high) / 2;
      std::vector<double> ratios = ratios_at(tolerances[middle]);
      CODL_ASSIGN_OR_RETURN(pruned, fitted(pruner, ratios));
      CODL_ASSIGN_OR_RETURN(is_within, is_within_budget(pruned));
      if (is_within) {
        best = std::move(ratios);
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return best;
  }

  llvm::Expected<ir::Graph> prune(const ir::Graph& graph) {
    CODL_ASSIGN_OR_RETURN(pruner, make_pruner(graph));
    std::vector<double> ratios(pruner.groups.groups.size(), options_.prune->value);
    if (options_.prune->is_auto) {
      CODL_ASSIGN_OR_RETURN(found, ratios_within_budget(pruner));
      ratios = std::move(found);
    }
    CODL_ASSIGN_OR_RETURN(gaining, keep_what_gains(pruner, ratios));
    CODL_ASSIGN_OR_RETURN(pruned, fitted(pruner, gaining));
    if (!options_.prune->is_auto) return pruned;
    // Without what was taken back the fit is another one: measured again.
    CODL_ASSIGN_OR_RETURN(is_within, is_within_budget(pruned));
    if (is_within) return pruned;
    report_.rewrites.clear();
    report_.untouched.push_back("pruning: more is lost than the budget");
    return graph;
  }

  const ir::Graph& untouched_;
  const CompressOptions& options_;
  const LatencyJudge& judge_;
  CompressReport& report_;
  std::optional<CalibrationData> calibration_;
  std::vector<size_t> fitted_;
  std::optional<DeviationMeter> meter_;
  Metric metric_ = Metric::Relative;
};

std::string text_of(const Deviation& deviation) {
  std::string text = llvm::formatv("relative {0:f5}, cosine {1:f5}, same top-1 {2:f2} %",
                                   deviation.relative, deviation.cosine, 100 * deviation.agreement)
                         .str();
  if (deviation.accuracy)
    text += llvm::formatv(", accuracy {0:f2} % (was {1:f2} %)", 100 * *deviation.accuracy,
                          100 * *deviation.accuracy_before)
                .str();
  return text + llvm::formatv(", {0} samples", deviation.samples).str();
}

}  // namespace

llvm::Expected<CompressReport> compress(ir::Graph& graph, const CompressOptions& options,
                                        const LatencyJudge& judge) {
  CompressReport report;
  const ir::Graph untouched = graph;
  CODL_ASSIGN_OR_RETURN(result, Compressor(untouched, options, judge, report).run());
  graph = std::move(result);
  return report;
}

void print(const CompressReport& report, llvm::raw_ostream& os) {
  if (report.steps.empty()) return;
  os << "compressed:             predicted ms      MMACs  weights MB  deviation on samples not "
        "fitted to\n";
  for (const CompressReport::Step& step : report.steps)
    os << llvm::formatv("  {0,-20} {1,12:f3} {2,10:f2} {3,11:f3}  {4}\n", step.what,
                        step.cost.predicted_us / 1e3, step.cost.macs / 1e6,
                        step.cost.weight_bytes / 1e6,
                        step.deviation ? text_of(*step.deviation) : "not measured");
  for (const std::string& line : report.rewrites) os << "  " << line << "\n";
  for (const std::string& line : report.untouched) os << "  untouched: " << line << "\n";
}

}  // namespace codl::compiler
