#include "compiler/shrink/pruning_search.h"

#include <algorithm>
#include <cmath>

#include "compiler/ops/multiply_adds.h"
#include "compiler/support/error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace codl::compiler {
namespace {

// A search looks at kRatioSteps shares up to kMaxRatio of a group's channels, and tries at most
// kMaxLevels of the numbers of channels that they leave.
constexpr double kMaxRatio = 0.875;
constexpr int kRatioSteps = 56;
constexpr size_t kMaxLevels = 10;
// Prices of an error between "everything goes" and "nothing goes". The search halves a range of
// decades.
constexpr double kMinPrice = 1e-3, kMaxPrice = 1e15;  // microseconds for all of the output
constexpr size_t kPriceSteps = 12, kFinePriceSteps = 40;
// This many groups are tried with more removed, one after the other, when a price is found.
constexpr size_t kRefinements = 12;
// Measuring one group of channels may take this many multiply-adds and samples.
constexpr double kSensitivityMacs = 5e9;
constexpr size_t kMinSensitivitySamples = 4, kMaxSensitivitySamples = 64;

std::string text_of(const Pruner::Ratios& ratios) {
  std::string text;
  for (double ratio : ratios) text += llvm::formatv(" {0:f3}", ratio).str();
  return text;
}

}  // namespace

llvm::Expected<Pruner> Pruner::make(const ir::Graph& graph, CalibrationData* calibration,
                                    std::vector<size_t> samples) {
  Pruner pruner;
  pruner.graph_ = &graph;
  pruner.groups_ = find_channel_groups(graph);
  pruner.calibration_ = calibration;
  pruner.samples_ = std::move(samples);
  if (calibration != nullptr) {
    CODL_ASSIGN_OR_RETURN(moments,
                          ActivationMoments::collect(graph, *calibration, pruner.samples_));
    pruner.moments_ = std::move(moments);
  }
  for (const std::vector<double>& values :
       importances(graph, pruner.groups_, pruner.moments_ ? &*pruner.moments_ : nullptr)) {
    std::vector<size_t>& order = pruner.order_.emplace_back(values.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    llvm::stable_sort(order, [&](size_t a, size_t b) { return values[a] < values[b]; });
  }
  return pruner;
}

size_t Pruner::count_removed(size_t group, double ratio) const {
  const auto count = static_cast<int32_t>(groups_.groups[group].channels.size());
  return ratio <= 0 ? 0 : static_cast<size_t>(count - kept_channels(count, ratio));
}

std::vector<const Channel*> Pruner::removed(const Ratios& ratios) const {
  std::vector<const Channel*> channels;
  for (size_t g = 0; g < groups_.groups.size(); ++g)
    for (size_t i = 0; i < count_removed(g, ratios[g]); ++i)
      channels.push_back(&groups_.groups[g].channels[order_[g][i]]);
  return channels;
}

std::vector<double> Pruner::levels(size_t group) const {
  std::vector<double> all;
  size_t most = 0;
  for (int step = 1; step <= kRatioSteps; ++step) {
    const double ratio = kMaxRatio * step / kRatioSteps;
    if (count_removed(group, ratio) == most) continue;
    most = count_removed(group, ratio);
    all.push_back(ratio);
  }
  if (all.size() <= kMaxLevels) return all;
  std::vector<double> some;
  for (size_t i = 1; i <= kMaxLevels; ++i) some.push_back(all[i * all.size() / kMaxLevels - 1]);
  return some;
}

llvm::Expected<ir::Graph> Pruner::cut(const Ratios& ratios) const {
  return without_channels(*graph_, removed(ratios));
}

llvm::Expected<ir::Graph> Pruner::repaired(const Ratios& ratios) const {
  return pruned_and_repaired(*graph_, removed(ratios), moments_ ? &*moments_ : nullptr);
}

llvm::Expected<ir::Graph> Pruner::fitted(const Ratios& ratios) const {
  CODL_ASSIGN_OR_RETURN(pruned, repaired(ratios));
  const std::vector<const Channel*> gone = removed(ratios);
  if (calibration_ == nullptr || gone.empty()) return pruned;
  return refitted(*graph_, pruned, gone, *calibration_, samples_);
}

size_t PruningSearch::most_steps(const Pruner& pruner) {
  return pruner.groups().groups.size() + kPriceSteps + kRefinements;
}

llvm::Error PruningSearch::measure_alone(WhyKept promising) {
  double macs = 1;
  for (const ir::Node& node : pruner_.graph().nodes())
    macs += multiply_adds(ir::NodeView{pruner_.graph(), node});
  const size_t samples = std::min(std::clamp(static_cast<size_t>(kSensitivityMacs / macs),
                                             kMinSensitivitySamples, kMaxSensitivitySamples),
                                  pruner_.samples().size());
  CODL_ASSIGN_OR_RETURN(meter, DeviationMeter::make(pruner_.graph(), pruner_.calibration(),
                                                    pruner_.samples().take_front(samples).vec()));
  const size_t count = pruner_.groups().groups.size();
  CODL_ASSIGN_OR_RETURN(untouched_us, us_of(Pruner::Ratios(count, 0)));
  untouched_us_ = untouched_us;
  for (size_t g = 0; g < count; ++g) {
    alone_.emplace_back();
    for (double ratio : pruner_.levels(g)) {
      Pruner::Ratios ratios(count, 0);
      ratios[g] = ratio;
      CODL_ASSIGN_OR_RETURN(us, us_of(ratios));
      CODL_ASSIGN_OR_RETURN(
          error, log_.number("error of" + text_of(ratios), [&]() -> llvm::Expected<double> {
            CODL_ASSIGN_OR_RETURN(pruned, pruner_.repaired(ratios));
            CODL_ASSIGN_OR_RETURN(deviation, meter.measure(pruned));
            return deviation.relative;
          }));
      alone_.back().push_back({ratio, us, error * error});
    }
    why_kept_.push_back(further(g, 0) != nullptr ? promising : WhyKept::SavesTooLittle);
    step(pruner_.groups().groups[g].name);
  }
  return llvm::Error::success();
}

Pruner::Ratios PruningSearch::at_price(double price, Adding adding) const {
  Pruner::Ratios ratios(alone_.size(), 0);
  for (size_t g = 0; g < alone_.size(); ++g) {
    double least = untouched_us_;
    for (const Alone& alone : alone_[g]) {
      if (!is_worth_it(untouched_us_, alone.us, untouched_us_, least_gain_)) continue;
      const double loss = adding == Adding::Squares ? alone.loss : std::sqrt(alone.loss);
      const double cost = alone.us + price * loss;
      if (!(cost < least)) continue;
      least = cost;
      ratios[g] = alone.ratio;
    }
  }
  return ratios;
}

const PruningSearch::Alone* PruningSearch::further(size_t group, double ratio) const {
  const auto has_ratio = [&](const Alone& alone) { return alone.ratio == ratio; };
  const auto present = llvm::find_if(alone_[group], has_ratio);
  const double present_us = present == alone_[group].end() ? untouched_us_ : present->us;
  const auto found = llvm::find_if(alone_[group], [&](const Alone& alone) {
    return alone.ratio > ratio && is_worth_it(present_us, alone.us, untouched_us_);
  });
  return found == alone_[group].end() ? nullptr : &*found;
}

llvm::Expected<double> PruningSearch::us_of(const Pruner::Ratios& ratios) {
  return log_.number("us of" + text_of(ratios), [&]() -> llvm::Expected<double> {
    CODL_ASSIGN_OR_RETURN(cut, pruner_.cut(ratios));
    return judge_(cut);
  });
}

llvm::Expected<double> PruningSearch::loss_of(const Pruner::Ratios& ratios) {
  return log_.number("loss of" + text_of(ratios), [&]() -> llvm::Expected<double> {
    CODL_ASSIGN_OR_RETURN(fitted, pruner_.fitted(ratios));
    return loss_(fitted);
  });
}

// Moves one group at a time a step further, first those that are expected to gain most for an
// error.
llvm::Expected<Pruner::Ratios> PruningSearch::refined(Pruner::Ratios best, double budget) {
  CODL_ASSIGN_OR_RETURN(least_us, us_of(best));
  std::vector<bool> is_done(best.size(), false);
  for (size_t trial = 0; trial < kRefinements; ++trial) {
    std::optional<size_t> group;
    double most = 0, to = 0;
    for (size_t g = 0; g < best.size(); ++g) {
      if (is_done[g]) continue;
      const Alone* next = further(g, best[g]);
      if (next == nullptr) continue;
      const double worth = (untouched_us_ - next->us) / (next->loss + 1e-12);
      if (worth <= most) continue;
      most = worth;
      group = g;
      to = next->ratio;
    }
    if (!group) break;
    Pruner::Ratios tried = best;
    tried[*group] = to;
    CODL_ASSIGN_OR_RETURN(us, us_of(tried));
    bool is_better = is_worth_it(least_us, us, untouched_us_);
    if (!is_better) why_kept_[*group] = WhyKept::SavesTooLittle;
    if (is_better) {
      CODL_ASSIGN_OR_RETURN(loss, loss_of(tried));
      is_better = loss <= budget;
      if (!is_better) why_kept_[*group] = WhyKept::LosesTooMuch;
      step("refinement");
    }
    if (is_better) {
      best = std::move(tried);
      least_us = us;
    } else {
      is_done[*group] = true;
    }
  }
  return best;
}

llvm::Expected<Pruner::Ratios> PruningSearch::within_budget(double budget) {
  if (llvm::Error error = measure_alone(WhyKept::IsNotTried)) return error;
  Pruner::Ratios best(alone_.size(), 0);
  double low = std::log(kMinPrice), high = std::log(kMaxPrice);
  for (size_t i = 0; i < kPriceSteps; ++i) {
    const double middle = (low + high) / 2;
    Pruner::Ratios ratios = at_price(std::exp(middle), Adding::Squares);
    CODL_ASSIGN_OR_RETURN(loss, loss_of(ratios));
    step("price of an error");
    if (loss <= budget) {
      best = std::move(ratios);
      high = middle;
    } else {
      low = middle;
    }
  }
  return refined(std::move(best), budget);
}

// Takes back steps of single groups where the latency allows it, those first that lose most.
llvm::Expected<Pruner::Ratios> PruningSearch::given_back(Pruner::Ratios ratios, double us) {
  while (true) {
    std::optional<Pruner::Ratios> better;
    double most = 0;
    for (size_t g = 0; g < ratios.size(); ++g) {
      std::vector<Alone> fewer = {{0, untouched_us_, 0}};
      llvm::append_range(fewer, alone_[g]);
      const double loss =
          llvm::find_if(fewer, [&](const Alone& alone) { return alone.ratio == ratios[g]; })->loss;
      for (const Alone& less : fewer) {
        if (less.ratio >= ratios[g] || !(loss - less.loss > most)) continue;
        Pruner::Ratios tried = ratios;
        tried[g] = less.ratio;
        CODL_ASSIGN_OR_RETURN(tried_us, us_of(tried));
        if (tried_us > us) continue;
        most = loss - less.loss;
        better = std::move(tried);
      }
    }
    if (!better) return ratios;
    ratios = std::move(*better);
  }
}

llvm::Expected<Pruner::Ratios> PruningSearch::at_latency(double us, Adding adding) {
  double low = std::log(kMinPrice), high = std::log(kMaxPrice);
  std::optional<Pruner::Ratios> best;
  // The first try is the most that may go.
  for (size_t i = 0; i < kFinePriceSteps; ++i) {
    const double middle = i == 0 ? low : (low + high) / 2;
    Pruner::Ratios ratios = at_price(std::exp(middle), adding);
    CODL_ASSIGN_OR_RETURN(found_us, us_of(ratios));
    if (i == 0 && found_us > us)
      return make_error(ExitCode::Limit, "--latency-cut",
                        llvm::formatv("expected a plan of {0:f3} ms at most (untouched {1:f3} ms), "
                                      "found {2:f3} ms with as much removed as is tried",
                                      us / 1e3, untouched_us_ / 1e3, found_us / 1e3)
                            .str());
    if (found_us <= us) {
      best = std::move(ratios);
      low = middle;
    } else {
      high = middle;
    }
  }
  return given_back(std::move(*best), us);
}

llvm::Expected<Pruner::Ratios> PruningSearch::within_latency(double us) {
  least_gain_ = 0;  // many small groups may reach it together
  if (llvm::Error error = measure_alone(WhyKept::IsNotNeeded)) return error;
  CODL_ASSIGN_OR_RETURN(by_squares, at_latency(us, Adding::Squares));
  CODL_ASSIGN_OR_RETURN(by_errors, at_latency(us, Adding::Errors));
  CODL_ASSIGN_OR_RETURN(loss_by_squares, loss_of(by_squares));
  step("first candidate");
  CODL_ASSIGN_OR_RETURN(loss_by_errors, loss_of(by_errors));
  step("second candidate");
  return loss_by_errors < loss_by_squares ? by_errors : by_squares;
}

}  // namespace codl::compiler
