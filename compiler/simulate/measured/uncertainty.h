// Tells how sure a plan's predicted latency is.
#pragma once

#include <vector>

#include "compiler/device/device_profile.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "schema/plan_model.h"

namespace codl::compiler {

// Draws of a profile's calibrations.
inline constexpr int kDraws = 200;

struct Uncertainty {
  // Nine tenths of the draws lie between these.
  double low_us = 0;
  double high_us = 0;
  // This share of the time of all steps and synchronisations rests on assumed numbers.
  double assumed_share = 0;
};

// Draws the device's true speed within the profile's uncertainty: log-normal on each side of the
// prediction, by the intervals of its calibrations, with one factor for all steps of a kernel,
// which share its error, and one for all synchronisations. If an interval is that of whole
// networks, the kernels of a processor share some of it. Learned steps have a factor nearer to 1.
// The draws are always the same ones: two plans are compared within the same draw. It borrows the
// profile.
class Draws {
 public:
  explicit Draws(const DeviceProfile& profile);

  // Returns the draws with these indices only.
  Draws some(llvm::ArrayRef<size_t> indices) const;

  // Returns the variant's latency in each draw. Returns an Input error for a kernel that the device
  // cannot run.
  llvm::Expected<std::vector<double>> latencies_us(const Variant& variant) const;

 private:
  struct Factors {
    double kernels[kKernelCount];  // indexed by id - 1
    double syncs;
  };
  const DeviceProfile& profile_;
  std::vector<Factors> draws_;
};

// Returns the uncertainty from kDraws draws.
llvm::Expected<Uncertainty> uncertainty_of(const Variant& variant, const DeviceProfile& profile);

// Returns the smallest latency that at least `share` of them do not exceed.
double quantile_of(std::vector<double> latencies_us, double share);

// Returns the share of the draws in which the first plan is faster. Both lists must have the same
// length.
double share_of_wins(llvm::ArrayRef<double> latencies_us, llvm::ArrayRef<double> others_us);

}  // namespace codl::compiler
