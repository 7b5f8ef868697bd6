// CODL_VARIANT_ADAPTIVE: which of a session's variants the next run uses, from the times of the
// runs before. docs/design/architecture.md, "Variants that take turns", has the idea.
//
// The variant in use, the home one, is left alone until its own time changes. What each variant
// takes is believed for each load by itself, and a load that comes back is known by what the home
// variant takes under it. Under a new one, others are believed to change as the plan's steps do,
// replayed with the slowdown of each processor that explains the home variant's times. A variant is
// tried that may be faster, as far as is known: the surer the beliefs, the fewer are. Runs lost in
// that way are bounded (kCredit).
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
  // the variant for the next run. Allocates nothing; under a microsecond, but where load changes.
  size_t next(size_t index, float run_us, float cpu_us);
  // Why next() returned another one than it was given: a constant text.
  const char* reason() const { return reason_; }

  // What a run of the variant is expected to take now; 0: not known. From any thread.
  float expected_us(size_t index) const {
    return forecasts_[index].expected_us.load(std::memory_order_relaxed);
  }

 private:
  // Loads that are remembered; before them, what the plan predicts, as if it were one.
  static constexpr size_t kPredicted = 0;
  static constexpr size_t kLoads = 6;
  // What a variant takes under one load.
  struct Belief {
    float us = 0;  // 0: not known
    float cpu_us = 0;
    float variance = 0;  // of `us`, relative to its square
    float runs = 0;      // that it stands on
  };
  struct Forecast {
    const plan::VariantDef* variant = nullptr;
    Belief beliefs[kLoads];
    uint32_t looked_at = 0;   // number of the run; for hidden_change()
    uint16_t rest_runs = 0;   // before it is looked at again
    uint16_t seen_under = 0;  // loads, as bits
    std::atomic<float> expected_us{0};
  };
  struct Load {
    float cpu_factor = 1;  // slower than predicted
    float gpu_factor = 1;
    float noise = 0;            // variance of a run's time that nothing explains
    float cpu_noise = 0;        // of its CPU steps'
    uint32_t used_at = 0;       // number of the run; 0: never
    bool is_variation = false;  // of another load, whose beliefs are kept as they were
  };
  // Runs of the home variant that are off to one side: how sure that is, and what they take.
  struct Drift {
    float score = 0;
    float us = 0;  // sums
    float cpu_us = 0;
    float count = 0;
    Belief before;  // in the home variant
    void add(float off, float run_us, float run_cpu_us, const Belief& known);
  };

 public:
  static constexpr size_t kForecastBytes = sizeof(Forecast);

 private:
  static bool has_seen(const Forecast& forecast, size_t load) {
    return (forecast.seen_under >> load & 1) != 0;
  }
  static void set_seen(Forecast& forecast, size_t load, bool is_seen) {
    const unsigned others = forecast.seen_under & ~(1u << load);
    forecast.seen_under = static_cast<uint16_t>(others | (is_seen ? 1u << load : 0));
  }
  // How much runs differ is known better than when they ran.
  float variance_of(const Belief& known) const {
    const float noise = known.runs > 0 ? loads_[load_].noise / known.runs : 0;
    return known.variance > noise ? known.variance : noise;
  }
  Belief& belief(size_t index) { return forecasts_[index].beliefs[load_]; }
  float replay(const plan::VariantDef& variant, float cpu_factor, float gpu_factor);
  float gpu_factor_of(size_t source, float cpu_factor, float change);
  void derive(size_t source, size_t target, float us, float cpu_us);
  size_t known_load(const Drift& drift) const;
  size_t oldest_load() const;
  void enter(size_t load);
  void forget_drifts();
  void follow_change(const Drift& drift);
  bool notice_change(float run_us, float cpu_us);
  void learn(size_t index, float run_us, float cpu_us);
  float hidden_change(size_t index);
  size_t try_another(bool is_urgent);
  size_t judge(size_t index);

  Array<Forecast> forecasts_;  // by variant
  Array<float> ends_us_;       // by step: replay()'s
  Load loads_[kLoads];
  size_t load_ = 1;
  size_t source_ = kPredicted;  // of the beliefs in variants that have not run under load_
  Belief before_try_;           // of the variant that is tried
  bool is_hidden_ = false;      // it is tried for what home's time cannot tell
  Drift drifts_[4];             // slower, faster; the CPU's steps slower, faster
  float last_us_ = 0;
  float last_cpu_us_ = 0;
  float credit_ = 0;            // runs of the home variant that may be lost
  size_t home_ = 0;             // what is used unless another one is tried
  size_t last_ = SIZE_MAX;      // the variant of the last run
  uint32_t runs_ = 0;           // of all
  uint32_t load_runs_ = 0;      // of the home variant under load_
  uint32_t runs_in_a_row_ = 0;  // of the same variant
  uint32_t stay_ = 0;           // runs of the home variant before another one is tried
  const char* reason_ = "";
};

}  // namespace codl::rt
