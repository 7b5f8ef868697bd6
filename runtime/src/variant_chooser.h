// CODL_VARIANT_ADAPTIVE: which of a session's variants the next run uses, from the times of the
// runs before. docs/design/architecture.md, "Variants that take turns", has the idea.
//
// What is believed: by how much each processor is slower than the plan predicts, the same for all
// variants, and what each variant takes where no processor is slower. Each belief has a variance,
// relative to its square; a run corrects each in proportion to it (a Kalman filter of independent
// variables). What a variant takes beside other processes is believed by itself, as their slices
// delay what synchronises more than their share of the processor tells: when they have gone, what
// was believed before counts again. Another variant is tried when what it may take at best is less
// than what the one in use takes; runs lost in that way are bounded (kCredit).
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

  // The list must outlive this. Once per object.
  codl_status_t create(const codl_allocator_t& allocator, const VariantList& variants,
                       codl_diag_t* diag);
  bool is_created() const { return forecasts_.count() != 0; }

  // After a run of variant `index` that took `run_us`, of which the CPU's steps `cpu_us`. Returns
  // the variant for the next run. Allocates nothing; some microseconds.
  size_t next(size_t index, float run_us, float cpu_us);
  // Why next() returned another one than it was given: a constant text.
  const char* reason() const { return reason_; }

  // What a run of the variant is expected to take now; 0: not known. From any thread.
  float expected_us(size_t index) const {
    return forecasts_[index].expected_us.load(std::memory_order_relaxed);
  }

 private:
  enum Processor { kCpu, kGpu, kProcessorCount };

  // By how much a processor is slower than predicted.
  struct Slowdown {
    float factor = 1;
    float variance = 0;
    float least = 1;  // ever
  };
  // What runs of a variant take, and their CPU steps; 0: not known.
  struct Taken {
    float run_us = 0;
    float cpu_us = 0;
  };
  // What a variant takes where no processor is slower, from its runs without load or beside load.
  struct Belief {
    float idle_us = 0;
    float variance = 0;
    float seen_at[kProcessorCount] = {1, 1};  // slowdowns when it ran last
    bool has_run = false;                     // under such a load
  };
  enum Regime { kQuiet, kLoaded, kRegimeCount };
  struct Forecast {
    const plan::VariantDef* variant = nullptr;
    float replayed_us = 0;  // replay() without slowdowns
    float cpu_us = 0;       // of the CPU's steps, as predicted
    Belief beliefs[kRegimeCount];
    Taken recently;
    Taken quietly;
    float best_us = 0;          // what it may take now
    uint16_t failed_tries = 0;  // one after the other, under about the same load
    uint16_t rest_runs = 0;     // before it is tried again under that load
    std::atomic<float> expected_us{0};
  };

 public:
  static constexpr size_t kForecastBytes = sizeof(Forecast);

 private:
  float replay(const plan::VariantDef& variant, float cpu_factor, float gpu_factor);
  float time_of(const Forecast& forecast, float cpu_factor, float gpu_factor);
  Belief& belief(Forecast& forecast) { return forecast.beliefs[regime_]; }
  const Belief& belief(const Forecast& forecast) const { return forecast.beliefs[regime_]; }
  void age();
  void notice_regime(Forecast& forecast, float run_us, float cpu_us);
  void enter(Regime regime);
  void learn_cpu(const Forecast& forecast, float run_us, float cpu_us);
  void notice_change(Forecast& forecast, float dependence, float excess);
  void learn_run(Forecast& forecast, bool is_tried, float run_us);
  void forecast_all();
  float change_of(const Forecast& forecast, int processor) const;
  bool is_worth_trying(const Forecast& forecast, const Forecast& home) const;
  void settle(Forecast& forecast, float run_us, float cpu_us);
  size_t try_another(size_t index);

  Array<Forecast> forecasts_;  // by variant
  Array<float> ends_us_;       // by step: replay()'s
  Slowdown slowdowns_[kProcessorCount];
  Regime regime_ = kQuiet;
  float noise_ = 0;             // variance of a run's time that nothing explains
  float cpu_noise_ = 0;         // the same of its CPU steps, in a run that is all theirs
  float last_cpu_change_ = 0;   // of the CPU's slowdown in the last run, as a share
  float last_excess_ = 0;       // of the last run, above what was expected, as a share
  bool is_puzzled_ = false;     // the last run may have been the first under another load
  float credit_ = 0;            // runs of the home variant that may be lost
  size_t home_ = 0;             // what is used unless another one is tried
  size_t last_ = SIZE_MAX;      // the variant of the last run
  uint32_t runs_in_a_row_ = 0;  // of that one
  const char* reason_ = "";
};

}  // namespace codl::rt
