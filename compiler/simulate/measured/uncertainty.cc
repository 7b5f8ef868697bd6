#include "compiler/simulate/measured/uncertainty.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "compiler/simulate/timing/simulate.h"
#include "compiler/support/error.h"
#include "kernels/kernel_table.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"

namespace codl::compiler {
namespace {

constexpr double kOutside = 0.05;  // share of the draws on each side of the interval

// Nine tenths of a normal distribution lie above -kTenth deviations.
constexpr double kTenth = 1.2816;

// Returns the standard deviation of the logarithm of synchronisations. The assumed one is how far
// other devices' numbers are away (0.2 to 0.6 ms a round trip on phones of six years, where the
// profile says 0.6).
double sync_deviation(Origin origin) { return origin == Origin::Measured ? 0.1 : 0.3; }

// Kernels of a processor have this share of the variance of their errors in common, by level.
// Intervals of facts and anchors are those of whole networks. The shares are fitted: of the
// published latencies of docs/results/phones.md, what those of one chip, library and number of
// threads have in common is 0.36 of the CPU's variance and 0.62 of the GPU's with the network left
// out of the fit (anchors), and 0.90 of the GPU's with the chip left out (facts).
constexpr double kSharedVariance[] = {0.9, 0.4, 0};
// The rest of a network's variance is the mean of what its kernels have of their own. A network's
// time on a CPU comes in effect from this many kernels (1.2 to 2.1, seven networks, sd855).
constexpr double kKernelsOfNetwork = 1.7;

double shared_deviation(Level level) {
  return std::sqrt(kSharedVariance[static_cast<size_t>(level)]);
}
double own_deviation(Level level) {
  if (level == Level::Samples) return 1;  // the interval is of steps of the kernel
  return std::sqrt((1 - kSharedVariance[static_cast<size_t>(level)]) * kKernelsOfNetwork);
}

// Is a spread of logarithms, with half of a normal distribution on each side.
struct Spread {
  double middle = 0;
  double below = 0;
  double above = 0;
};

// The interval's ends are the first and last tenth. The median is the prediction itself, as it is
// of held-out samples: within 1.5 % in the mean of 39 kernels of host-2core-zen4-pocl, whose
// middles of the ends are 6.7 % away, as measurements have longer tails above than below. An
// interval without it says that the prediction is known to be off.
Spread spread_of(const Calibration& calibration) {
  const double low = std::log(calibration.interval_low);
  const double high = std::log(calibration.interval_high);
  const double middle = low <= 0 && high >= 0 ? 0 : (low + high) / 2;
  return {middle, (middle - low) / kTenth, (high - middle) / kTenth};
}

// Draws a standard normal number by Box and Muller: standard libraries differ in theirs.
double normal(std::mt19937_64& random) {
  const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
  return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform());
}

double assumed_share_of(llvm::ArrayRef<QueueStep> steps,
                        llvm::function_ref<const KernelInfo*(const QueueStep&)> kernel_of,
                        const DeviceProfile& profile) {
  double all_us = 0;
  double assumed_us = 0;
  const auto add = [&](double us, Origin origin) {
    all_us += us;
    if (origin == Origin::Assumed) assumed_us += us;
  };
  for (const QueueStep& step : steps) {
    if (const KernelInfo* info = kernel_of(step))
      add(step.alone_us, step.open < 1 ? Origin::Fitted : profile.calibration_of(*info).origin);
    double synchronisation_us = step.synchronisation_us;
    for (const QueueWait& wait : step.waits) synchronisation_us += wait.us;
    add(synchronisation_us, profile.transfer.sync_origin());
  }
  return all_us > 0 ? assumed_us / all_us : 0;
}

const KernelInfo* kernel_of(const QueueStep& step) {
  for (const KernelInfo& info : kKernelInfos)
    if (info.symbol == step.kernel) return &info;  // the same characters, not equal ones
  return nullptr;
}

}  // namespace

Draws::Draws(const DeviceProfile& profile) : profile_(profile) {
  Spread spreads[kKernelCount];
  Processor processors[kKernelCount];
  double shared[kKernelCount], own[kKernelCount];
  for (const KernelInfo& info : kKernelInfos) {
    const Calibration& calibration = profile.calibration_of(info);
    spreads[info.id - 1] = spread_of(calibration);
    processors[info.id - 1] = info.processor;
    shared[info.id - 1] = shared_deviation(calibration.level);
    own[info.id - 1] = own_deviation(calibration.level);
  }
  const double sync_spread = sync_deviation(profile.transfer.sync_origin());
  // Each kernel has numbers of its own, so that another kernel in the table changes no plan.
  std::vector<std::mt19937_64> randoms;
  for (const KernelInfo& info : kKernelInfos)
    randoms.emplace_back(llvm::xxHash64(llvm::StringRef(info.symbol)));
  std::mt19937_64 random_of_syncs{1};
  std::mt19937_64 random_of_processors{2};
  for (int i = 0; i < kDraws; ++i) {
    Factors& factors = draws_.emplace_back();
    double of_processor[2];
    for (double& deviations : of_processor) deviations = normal(random_of_processors);
    for (size_t kernel = 0; kernel < kKernelCount; ++kernel) {
      const Spread& spread = spreads[kernel];
      const double deviations =
          shared[kernel] * of_processor[static_cast<size_t>(processors[kernel])] +
          own[kernel] * normal(randoms[kernel]);
      factors.kernels[kernel] =
          std::exp(spread.middle + (deviations < 0 ? spread.below : spread.above) * deviations);
    }
    factors.syncs = std::exp(sync_spread * normal(random_of_syncs));
  }
}

Draws Draws::some(llvm::ArrayRef<size_t> indices) const {
  Draws result = *this;
  result.draws_.clear();
  for (const size_t index : indices) result.draws_.push_back(draws_[index]);
  return result;
}

llvm::Expected<std::vector<double>> Draws::latencies_us(const Variant& variant) const {
  CODL_ASSIGN_OR_RETURN(steps, queue_steps_of(variant, profile_));
  std::vector<const KernelInfo*> kernels;
  for (const QueueStep& step : steps) kernels.push_back(kernel_of(step));
  std::vector<QueueStep> drawn = steps;
  std::vector<double> latencies_us;
  for (const Factors& factors : draws_) {
    for (size_t i = 0; i < steps.size(); ++i) {
      double factor = kernels[i] != nullptr ? factors.kernels[kernels[i]->id - 1] : factors.syncs;
      if (steps[i].open < 1) factor = std::pow(factor, steps[i].open);
      drawn[i].alone_us = steps[i].alone_us * factor;
      drawn[i].synchronisation_us = steps[i].synchronisation_us * factors.syncs;
      for (size_t k = 0; k < drawn[i].waits.size(); ++k)
        drawn[i].waits[k].us = steps[i].waits[k].us * factors.syncs;
    }
    latencies_us.push_back(run_queues(drawn, profile_, {}, Clock::Wall).total_us);
  }
  return latencies_us;
}

llvm::Expected<Uncertainty> uncertainty_of(const Variant& variant, const DeviceProfile& profile) {
  CODL_ASSIGN_OR_RETURN(latencies_us, Draws(profile).latencies_us(variant));
  CODL_ASSIGN_OR_RETURN(steps, queue_steps_of(variant, profile));
  Uncertainty result;
  result.low_us = quantile_of(latencies_us, kOutside);
  result.high_us = quantile_of(latencies_us, 1 - kOutside);
  result.assumed_share = assumed_share_of(steps, kernel_of, profile);
  return result;
}

double quantile_of(std::vector<double> latencies_us, double share) {
  llvm::sort(latencies_us);
  const auto count = static_cast<double>(latencies_us.size());
  // A share of 0.9 of 200 is the 180th, whatever the last bit of the product.
  const auto rank = static_cast<size_t>(std::ceil(share * count - 1e-6));
  return latencies_us[std::min(std::max<size_t>(rank, 1), latencies_us.size()) - 1];
}

double share_of_wins(llvm::ArrayRef<double> latencies_us, llvm::ArrayRef<double> others_us) {
  size_t wins = 0;
  for (size_t i = 0; i < latencies_us.size(); ++i) wins += latencies_us[i] < others_us[i];
  return static_cast<double>(wins) / static_cast<double>(latencies_us.size());
}

}  // namespace codl::compiler
