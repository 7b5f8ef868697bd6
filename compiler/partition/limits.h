// Holds the objective and the limits that the user sets for a plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "llvm/Support/Error.h"
#include "schema/types.h"

namespace codl::compiler {

// The search minimises a plan's predicted time or its predicted energy.
enum class Objective { Latency, Energy };

// --objective and reports use these names.
inline constexpr const char* kObjectiveNames[] = {"latency", "energy"};

// --place may say this in place of a node's name.
inline constexpr char kEveryNode[] = "*";

// Says where a node is computed (--place).
struct UserPlace {
  std::string node;  // its name in the graph after the passes (--dump=graph)
  // This processor computes all of it; if it is unset, both compute their part.
  std::optional<Processor> processor;
  SplitDim split_dim = SplitDim::None;  // if on both: Height or OutputChannel
  double gpu_share = 0;                 // if on both: share of the rows or channels, in (0, 1)
};

// Limits the bytes of weights that a plan may have, with all of its variants (--max-weights).
struct WeightLimit {
  // A quarter more than the model's weights have, as constants of the compiled graph, is room for
  // the transforms that save most time for their bytes.
  static constexpr double kDefaultRatio = 1.25;
  // If the network may be halves and the user sets no limit, the plan's weights have at most this
  // share of the bytes of the model's as floats. The whole plan has at most 0.6 then.
  static constexpr double kMaxHalvesShare = 0.575;
  // Any ratio allows this much: weights lie in whole pages, which small networks fill badly.
  static constexpr uint64_t kMinBytes = 1 << 20;

  std::optional<double> ratio = kDefaultRatio;  // multiple of the bytes of the model's weights
  std::optional<uint64_t> bytes;                // in place of the ratio; neither: no limit
  // The user set it, so that a plan that exceeds it is an error.
  bool is_asked = false;

  std::optional<uint64_t> bytes_for(uint64_t model_bytes) const;
};

// Says how much each variant of a plan may take at most. Unset fields limit nothing.
struct PlanLimits {
  std::optional<double> gpu_share;  // 0 to 1: GPU busy, of the run's predicted time
  // Bounds the microseconds of GPU work that nothing can interrupt: one launch, and all that is
  // enqueued before another program's request.
  std::optional<double> max_gpu_slice_us;
  std::optional<uint64_t> max_arena_bytes;  // PlanFigures::arena_bytes
  std::optional<uint32_t> max_syncs;        // waits of one queue for another
  // Bounds the percentage of multiply-adds (or of nodes, if there are none) that has no GPU kernel,
  // 0 to 100. No plan changes it: it depends on the network and the device.
  std::optional<double> max_fallback_percent;
  WeightLimit max_weights;  // limits the plan, not each variant
  std::vector<UserPlace> places;

  // Returns true if there is a limit that depends on the plan as a whole.
  bool limit_plans() const { return gpu_share || max_gpu_slice_us || max_arena_bytes || max_syncs; }
};

// Holds the figures that limits and objectives compare. All are predicted, for a device without
// other load.
struct PlanFigures {
  double predicted_us = 0;
  double gpu_share = 0;             // GPU time as a share of predicted_us
  double longest_slice_us = 0;      // PlanLimits::max_gpu_slice_us
  double beyond_slice_us = 0;       // excess of all slices together
  std::optional<double> energy_mj;  // nothing: the profile has no power figures
  uint64_t arena_bytes = 0;         // host, shared and device arenas and images
  uint64_t weight_bytes = 0;        // as the variant's kernels have them packed
  uint32_t syncs = 0;
};

// Returns the figure that the objective makes least: "21.60 ms", "3.14 mJ".
std::string objective_text(const PlanFigures& figures, Objective objective);

// One limit against a plan.
struct LimitCheck {
  const char* flag = "";  // "--max-arena"
  std::string variant;    // the variant it applies to; empty: the network on the device
  double most = 0;        // in the unit of its text: percent, ms, MB or a count
  double found = 0;
  double excess = 0;  // 0 or less: met; else how far beyond, as a share of the limit
  std::string text;   // "expected at most ..., found ..."
};

// Returns all limits on plans that are set, in the order of PlanLimits. `variant` is the plan's
// name.
std::vector<LimitCheck> check_limits(const PlanFigures& figures, const PlanLimits& limits,
                                     llvm::StringRef variant);

// Scores a plan; less is better. A plan that meets all limits scores less than any that does not;
// of the others, the one nearer to its limits scores less. Scores are whole numbers, so that equal
// plans are equal on every machine.
int64_t score_of(const PlanFigures& figures, Objective objective, const PlanLimits& limits);

// Scores a plan without keeping the limits. Exceeding them makes the objective worse by `weight`
// times the excess as a share of the limit.
int64_t weighted_score_of(const PlanFigures& figures, Objective objective, const PlanLimits& limits,
                          double weight);

bool meets(const PlanLimits& limits, const PlanFigures& figures);

// Checks --max-fallback, in percent, against the support report; `counted` names the things
// counted.
std::optional<LimitCheck> check_fallback(double percent, const char* counted,
                                         const PlanLimits& limits);

// Compares the plan with --max-weights, if that is asked for; the default limits the choice of
// kernels only.
std::optional<LimitCheck> check_weights(uint64_t bytes, uint64_t model_bytes,
                                        const PlanLimits& limits);

// Returns true if a plan of that score meets all limits.
bool is_met(int64_t score);

// Returns a Limit error for the first limit that is not met. `where` is the device.
llvm::Error expect_limits(llvm::ArrayRef<LimitCheck> checks, llvm::StringRef where);

}  // namespace codl::compiler
