// Makes networks smaller by pruning of channels, weights of low rank, and numbers of 8 bits. It is
// a library of its own, of which others include only this header.
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

// Says whether a float network's convolutions and products multiply bytes, as far as the budget
// allows.
enum class Bytes8 : uint8_t { None, Always, IfFaster };

struct ShrinkOptions {
  std::optional<ShrinkRatio> low_rank;  // share of the squares of the weights that is kept
  std::optional<ShrinkRatio> prune;     // share of each group's channels that goes
  Bytes8 bytes = Bytes8::None;          // after both; IfFaster counts with calibration data only
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
  bool asks_for_smaller() const { return low_rank || prune; }
  bool asks_for_bytes() const {
    return bytes == Bytes8::Always || (bytes == Bytes8::IfFaster && !calibration.empty());
  }
  bool is_asked() const { return asks_for_smaller() || asks_for_bytes(); }
};

// Describes the network as it is after a rewrite.
struct NetworkCost {
  double predicted_us = 0;
  double macs = 0;
  double weight_bytes = 0;
};

struct ShrinkReport {
  struct Step {
    std::string what;  // such as "none", "low rank", "pruning, low rank", "pruning, bytes"
    NetworkCost cost;
    std::optional<Deviation> deviation;  // on samples that nothing was fitted to
  };
  std::vector<Step> steps;
  std::vector<std::string> rewrites;   // those accepted, a line each
  std::vector<std::string> untouched;  // a line each: the node, and why
  std::string warning;                 // one line if more is lost than the budget; or empty
  // Describes a node that could multiply bytes.
  struct ByteNode {
    std::string node;
    std::string reason;     // why it does not, continuing a sentence about it; empty where it does
    double loss_alone = 0;  // relative error of the outputs with this node alone in bytes
  };
  std::vector<ByteNode> byte_nodes;  // empty unless bytes were asked for
  std::optional<ir::Graph> floats;   // the network before some of its nodes multiply bytes
};

// Rewrites the graph: a rewrite stays where `judge` finds the plan faster with it, and, with auto,
// where no more is lost than the budget. Errors: Input (calibration data; none, and no
// is_unchecked), Internal.
llvm::Expected<ShrinkReport> shrink(ir::Graph& graph, const ShrinkOptions& options,
                                    const LatencyJudge& judge);

// Returns the network with all nodes that can multiply bytes doing so, whatever is lost; on the
// grids of the calibration data or, where `calibration` is empty, on arbitrary ones, as far as
// predicted times need.
llvm::Expected<ir::Graph> all_in_bytes(const ir::Graph& graph, const std::string& calibration);

void print(const ShrinkReport& report, llvm::raw_ostream& os);

}  // namespace codl::compiler
