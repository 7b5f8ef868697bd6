#include "compiler/simulate/uncertainty.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "compiler/simulate/simulate.h"
#include "compiler/support/error.h"
#include "kernels/kernel_table.h"
#include "llvm/ADT/STLExtras.h"

namespace codl::compiler {
namespace {

constexpr int kDraws = 200;
constexpr double kOutside = 0.05;  // of the draws, on each side of the interval

// Of a normal distribution, nine tenths lie above -kTenth deviations.
constexpr double kTenth = 1.2816;

// The logarithm of hand-offs: assumed, by how far the same number of other devices is away (0.2 to
// 0.6 ms a round trip on phones of six years, where the profile says 0.6).
double hand_off_deviation(Origin origin) { return origin == Origin::Measured ? 0.1 : 0.3; }

struct Spread {
  double middle = 0;  // of the logarithm
  double deviation = 0;
};

Spread spread_of(const Calibration& calibration) {
  const double low = std::log(calibration.interval_low);
  const double high = std::log(calibration.interval_high);
  return {(low + high) / 2, (high - low) / (2 * kTenth)};
}

// Standard normal, by Box and Muller: the standard library's differ.
double normal(std::mt19937_64& random) {
  const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
  return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform());
}

double assumed_share_of(llvm::ArrayRef<LaneStep> steps,
                        llvm::function_ref<const KernelRow*(const LaneStep&)> row_of,
                        const DeviceProfile& profile) {
  double all_us = 0;
  double assumed_us = 0;
  const auto add = [&](double us, Origin origin) {
    all_us += us;
    if (origin == Origin::Assumed) assumed_us += us;
  };
  for (const LaneStep& step : steps) {
    if (const KernelRow* row = row_of(step))
      add(step.alone_us, profile.calibration_of(*row).origin);
    double handed_us = step.hand_off_us;
    for (const LaneWait& wait : step.waits) handed_us += wait.us;
    add(handed_us, profile.exchange.sync_us.origin);
  }
  return all_us > 0 ? assumed_us / all_us : 0;
}

}  // namespace

llvm::Expected<Uncertainty> uncertainty_of(const Variant& variant, const DeviceProfile& profile) {
  CODL_ASSIGN_OR_RETURN(steps, lane_steps_of(variant, profile));
  const auto row_of = [](const LaneStep& step) -> const KernelRow* {
    for (const KernelRow& row : kKernelRows)
      if (row.symbol == step.kernel) return &row;  // the same characters, not equal ones
    return nullptr;
  };
  std::vector<const KernelRow*> rows;
  for (const LaneStep& step : steps) rows.push_back(row_of(step));

  std::mt19937_64 random{1};
  std::vector<double> totals_us;
  for (int draw = 0; draw < kDraws; ++draw) {
    double factors[kKernelCount];
    for (const KernelRow& row : kKernelRows) {
      const Spread spread = spread_of(profile.calibration_of(row));
      factors[row.id - 1] = std::exp(spread.middle + spread.deviation * normal(random));
    }
    const double hand_off =
        std::exp(hand_off_deviation(profile.exchange.sync_us.origin) * normal(random));
    std::vector<LaneStep> drawn = steps;
    for (size_t i = 0; i < drawn.size(); ++i) {
      drawn[i].alone_us *= rows[i] != nullptr ? factors[rows[i]->id - 1] : hand_off;
      drawn[i].hand_off_us *= hand_off;
      for (LaneWait& wait : drawn[i].waits) wait.us *= hand_off;
    }
    totals_us.push_back(run_lanes(drawn, profile, {}, Clock::Wall).total_us);
  }
  llvm::sort(totals_us);
  Uncertainty result;
  result.low_us = totals_us[static_cast<size_t>(kOutside * kDraws)];
  result.high_us = totals_us[static_cast<size_t>((1 - kOutside) * kDraws) - 1];
  result.assumed_share = assumed_share_of(steps, row_of, profile);
  return result;
}

}  // namespace codl::compiler
