// CODL_VARIANT_ADAPTIVE: which of a session's variants the next run uses, from the times of the
// runs before. docs/design/architecture.md, "Variants that take turns", has the idea.
//
// Runs in a row are taken together to looks, long enough for a scheduler's slices to be in each.
// What a variant takes is the mean of its looks since load changed, as the variant in use, the home
// one, tells. Another one is looked at while it may be faster: by its own looks or, if it has had
// none since then, by the least that it ever took.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "codl/codl.h"
#include "runtime/src/arena.h"
#include "schema/session_memory.h"

namespace codl::rt {

class VariantChooser {
 public:
  VariantChooser() = default;
  VariantChooser(const VariantChooser&) = delete;
  VariantChooser& operator=(const VariantChooser&) = delete;

  // Once per object.
  codl_status_t create(const codl_allocator_t& allocator, const VariantList& variants,
                       codl_diag_t* diag);
  bool is_created() const { return forecasts_.count() != 0; }

  // After a run of variant `index` that took `run_us`, of which the CPU's steps `cpu_us`. Returns
  // the variant for the next run. Where the next call has another index, the host chose that, and
  // it is the home one. Allocates nothing; under a microsecond.
  size_t next(size_t index, float run_us, float cpu_us);
  // Why next() returned another one than it was given: a constant text.
  const char* reason() const { return reason_; }

  // What a run of the variant is expected to take now; 0: not known. From any thread.
  float expected_us(size_t index) const {
    return forecasts_[index].expected_us.load(std::memory_order_relaxed);
  }

 private:
  // Means of some runs; `us` 0: of none.
  struct Look {
    float us = 0;
    float cpu_us = 0;  // of the CPU's steps, which tell of load that a run's time may hide
  };
  struct Forecast {
    float us = 0;            // of a run; 0: not known
    float cpu_us = 0;        // of its CPU steps
    float looks = 0;         // that `us` stands on; 0: from before load changed
    float least_us = 0;      // of a run, under any load; 0: has not run
    float rest_runs = 0;     // before it is looked at again, whatever is known of it
    uint32_t looked_at = 0;  // number of the run
    std::atomic<float> expected_us{0};
  };
  // Looks at the home variant that are off to one side.
  struct Drift {
    float score = 0;  // how sure that is
    Look sum;
    float looks = 0;
  };

 public:
  static constexpr size_t kForecastBytes = sizeof(Forecast);

 private:
  Look add_run(size_t index, float run_us, float cpu_us);
  void learn_noise(const Forecast& forecast, const Look& look);
  void learn(Forecast& forecast, const Look& look);
  bool notice_change(const Look& look);
  void follow_change(const Drift& drift);
  void judge(size_t index);
  void set_home(size_t index);
  void begin_row(size_t index);
  bool is_due(const Forecast& forecast) const;
  float least_expected_us(const Forecast& forecast) const;
  size_t choose();

  Array<Forecast> forecasts_;  // by variant
  Drift drifts_[4];            // slower, faster; the CPU's steps slower, faster
  float noise_ = 0;            // variance of a look's `us`, relative to its square
  float cpu_noise_ = 0;        // of its `cpu_us`
  Look sum_;                   // of the runs of the look that goes on
  uint32_t sum_runs_ = 0;
  Look last_look_;              // of the same variant, if there was one in a row
  uint32_t runs_in_a_row_ = 0;  // of the same variant
  uint32_t runs_ = 0;           // of all
  size_t home_ = 0;             // what is used unless another one is looked at
  size_t last_ = SIZE_MAX;      // the variant of the last run
  size_t chosen_ = SIZE_MAX;    // what next() returned last
  const char* reason_ = "";
};

}  // namespace codl::rt
