#include "compiler/partition/limits.h"

#include <algorithm>
#include <cmath>

#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

constexpr double kMB = 1e6;

// Scores of plans that meet all limits end here; from here on, a unit of excess counts as much. In
// int64 there is room for kMaxExcess of them.
constexpr double kMaxMet = 1e17;
constexpr double kMaxExcess = 80;

template <typename... Args>
LimitCheck make_check(const char* flag, double most, double found, double unit, const char* text,
                      Args&&... args) {
  return {flag,
          "",
          most,
          found,
          (found - most) / std::max(most, unit),
          llvm::formatv(text, std::forward<Args>(args)...).str()};
}

double objective_of(const PlanFigures& figures, Objective objective) {
  return objective == Objective::Energy ? figures.energy_mj.value_or(0) * 1e6  // nanojoules
                                        : figures.predicted_us * 1e3;          // nanoseconds
}

}  // namespace

std::string objective_text(const PlanFigures& figures, Objective objective) {
  return objective == Objective::Energy
             ? llvm::formatv("{0:f2} mJ", figures.energy_mj.value_or(0)).str()
             : llvm::formatv("{0:f2} ms", figures.predicted_us / 1e3).str();
}

std::vector<LimitCheck> check_limits(const PlanFigures& figures, const PlanLimits& limits,
                                     llvm::StringRef variant) {
  std::vector<LimitCheck> checks;
  if (limits.gpu_share)
    checks.push_back(make_check("--gpu-limit", 100 * *limits.gpu_share, 100 * figures.gpu_share, 1,
                                "expected at most {0:f1} % of the predicted time on the GPU "
                                "(--gpu-limit) in variant {1}, found {2:f1} % at best",
                                100 * *limits.gpu_share, variant, 100 * figures.gpu_share));
  if (limits.max_gpu_slice_us) {
    checks.push_back(make_check(
        "--max-gpu-slice", *limits.max_gpu_slice_us / 1e3, figures.longest_slice_us / 1e3, 0.001,
        "expected at most {0:f3} ms of GPU work that nothing interrupts "
        "(--max-gpu-slice) in variant {1}, found {2:f3} ms at best",
        *limits.max_gpu_slice_us / 1e3, variant, figures.longest_slice_us / 1e3));
    // All of them count, so that a plan with one long slice less is nearer to the limit.
    double& excess = checks.back().excess;
    if (excess > 0) excess = std::max(excess, figures.beyond_slice_us / *limits.max_gpu_slice_us);
  }
  if (limits.max_arena_bytes) {
    const double most = static_cast<double>(*limits.max_arena_bytes) / kMB;
    const double found = static_cast<double>(figures.arena_bytes) / kMB;
    checks.push_back(make_check("--max-arena", most, found, 1 / kMB,
                                "expected at most {0:f3} MB of arenas and images (--max-arena) in "
                                "variant {1}, found {2:f3} MB at best",
                                most, variant, found));
  }
  if (limits.max_syncs)
    checks.push_back(make_check("--max-syncs", *limits.max_syncs, figures.syncs, 1,
                                "expected at most {0} waits between CPU and GPU (--max-syncs) in "
                                "variant {1}, found {2} at best",
                                *limits.max_syncs, variant, figures.syncs));
  for (LimitCheck& check : checks) check.variant = variant.str();
  return checks;
}

bool meets(const PlanLimits& limits, const PlanFigures& figures) {
  for (const LimitCheck& check : check_limits(figures, limits, ""))
    if (check.excess > 0) return false;
  return true;
}

std::optional<LimitCheck> check_fallback(double percent, const char* counted,
                                         const PlanLimits& limits) {
  if (!limits.max_fallback_percent) return std::nullopt;
  return make_check("--max-fallback", *limits.max_fallback_percent, percent, 1,
                    "expected at most {0:f1} % of the {1} without a GPU kernel (--max-fallback), "
                    "found {2:f1} %",
                    *limits.max_fallback_percent, counted, percent);
}

std::optional<uint64_t> WeightLimit::bytes_for(uint64_t model_bytes) const {
  if (!ratio) return bytes;
  return std::max(kMinBytes, static_cast<uint64_t>(*ratio * static_cast<double>(model_bytes)));
}

std::optional<LimitCheck> check_weights(uint64_t bytes, uint64_t model_bytes,
                                        const PlanLimits& limits) {
  const std::optional<uint64_t> most_bytes = limits.max_weights.bytes_for(model_bytes);
  if (!limits.max_weights.is_asked || !most_bytes) return std::nullopt;
  const double most = static_cast<double>(*most_bytes) / kMB;
  const double found = static_cast<double>(bytes) / kMB;
  return make_check("--max-weights", most, found, 1 / kMB,
                    "expected at most {0:f3} MB of weights in the plan (--max-weights), found "
                    "{1:f3} MB at best",
                    most, found);
}

namespace {

// Adds up how far the figures are beyond all limits, as shares of these.
double excess_of(const PlanFigures& figures, const PlanLimits& limits) {
  double excess = 0;
  for (const LimitCheck& check : check_limits(figures, limits, ""))
    excess += std::max(check.excess, 0.0);
  return excess;
}

}  // namespace

int64_t score_of(const PlanFigures& figures, Objective objective, const PlanLimits& limits) {
  const double excess = excess_of(figures, limits);
  double score = std::min(objective_of(figures, objective), kMaxMet);
  if (excess > 0) score += kMaxMet * (1 + std::min(excess, kMaxExcess));
  return std::llround(score);
}

int64_t weighted_score_of(const PlanFigures& figures, Objective objective, const PlanLimits& limits,
                          double weight) {
  const double worse = 1 + weight * excess_of(figures, limits);
  return std::llround(std::min(objective_of(figures, objective) * worse, kMaxMet));
}

bool is_met(int64_t score) { return static_cast<double>(score) <= kMaxMet; }

llvm::Error expect_limits(llvm::ArrayRef<LimitCheck> checks, llvm::StringRef where) {
  for (const LimitCheck& check : checks)
    if (check.excess > 0) return make_error(ExitCode::Limit, where, check.text);
  return llvm::Error::success();
}

}  // namespace codl::compiler
