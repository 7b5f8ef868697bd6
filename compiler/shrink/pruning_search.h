// Finds how many channels of each group to remove: as many as a budget of loss allows, or as a
// latency needs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/shrink/least_gain.h"
#include "compiler/shrink/pruning.h"
#include "compiler/shrink/search_log.h"
#include "compiler/shrink/shrink.h"

namespace codl::compiler {

// Holds a network and its groups of channels. A ratio is the share of a group's channels to remove.
class Pruner {
 public:
  using Ratios = std::vector<double>;

  // `calibration` may be null: nothing is repaired or fitted then. Borrows both.
  static llvm::Expected<Pruner> make(const ir::Graph& graph, CalibrationData* calibration,
                                     std::vector<size_t> samples);

  const ir::Graph& graph() const { return *graph_; }
  const ChannelGroups& groups() const { return groups_; }
  CalibrationData& calibration() const { return *calibration_; }
  llvm::ArrayRef<size_t> samples() const { return samples_; }
  size_t count_removed(size_t group, double ratio) const;
  // Returns the ratios that a search tries, the least first: each leaves another number of
  // channels.
  std::vector<double> levels(size_t group) const;

  // Removes channels and leaves the other weights as they were, which is enough to predict a
  // latency.
  llvm::Expected<ir::Graph> cut(const Ratios& ratios) const;
  // Lets the weights that read removed channels make up for them from the channels that stay.
  llvm::Expected<ir::Graph> repaired(const Ratios& ratios) const;
  // Fits all weights again.
  llvm::Expected<ir::Graph> fitted(const Ratios& ratios) const;

 private:
  std::vector<const Channel*> removed(const Ratios& ratios) const;

  const ir::Graph* graph_ = nullptr;
  ChannelGroups groups_;
  CalibrationData* calibration_ = nullptr;
  std::vector<size_t> samples_;  // to fit to
  std::optional<ActivationMoments> moments_;
  // Holds, by group, its channels, the least important first.
  std::vector<std::vector<size_t>> order_;
};

// Every step is a question of a SearchLog.
class PruningSearch {
 public:
  // `loss` returns what a network loses. `on_step` is called at steps that take time; it may be
  // null.
  PruningSearch(const Pruner& pruner, const LatencyJudge& judge,
                std::function<llvm::Expected<double>(const ir::Graph& graph)> loss, SearchLog& log,
                std::function<void(const std::string& step)> on_step)
      : pruner_(pruner),
        judge_(judge),
        loss_(std::move(loss)),
        log_(log),
        on_step_(std::move(on_step)) {}

  // Calls of on_step, at most.
  static size_t most_steps(const Pruner& pruner);

  // Returns the ratios of least latency found with a loss of at most `budget`; all zero where there
  // are none.
  llvm::Expected<Pruner::Ratios> within_budget(double budget);
  // Returns the ratios of least loss at a latency of at most `us`. Returns a Limit error where
  // removing as much as is tried takes longer.
  llvm::Expected<Pruner::Ratios> within_latency(double us);
  // Says why nothing of a group is removed, after a search.
  enum class WhyKept {
    SavesTooLittle,  // alone, or beside what goes of the others
    IsNotNeeded,     // the latency asked for is reached without it
    LosesTooMuch,    // beside what goes of the others
    IsNotTried,      // there were kRefinements that promised more
  };
  WhyKept why_kept(size_t group) const { return why_kept_[group]; }

 private:
  // Holds the numbers of one group pruned alone.
  struct Alone {
    double ratio = 0;
    double us = 0;    // predicted
    double loss = 0;  // square of the outputs' relative error
  };

  // Says how errors of groups add up: as their squares, if they have nothing to do with each other,
  // or all in one direction.
  enum class Adding { Squares, Errors };

  // `promising` says why a group stays that saves the least gain alone, as long as nothing else is
  // known.
  llvm::Error measure_alone(WhyKept promising);
  // Returns for each group the ratio that is cheapest if an error costs `price` microseconds.
  Pruner::Ratios at_price(double price, Adding adding) const;
  llvm::Expected<Pruner::Ratios> at_latency(double us, Adding adding);
  llvm::Expected<Pruner::Ratios> given_back(Pruner::Ratios ratios, double us);
  llvm::Expected<double> us_of(const Pruner::Ratios& ratios);
  llvm::Expected<double> loss_of(const Pruner::Ratios& ratios);
  // Returns the first level beyond `ratio` that is expected to be worth it over it; null where
  // there is none.
  const Alone* further(size_t group, double ratio) const;
  llvm::Expected<Pruner::Ratios> refined(Pruner::Ratios best, double budget);
  void step(const std::string& what) const {
    if (on_step_) on_step_(what);
  }

  const Pruner& pruner_;
  const LatencyJudge& judge_;
  const std::function<llvm::Expected<double>(const ir::Graph& graph)> loss_;
  SearchLog& log_;
  const std::function<void(const std::string& step)> on_step_;
  double untouched_us_ = 0;
  // A level has to save this much alone, as a share of untouched_us_.
  double least_gain_ = kMinGain;
  std::vector<std::vector<Alone>> alone_;  // indexed by group and level
  std::vector<WhyKept> why_kept_;          // indexed by group
};

}  // namespace codl::compiler
