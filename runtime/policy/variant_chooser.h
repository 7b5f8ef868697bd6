// Chooses which of a session's variants the next run uses, from the times of the runs before.
// docs/design/architecture.md, "Variants that take turns", has the idea.
//
// Runs in a row are taken together to looks, long enough for a scheduler's slices to be in each.
// The time of a variant is the mean of its looks since load changed, as the variant in use, the
// home one, tells. Another variant has one look after such a change if it may be faster by then,
// and now and then in any case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace codl::policy {

// The time of a run, or the mean of several; `us` 0: of none.
struct RunTime {
  float us = 0;
  float cpu_us = 0;  // the CPU's steps, which show load that a run's time may hide
};

class VariantChooser {
 public:
  VariantChooser() = default;
  VariantChooser(const VariantChooser&) = delete;
  VariantChooser& operator=(const VariantChooser&) = delete;
  ~VariantChooser() { std::free(forecasts_); }

  // Call once per object. False: there is no memory.
  bool create(size_t variant_count);
  // Called before the first run; 0 means that nothing is predicted.
  void predict(size_t index, float us) { forecasts_[index].us = us; }

  // Called after a run of variant `index`; returns the variant for the next run. Where the next
  // call has another index, the host chose that, and it is the home one. Allocates nothing; takes
  // less than a microsecond.
  size_t next(size_t index, RunTime run);

  // Returns the time that a run of the variant is expected to take now; 0 if it is not known.
  float expected_us(size_t index) const { return forecasts_[index].us; }

 private:
  struct Forecast {
    float us = 0;            // a run's time; 0: not known
    float cpu_us = 0;        // its CPU steps
    float looks = 0;         // that `us` stands on; 0: from before load changed
    float least_us = 0;      // the fastest run under any load; 0: has not run
    float rest_runs = 0;     // before it is looked at again, whatever is known of it
    uint32_t looked_at = 0;  // number of the run
  };
  // Looks at the home variant that are off to one side.
  struct Drift {
    float score = 0;  // how sure that is
    RunTime sum;
    float looks = 0;
  };

  RunTime add_run(size_t index, RunTime run);
  void learn_noise(const Forecast& home, RunTime look);
  void learn(Forecast& forecast, RunTime look);
  bool notice_change(RunTime look);
  void follow_change(Drift drift);
  void judge(size_t index, float runs);
  void set_home(size_t index);
  float least_expected_us(const Forecast& forecast) const;
  size_t choose() const;

  Forecast* forecasts_ = nullptr;  // indexed by variant
  size_t variant_count_ = 0;
  Drift drifts_[4];           // the variant became slower, faster; its CPU steps did
  float noise_ = 0;           // variance of a look's `us`, relative to its square
  float cpu_noise_ = 0;       // noise of its `cpu_us`
  RunTime sum_;               // sum over the runs of the look that goes on
  float sum_runs_ = 0;        // how many there are
  RunTime last_look_;         // at the home variant, if no other one ran since
  uint32_t runs_ = 0;         // all runs
  size_t home_ = 0;           // used unless another one is looked at
  size_t last_ = SIZE_MAX;    // the variant of the last run
  size_t chosen_ = SIZE_MAX;  // the last result of next()
};

}  // namespace codl::policy
