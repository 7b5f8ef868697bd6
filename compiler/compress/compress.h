// Low rank and pruning of channels, as asked: accepted by the predicted latency of the whole plan,
// rolled back by measured deviation.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compress/calibration.h"
#include "compiler/compress/pruning_search.h"

namespace codl::compiler {

// A ratio, or as much as the budget allows.
struct CompressRatio {
  bool is_auto = false;
  double value = 0;
};

struct CompressOptions {
  std::optional<CompressRatio> low_rank;  // share of the squares of the weights that is kept
  std::optional<CompressRatio> prune;     // share of each group's channels that goes
  std::string calibration;                // folder; empty: none
  bool is_unchecked = false;              // without calibration: nobody measures what is lost
  // What may be lost (Deviation::loss()): auto stays within it, a ratio that loses more is warned
  // of.
  double budget = 0.005;
  // Of prune as auto: the share of the predicted latency that has to go, at the least loss found.
  // Limit error if that cannot be had, or loses more than the budget.
  std::optional<double> latency_cut;
  std::string search_log;  // path; what auto measures is kept there, and taken from there
  std::string judged_by;   // what the latencies depend on beside the network
  // Of auto: called at each step of a search of at most `most_steps`; may be null.
  std::function<void(size_t most_steps, const std::string& step)> on_step;
  bool is_asked() const { return low_rank || prune; }
};

// The network, as it is after a rewrite.
struct NetworkCost {
  double predicted_us = 0;
  double macs = 0;
  double weight_bytes = 0;
};

struct CompressReport {
  struct Step {
    std::string what;  // "none", "low rank", "pruning", "both"
    NetworkCost cost;
    std::optional<Deviation> deviation;  // on samples that nothing was fitted to
  };
  std::vector<Step> steps;
  std::vector<std::string> rewrites;   // accepted, a line each
  std::vector<std::string> untouched;  // a line each: what, and why
  std::string warning;                 // one line if more is lost than the budget; or empty
};

// Rewrites the graph. Errors: Input (calibration data; none, and no is_unchecked), Internal.
llvm::Expected<CompressReport> compress(ir::Graph& graph, const CompressOptions& options,
                                        const LatencyJudge& judge);

void print(const CompressReport& report, llvm::raw_ostream& os);

}  // namespace codl::compiler
