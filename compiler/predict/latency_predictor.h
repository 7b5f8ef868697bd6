// Latency of one step, from the profile only.
#pragma once

#include <limits>

#include "compiler/device/device_profile.h"
#include "kernels/common/contract.h"
#include "kernels/model_features.h"
#include "schema/plan_model.h"

namespace codl::compiler {

// What a Map, Upload or Download moves: its part of the rows or channels that the tensor holds.
double moved_bytes(const Variant& variant, const Step& step);

class LatencyPredictor {
 public:
  // Borrows the profile. Of a network with so many million bytes of weights: where the profile says
  // that a processor's last cache keeps them from one run to the next, they are read from there.
  explicit LatencyPredictor(const DeviceProfile& profile,
                            double weight_mbytes = std::numeric_limits<double>::infinity())
      : profile_(profile),
        lanes_{lane(profile, 0, weight_mbytes), lane(profile, 1, weight_mbytes)} {}

  const DeviceProfile& profile() const { return profile_; }

  // True if the profile has a model for the row.
  bool can_predict(const KernelRow& row) const { return profile_.model_of(row.id) != nullptr; }

  // Microseconds of a step that has passed check_step(); `other_processor_busy` adds contention.
  double predict_us(const kernels::StepShape& step, bool other_processor_busy) const;

  // What the host takes to enqueue a step of the row, where the model does not say so: 0 on the
  // CPU.
  double launch_us(const KernelRow& row) const {
    return row.processor == Processor::Gpu ? profile_.launch_us.value : 0;
  }

  // Of a step of the variant that nothing disturbs, of any kind, without its launch.
  double step_us(const Variant& variant, const Step& step) const;

  // What of predict_us() without the other processor is assumed: terms of that origin, and all of a
  // kernel that is not plain loops where any_cpu or any_gpu stands in for a model of its own.
  double assumed_us(const kernels::StepShape& step) const;

  // What predict_us(), taken as the median, may be multiplied with: a tenth of the measurements
  // behind the row's model lay below `low`, a tenth above `high`. {1, 1} if nothing was measured.
  struct Interval {
    double low = 1;
    double high = 1;
  };
  Interval interval_of(const KernelRow& row) const;

  // An upload (`to_gpu`) or download of `bytes` between separate memories: what its call takes of
  // the host, and what it takes after that.
  double copy_call_us(double bytes, bool to_gpu) const;
  double copy_us(double bytes, bool to_gpu) const;

  // A map of `bytes` and its unmap.
  double map_us(double bytes) const;

  // What the host's calls take that give the lane of a GPU step its work; 0: not known.
  double enqueue_us() const;

  // From the end of what makes `bytes` in one lane to the start of what reads them in the other,
  // without the time spent in convert kernels.
  double hand_off_us(double bytes, bool to_gpu) const;

 private:
  // Sum of the terms, of assumed ones only or of all.
  double terms_us(const kernels::StepShape& step, bool only_assumed) const;
  static kernels::LaneFacts lane(const DeviceProfile& profile, size_t processor,
                                 double weight_mbytes) {
    return {profile.cpu_threads, profile.gpu_facts, profile.cpu_vector_lanes,
            weight_mbytes <= profile.warm_weight_mbytes[processor].value};
  }

  const DeviceProfile& profile_;
  const kernels::LaneFacts lanes_[2];  // by processor, in one piece: predictions are many
};

}  // namespace codl::compiler
