#include "compiler/shrink/shrink.h"

#include <algorithm>
#include <limits>

#include "compiler/ops/multiply_adds.h"
#include "compiler/passes/passes.h"
#include "compiler/shrink/byte_search.h"
#include "compiler/shrink/least_gain.h"
#include "compiler/shrink/low_rank.h"
#include "compiler/shrink/pruning_search.h"
#include "compiler/support/error.h"
#include "compiler/support/hash.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

namespace codl::compiler {
namespace {

// `auto` tries these energies, from the loosest on.
constexpr double kEnergies[] = {0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999};
constexpr size_t kEnergySteps = 4;  // how often they are halved

// The loss of a node alone tells its place among others, not whether the budget is kept.
constexpr size_t kMaxAloneSamples = 4;

double macs_of(const ir::Graph& graph) {
  double macs = 0;
  for (const ir::Node& node : graph.nodes()) macs += multiply_adds(ir::NodeView{graph, node});
  return macs;
}

// Returns the text of a graph and its constants, of which a hash stands for it.
std::string whole_text_of(const ir::Graph& graph) {
  std::string text = ir::print(graph);
  for (const ir::Value& value : graph.values())
    if (value.is_constant)
      text +=
          to_hex(hash_of({reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()}));
  return text;
}

class Shrinker {
 public:
  Shrinker(const ir::Graph& untouched, const ShrinkOptions& options, const LatencyJudge& judge,
           ShrinkReport& report)
      : untouched_(untouched), options_(options), judge_(judge), report_(report) {}

  llvm::Expected<ir::Graph> run() {
    if (llvm::Error error = open_calibration()) return error;
    CODL_ASSIGN_OR_RETURN(log, SearchLog::open(options_.search_log, search_key()));
    log_ = std::move(log);
    if (llvm::Error error = add_step("none", untouched_)) return error;
    if (llvm::Error error = check_predictions()) return error;
    ir::Graph pruned = untouched_;
    if (options_.prune) {
      CODL_ASSIGN_OR_RETURN(result, prune(untouched_));
      pruned = std::move(result);
      if (llvm::Error error = add_step("pruning", pruned)) return error;
    }
    ir::Graph smaller = std::move(pruned);
    if (options_.low_rank) {
      CODL_ASSIGN_OR_RETURN(ranked, low_rank(smaller));
      smaller = std::move(ranked);
      if (llvm::Error error = add_step(options_.prune ? "pruning, low rank" : "low rank", smaller))
        return error;
    }
    if (options_.asks_for_bytes()) {
      CODL_ASSIGN_OR_RETURN(in_bytes, to_bytes(std::move(smaller)));
      smaller = std::move(in_bytes);
    }
    warn_of_loss();
    return smaller;
  }

 private:
  bool is_auto() const {
    return (options_.low_rank && options_.low_rank->is_auto) ||
           (options_.prune && options_.prune->is_auto) || options_.asks_for_bytes();
  }

  // If no prediction can be lost, auto would leave next to nothing of the network.
  llvm::Error check_predictions() const {
    if (!is_auto() || !calibration_->has_labels()) return llvm::Error::success();
    const int64_t classes = untouched_.value(untouched_.outputs()[0]).type.element_count();
    if (classes < 2)
      return input_error(options_.calibration,
                         "expected no labels.npy, as the first output has one element, found one");
    if (is_strict()) return llvm::Error::success();
    const double accuracy = *report_.steps.front().deviation->accuracy_before;
    if (accuracy * static_cast<double>(classes) > 1) return llvm::Error::success();
    return input_error(options_.calibration,
                       "expected labels.npy with labels that the network gets right more often "
                       "than by guessing, or no labels.npy, found {0:f2} % right",
                       100 * accuracy);
  }

  llvm::Error open_calibration() {
    if (options_.calibration.empty()) {
      if (options_.asks_for_bytes())
        return input_error("--calibration",
                           "expected a folder with --precision=int8, whose ranges and loss come "
                           "from it, found none");
      if (is_auto())
        return input_error("--calibration",
                           "expected a folder with --low-rank=auto and --prune=auto, found none");
      if (options_.latency_cut)
        return input_error("--latency-cut", "expected --prune=auto beside it, found none");
      if (!options_.is_unchecked)
        return input_error(options_.prune ? "--prune" : "--low-rank",
                           "expected --calibration=DIR to measure what the network loses, or "
                           "--unchecked to leave that open, found neither");
      return llvm::Error::success();
    }
    if (options_.is_unchecked)
      return input_error("--unchecked", "expected it without --calibration, found both");
    CODL_ASSIGN_OR_RETURN(opened, CalibrationData::open(options_.calibration, untouched_));
    calibration_ = std::move(opened);
    // Every other sample is for measuring.
    std::vector<size_t> held_out;
    for (size_t i = 0; i < calibration_->count(); ++i)
      (i % 2 == 0 ? fitted_ : held_out).push_back(i);
    CODL_ASSIGN_OR_RETURN(meter, DeviationMeter::make(untouched_, *calibration_, held_out));
    meter_ = std::move(meter);
    if (options_.latency_cut && !(options_.prune && options_.prune->is_auto))
      return input_error("--latency-cut", "expected --prune=auto beside it, found none");
    return llvm::Error::success();
  }

  // Returns a key of everything that the numbers of a search depend on.
  uint64_t search_key() const {
    std::string text = whole_text_of(untouched_) + options_.judged_by;
    if (calibration_) text += to_hex(calibration_->hash());
    return hash_of(text + (is_strict() ? " strict" : ""));
  }

  void tell(size_t most_steps, const std::string& step) const {
    if (options_.on_step) options_.on_step(most_steps, step);
  }

  double untouched_us() const { return report_.steps.front().cost.predicted_us; }

  // Returns the time that a plan may take with the cut asked for.
  double most_us() const {
    return options_.latency_cut ? untouched_us() * (1 - *options_.latency_cut)
                                : std::numeric_limits<double>::infinity();
  }

  static std::string saves_too_little() {
    return llvm::formatv("less than {0:f1} % of the untouched plan's time would be saved",
                         100 * kMinGain)
        .str();
  }

  // With labels and a budget of 0 no prediction may change.
  bool is_strict() const {
    return calibration_ && calibration_->has_labels() && options_.budget == 0;
  }

  // Returns the loss that the budget limits.
  llvm::Expected<double> loss_of(const ir::Graph& graph) const {
    if (!meter_) return 0;
    CODL_ASSIGN_OR_RETURN(deviation, meter_->measure(graph));
    return loss_of(deviation);
  }

  double loss_of(const Deviation& deviation) const {
    return is_strict() ? 1 - deviation.agreement : deviation.loss();
  }

  // A ratio is kept whatever it loses.
  void warn_of_loss() const {
    const std::optional<Deviation>& deviation = report_.steps.back().deviation;
    if (!deviation || loss_of(*deviation) <= options_.budget) return;  // false if not a number
    report_.warning =
        llvm::formatv(
            "{0} loses {1:f2} % ({2}) on the {3} samples measured, more than the {4:f2} % "
            "of --accuracy-budget; auto in place of a ratio stays within them",
            report_.steps.back().what, 100 * loss_of(*deviation), deviation->loss_name(),
            deviation->samples, 100 * options_.budget)
            .str();
  }

  llvm::Error add_step(const char* what, const ir::Graph& graph) {
    ShrinkReport::Step step;
    step.what = what;
    CODL_ASSIGN_OR_RETURN(us, judge_(graph));
    step.cost.predicted_us = us;
    step.cost.macs = macs_of(graph);
    ir::Graph on_grids = graph;
    if (llvm::Error error = find_grids(on_grids)) return error;
    for (const ir::Value& value : on_grids.values())
      step.cost.weight_bytes +=
          static_cast<double>(value.bytes.size()) / (value.has_channel_grids ? sizeof(float) : 1);
    if (meter_) {
      CODL_ASSIGN_OR_RETURN(deviation, meter_->measure(graph));
      step.deviation = deviation;
    }
    report_.steps.push_back(std::move(step));
    return llvm::Error::success();
  }

  // ---- bytes ----

  llvm::Expected<ir::Graph> to_bytes(ir::Graph floats) {
    const size_t samples = affordable_samples(floats);
    CODL_ASSIGN_OR_RETURN(
        quantizer, Quantizer::make(floats, &*calibration_, calibration_->some_of(0, samples)));
    CODL_ASSIGN_OR_RETURN(few, DeviationMeter::make(floats, *calibration_,
                                                    calibration_->some_of(1, kMaxAloneSamples)));
    ByteJudge judge;
    judge.loss = [&](const ir::Graph& graph) { return loss_of(graph); };
    judge.loss_alone = [&](const ir::Graph& graph) -> llvm::Expected<double> {
      CODL_ASSIGN_OR_RETURN(deviation, few.measure(graph));
      return deviation.relative;
    };
    judge.on_step = options_.on_step;
    CODL_ASSIGN_OR_RETURN(chosen, choose_bytes(quantizer, options_.budget, judge, *log_,
                                               to_hex(hash_of(whole_text_of(floats)))));
    std::vector<bool>& is_in_bytes = chosen.is_in_bytes;
    CODL_ASSIGN_OR_RETURN(quantized, quantizer.quantized(is_in_bytes));
    bool is_taken = llvm::is_contained(is_in_bytes, true);
    if (is_taken && options_.bytes == Bytes8::IfFaster) {
      CODL_ASSIGN_OR_RETURN(us, judge_(quantized));
      is_taken = is_worth_it(report_.steps.back().cost.predicted_us, us, untouched_us());
    }
    for (size_t i = 0; i < is_in_bytes.size(); ++i) {
      const char* const reason = !is_in_bytes[i] ? kLosesMost : is_taken ? "" : kIsNotFaster;
      report_.byte_nodes.push_back(
          {floats.node(quantizer.nodes()[i]).name, reason, chosen.losses_alone[i]});
    }
    if (!is_taken) {
      if (options_.bytes == Bytes8::Always)
        report_.warning = is_in_bytes.empty()
                              ? "no convolution or product of floats is there to multiply bytes"
                              : "no node multiplies bytes: all would lose more than the "
                                "--accuracy-budget";
      return floats;
    }
    const std::string& before = report_.steps.back().what;
    const std::string what = report_.steps.size() == 1 ? "bytes" : before + ", bytes";
    if (llvm::Error error = add_step(what.c_str(), quantized)) return error;
    report_.floats = std::move(floats);
    return quantized;
  }

  static constexpr char kLosesMost[] =
      "with it in bytes, more would be lost than --accuracy-budget";
  static constexpr char kIsNotFaster[] = "bytes are not predicted to be faster";

  // ---- low rank ----

  static std::string low_rank_question(double energy, ir::ValueId value,
                                       const LowRankRewrite& form) {
    return llvm::formatv("us of low rank {0} of value {1}, {2} {3}", energy, value,
                         name_of(form.form), form.ranks)
        .str();
  }

  // Gives each node of `graph` the form that makes the plan shortest, if one does.
  llvm::Expected<ir::Graph> low_rank_at(const ir::Graph& graph, double energy,
                                        std::vector<std::string>& rewrites,
                                        std::vector<std::string>& untouched) {
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
      double chosen_us = std::numeric_limits<double>::infinity();
      std::vector<LowRankRewrite> forms = low_rank_forms(best, id, energy);
      for (LowRankRewrite& form : forms) {
        CODL_ASSIGN_OR_RETURN(us, log_->number(low_rank_question(energy, original.output, form),
                                               [&] { return judge_(form.graph); }));
        if (us >= chosen_us || !is_worth_it(least_us, us, untouched_us())) continue;
        chosen_us = us;
        chosen = std::move(form);
      }
      if (!chosen) {
        untouched.push_back(original.name + ": full rank: " +
                            (forms.empty() ? "no form has fewer multiply-adds at this energy"
                                           : saves_too_little()));
        continue;
      }
      rewrites.push_back(llvm::formatv("{0}: {1} of rank {2}, {3:f3} ms less", original.name,
                                       name_of(chosen->form), chosen->ranks,
                                       (least_us - chosen_us) / 1e3)
                             .str());
      least_us = chosen_us;
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
    // Searches for the least energy within the budget: the loss shrinks as more is kept.
    ir::Graph best = graph;
    size_t low = 0, high = std::size(kEnergies);
    while (low < high) {
      const size_t middle = (low + high) / 2;
      std::vector<std::string> tried, not_tried;
      CODL_ASSIGN_OR_RETURN(ranked, low_rank_at(graph, kEnergies[middle], tried, not_tried));
      CODL_ASSIGN_OR_RETURN(loss, loss_of(ranked));
      tell(kEnergySteps, "energy of low rank");
      if (loss <= options_.budget) {
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

  llvm::Expected<Pruner> make_pruner(const ir::Graph& graph) {
    CODL_ASSIGN_OR_RETURN(pruner,
                          Pruner::make(graph, calibration_ ? &*calibration_ : nullptr, fitted_));
    for (const HeldChannels& held : pruner.groups().held)
      report_.untouched.push_back(
          llvm::formatv("{0}: {1} channels are held by {2}", held.name, held.count, held.reason)
              .str());
    return pruner;
  }

  // Holds, per group, the share of channels to remove, and why none is removed if none is.
  struct Chosen {
    Pruner::Ratios ratios;
    std::vector<std::string> why_kept;
  };

  static std::string text_of(PruningSearch::WhyKept why) {
    switch (why) {
      case PruningSearch::WhyKept::SavesTooLittle:
        return saves_too_little();
      case PruningSearch::WhyKept::IsNotNeeded:
        return "the cut is reached without it";
      case PruningSearch::WhyKept::LosesTooMuch:
        return "what would be lost is beyond the budget";
      case PruningSearch::WhyKept::IsNotTried:
        return "not tried, others promise more for a loss";
    }
    __builtin_unreachable();
  }

  void report_kept(const ChannelGroup& group, const std::string& why) {
    report_.untouched.push_back(
        llvm::formatv("{0}: {1} channels stay: {2}", group.name, group.channels.size(), why).str());
  }

  // Ratios of groups that are not worth it are taken back, as far as a cut asked for allows.
  llvm::Expected<Pruner::Ratios> keep_what_gains(const Pruner& pruner, const Chosen& chosen) {
    Pruner::Ratios ratios = chosen.ratios;
    CODL_ASSIGN_OR_RETURN(all, pruner.cut(ratios));
    CODL_ASSIGN_OR_RETURN(least_us, judge_(all));
    for (size_t g = 0; g < ratios.size(); ++g) {
      const ChannelGroup& group = pruner.groups().groups[g];
      const size_t removed = pruner.count_removed(g, ratios[g]);
      if (removed == 0) {
        report_kept(group, chosen.why_kept[g]);
        continue;
      }
      Pruner::Ratios without = ratios;
      without[g] = 0;
      CODL_ASSIGN_OR_RETURN(candidate, pruner.cut(without));
      CODL_ASSIGN_OR_RETURN(us, judge_(candidate));
      if (us <= most_us() && !is_worth_it(us, least_us, untouched_us())) {
        least_us = us;
        ratios = std::move(without);
        report_kept(group, saves_too_little());
      } else {
        report_.rewrites.push_back(llvm::formatv("{0}: {1} of {2} channels removed, {3:f3} ms less",
                                                 group.name, removed, group.channels.size(),
                                                 (us - least_us) / 1e3)
                                       .str());
      }
    }
    return ratios;
  }

  llvm::Expected<Chosen> searched_ratios(const Pruner& pruner) {
    const size_t most_steps = PruningSearch::most_steps(pruner);
    PruningSearch search(
        pruner, judge_, [this](const ir::Graph& graph) { return loss_of(graph); }, *log_,
        [this, most_steps](const std::string& step) { tell(most_steps, step); });
    CODL_ASSIGN_OR_RETURN(ratios, options_.latency_cut ? search.within_latency(most_us())
                                                       : search.within_budget(options_.budget));
    Chosen chosen{std::move(ratios), {}};
    for (size_t g = 0; g < chosen.ratios.size(); ++g)
      chosen.why_kept.push_back(text_of(search.why_kept(g)));
    return chosen;
  }

  llvm::Expected<ir::Graph> prune(const ir::Graph& shared) {
    const ir::Graph graph = with_own_vectors(shared);
    CODL_ASSIGN_OR_RETURN(pruner, make_pruner(graph));
    const size_t groups = pruner.groups().groups.size();
    Chosen chosen{Pruner::Ratios(groups, options_.prune->value),
                  std::vector<std::string>(groups, "no whole panel of the kernels would go")};
    if (options_.prune->is_auto) {
      CODL_ASSIGN_OR_RETURN(found, searched_ratios(pruner));
      chosen = std::move(found);
    }
    const Pruner::Ratios& ratios = chosen.ratios;
    const size_t untouched_lines = report_.untouched.size();
    CODL_ASSIGN_OR_RETURN(gaining, keep_what_gains(pruner, chosen));
    if (report_.rewrites.empty()) return shared;
    CODL_ASSIGN_OR_RETURN(pruned, pruner.fitted(gaining));
    if (!options_.prune->is_auto) return pruned;
    // Without the channels that were taken back the fit differs, so the loss is measured again.
    CODL_ASSIGN_OR_RETURN(loss, loss_of(pruned));
    if (loss <= options_.budget) return pruned;  // false where it is not a number
    if (options_.latency_cut)
      return make_error(
          ExitCode::Limit, "--latency-cut",
          llvm::formatv("expected a loss of at most {0:f2} % (--accuracy-budget), "
                        "found {1:f2} % at {2:f1} % less latency",
                        100 * options_.budget, 100 * loss, 100 * *options_.latency_cut)
              .str());
    // The search kept within the budget, but nothing gained enough.
    report_.rewrites.clear();
    report_.untouched.resize(untouched_lines);
    for (size_t g = 0; g < ratios.size(); ++g) {
      const ChannelGroup& group = pruner.groups().groups[g];
      if (const size_t removed = pruner.count_removed(g, ratios[g]))
        report_.rewrites.push_back(llvm::formatv("{0}: {1} of {2} channels removed", group.name,
                                                 removed, group.channels.size())
                                       .str());
      else
        report_kept(group, chosen.why_kept[g]);
    }
    return pruner.fitted(ratios);
  }

  const ir::Graph& untouched_;
  const ShrinkOptions& options_;
  const LatencyJudge& judge_;
  ShrinkReport& report_;
  std::optional<CalibrationData> calibration_;
  std::vector<size_t> fitted_;
  std::optional<DeviationMeter> meter_;
  std::optional<SearchLog> log_;
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

llvm::Expected<ShrinkReport> shrink(ir::Graph& graph, const ShrinkOptions& options,
                                    const LatencyJudge& judge) {
  ShrinkReport report;
  const ir::Graph untouched = graph;
  CODL_ASSIGN_OR_RETURN(result, Shrinker(untouched, options, judge, report).run());
  graph = std::move(result);
  return report;
}

void print(const ShrinkReport& report, llvm::raw_ostream& os) {
  if (report.steps.empty()) return;
  os << "made smaller:           predicted ms      MMACs  weights MB  deviation on samples not "
        "fitted to\n";
  for (const ShrinkReport::Step& step : report.steps)
    os << llvm::formatv("  {0,-20} {1,12:f3} {2,10:f2} {3,11:f3}  {4}\n", step.what,
                        step.cost.predicted_us / 1e3, step.cost.macs / 1e6,
                        step.cost.weight_bytes / 1e6,
                        step.deviation ? text_of(*step.deviation) : "not measured");
  for (const std::string& line : report.rewrites) os << "  " << line << "\n";
  for (const std::string& line : report.untouched) os << "  untouched: " << line << "\n";
}

}  // namespace codl::compiler
