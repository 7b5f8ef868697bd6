#include "compiler/variants/fit_weights.h"

#include <algorithm>

#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

// A short search has this share of the budget. If it finds a plan that there is room for, a long
// one goes on from there; its own plan may have no room, and the spare share is for that case.
constexpr double kShortShare = 0.1;
constexpr double kSpareShare = 0.5;

uint32_t part_of(uint32_t budget, double share) { return static_cast<uint32_t>(share * budget); }

// Returns the bytes of the constants if a float has so many.
uint64_t bytes_with_floats_of(const ir::Graph& graph, double float_bytes) {
  uint64_t bytes = 0;
  double floats = 0;
  for (const ir::Value& value : graph.values()) {
    if (value.type.dtype != DType::F32)
      bytes += value.bytes.size();
    else
      floats += static_cast<double>(value.bytes.size()) / sizeof(float);
  }
  return bytes + static_cast<uint64_t>(floats * float_bytes);
}

}  // namespace

uint64_t constant_bytes(const ir::Graph& graph) {
  const bool are_floats = precision_of(graph) == ir::Precision::Fp32;
  return bytes_with_floats_of(graph, are_floats ? sizeof(float) : graph.file_float_bytes);
}

std::optional<uint64_t> most_weight_bytes(const ir::Graph& graph, const WeightLimit& limit) {
  const std::optional<uint64_t> bytes = limit.bytes_for(constant_bytes(graph));
  if (limit.is_asked || !bytes || precision_of(graph) != ir::Precision::Fp16) return bytes;
  const auto most_halves =
      static_cast<uint64_t>(WeightLimit::kMaxHalvesShare *
                            static_cast<double>(bytes_with_floats_of(graph, sizeof(float))));
  return std::min(*bytes, std::max(most_halves, WeightLimit::kMinBytes));
}

double constant_mbytes(const ir::Graph& graph) {
  return static_cast<double>(constant_bytes(graph)) * 1e-6;
}

bool WeightRoom::is_enough_for(const PartitionPlan& plan) const {
  StoredWeights all = stored;
  all.add(plan);
  return all.bytes() <= most_bytes;
}

llvm::Expected<Candidate> fit_weights(const WeightRoom& room, PartitionOptions options,
                                      MakeCandidate make, ScoreCandidate score) {
  const bool searches = options.is_optimal() && !options.forces_split();
  const uint32_t budget = options.search_budget;
  uint32_t judged = 0;
  const auto make_with = [&](uint32_t part, SearchStart start) -> llvm::Expected<Candidate> {
    options.search_budget = part;
    CODL_ASSIGN_OR_RETURN(made, make(options, start));
    judged += made.evaluations;
    made.evaluations = judged;
    return made;
  };

  CODL_ASSIGN_OR_RETURN(free, make_with(searches ? part_of(budget, kShortShare) : budget, {}));
  std::vector<PartitionPlan> starts;
  if (room.is_enough_for(free.partition)) {
    if (!searches) return free;
    const uint32_t rest = budget - judged - part_of(budget, kSpareShare);
    CODL_ASSIGN_OR_RETURN(found, make_with(rest, {{free.partition}}));
    if (room.is_enough_for(found.partition)) return found;
    starts.push_back(std::move(free.partition));
    free = std::move(found);
  }
  starts.push_back(free.partition);
  if (searches) {
    PartitionOptions segments = options;
    segments.strategy = "segments";
    CODL_ASSIGN_OR_RETURN(made, make(segments, {}));
    starts.push_back(std::move(made.partition));
  }
  std::vector<std::vector<PackingSet>> tried;
  std::optional<Candidate> best;
  double best_score = 0;
  for (const PartitionPlan& start : starts) {
    options.packings = choose_packings(room.graph, room.predictor, options.limits, start,
                                       room.stored, room.most_bytes);
    if (llvm::is_contained(tried, options.packings)) continue;
    tried.push_back(options.packings);
    CODL_ASSIGN_OR_RETURN(kept, make_with(part_of(budget, kShortShare), {}));
    CODL_ASSIGN_OR_RETURN(kept_score, score(kept));
    if (best && kept_score >= best_score) continue;
    kept.weights = {options.packings, free.partition, free.figures, kept.partition};
    best = std::move(kept);
    best_score = kept_score;
  }
  if (!searches || judged == budget) return std::move(*best);
  options.packings = best->weights->packings;
  CODL_ASSIGN_OR_RETURN(found, make_with(budget - judged, {{best->partition}}));
  found.weights = std::move(best->weights);
  return found;
}

}  // namespace codl::compiler
