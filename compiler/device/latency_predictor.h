// Predicts the latency of one step from the profile alone.
#pragma once

#include <array>
#include <limits>

#include "compiler/device/device_profile.h"
#include "kernels/work_table.h"
#include "llvm/ADT/STLExtras.h"
#include "schema/plan_model.h"
#include "schema/step_shape.h"

namespace codl::compiler {

// Returns the bytes that a Map, Upload or Download moves: its part of the rows or channels that the
// tensor holds.
double moved_bytes(const Variant& variant, const Step& step);
// Returns the same for a step that moves `part` along `dim` of a tensor of that shape.
double moved_bytes(const kernels::OperandShape& shape, SplitDim dim, Range part);

// Describes a step's demand for its processor and for the memory that both processors share, if
// nothing else runs.
struct StepDemand {
  double us = 0;
  double memory_bytes = 0;
  double open = 1;  // LearnedSteps::Correction
};

class LatencyPredictor {
 public:
  // Borrows the profile. `weight_mbytes` is the network's size in million bytes: if a processor's
  // last cache keeps that much from one run to the next, steps read weights from the cache.
  explicit LatencyPredictor(const DeviceProfile& profile,
                            double weight_mbytes = std::numeric_limits<double>::infinity())
      : profile_(profile),
        has_warm_weights_{weight_mbytes <= profile.warm_weight_mbytes[0].value,
                          weight_mbytes <= profile.warm_weight_mbytes[1].value} {}

  const DeviceProfile& profile() const { return profile_; }
  // Says by processor whether its last cache keeps the network's weights.
  std::array<bool, 2> has_warm_weights() const { return has_warm_weights_; }
  const TransferCosts& transfer() const { return profile_.transfer; }

  // Returns true if the device can run the kernel, its GPU is of the kind that the kernel is for
  // (kernels::is_for_processors()), and the user does not exclude it.
  bool can_predict(const KernelInfo& kernel) const {
    return (kernel.processor == Processor::Cpu || profile_.has_gpu) &&
           (profile_.machine.is_gpu_a_processor || !kernels::is_for_processors(kernel)) &&
           !llvm::is_contained(profile_.unused_kernels, kernel.id);
  }

  // Returns how long each term of the step takes if nothing hides it. The step must have passed
  // check_step().
  TermTimes times(const kernels::StepShape& step) const {
    return times_of(step, profile_.machine, profile_.gpu_facts,
                    has_warm_weights_[static_cast<size_t>(step.kernel->processor)]);
  }

  StepDemand demand(const kernels::StepShape& step) const;

  // Returns the correction learned for such a step; demand() has applied it already.
  LearnedSteps::Correction correction(const kernels::StepShape& step) const;

  // Returns the step's microseconds. `other_processor_busy` adds contention, but not the bandwidth
  // that both processors lose by sharing a memory.
  double predict_us(const kernels::StepShape& step, bool other_processor_busy) const;

  // Returns the host's time to enqueue such a step where the step's terms do not contain it; 0 on
  // the CPU.
  double launch_us(const kernels::StepShape& step) const {
    const bool is_launched = step.kernel->processor == Processor::Gpu && !step.is_in_place;
    return is_launched ? profile_.launch_us.value : 0;
  }
  // Returns the same for a step of the variant; 0 if no kernel computes it.
  double launch_us(const Variant& variant, const Step& step) const;

  // Returns the time of a step that moves so many bytes without a kernel.
  double transfer_us(StepKind kind, double bytes) const;

  // Returns the demand of a step of any kind, undisturbed and without its launch.
  StepDemand demand(const Variant& variant, const Step& step) const;
  double step_us(const Variant& variant, const Step& step) const {
    return demand(variant, step).us;
  }

 private:
  double profiled_us(const kernels::StepShape& step, const TermTimes& times) const {
    return weigh(times, profile_.calibration_of(*step.kernel).shares);
  }

  LearnedSteps::Correction learned(const kernels::StepShape& step, double us) const;

  const DeviceProfile& profile_;
  const std::array<bool, 2> has_warm_weights_;  // indexed by processor
};

}  // namespace codl::compiler
