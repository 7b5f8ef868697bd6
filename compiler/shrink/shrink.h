// Makes networks smaller by pruning of channels and weights of low rank. It is a library of its
// own, of which others include only this header.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/accuracy/deviation.h"
#include "compiler/ir/graph.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace codl::compiler {

// Returns the microseconds that the best plan of a graph without layouts is predicted to take.
using LatencyJudge = std::function<llvm::Expected<double>(const ir::Graph& graph)>;

// Is a ratio, or stands for as much as the budget allows.
struct ShrinkRatio {
  bool is_auto = false;
  double value = 0;
};

struct ShrinkOptions {
  std::optional<ShrinkRatio> low_rank;  // share of the squares of the weights that is kept
  std::optional<ShrinkRatio> prune;     // share of each group's channels that goes
  std::string calibration;              // folder; empty: none
  bool is_unchecked = false;            // without calibration: nobody measures what is lost
  // Bounds the loss (Deviation::loss()): auto stays within it, and a ratio that loses more gets a
  // warning.
  double budget = 0.005;
  // With prune as auto, this share of the predicted latency is removed, at the least loss found. It
  // is a Limit error if that is impossible, or loses more than the budget.
  std::optional<double> latency_cut;
  std::string search_log;  // path; what auto measures is kept there, and taken from there
  std::string judged_by;   // further inputs of the latencies, besides the network
  // With auto it is called at each step of a search of at most `most_steps`; it may be null.
  std::function<void(size_t most_steps, const std::string& step)> on_step;
  bool is_asked() const { return low_rank || prune; }
};

// Describes the network as it is after a rewrite.
struct NetworkCost {
  double predicted_us = 0;
  double macs = 0;
  double weight_bytes = 0;
};

struct ShrinkReport {
  struct Step {
    std::string what;  // "none", "low rank", "pruning", "both"
    NetworkCost cost;
    std::optional<Deviation> deviation;  // on samples that nothing was fitted to
  };
  std::vector<Step> steps;
  std::vector<std::string> rewrites;   // those accepted, a line each
  std::vector<std::string> untouched;  // a line each: the node, and why
  std::string warning;                 // one line if more is lost than the budget; or empty
};

// Rewrites the graph: a rewrite stays where `judge` finds the plan faster with it, and, with auto,
// where no more is lost than the budget. Errors: Input (calibration data; none, and no
// is_unchecked), Internal.
llvm::Expected<ShrinkReport> shrink(ir::Graph& graph, const ShrinkOptions& options,
                                    const LatencyJudge& judge);

void print(const ShrinkReport& report, llvm::raw_ostream& os);

}  // namespace codl::compiler
