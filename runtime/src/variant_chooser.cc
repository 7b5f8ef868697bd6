#include "runtime/src/variant_chooser.h"

#include <algorithm>
#include <cmath>

#include "runtime/src/diag.h"
#include "schema/verify_plan.h"

namespace codl::rt {
namespace {

// All variances are relative: 0.01 is a standard deviation of 10 %. The constants were set by
// test/runtime/variant_chooser_test.cc, whose phases they must follow in ten runs.

constexpr float kPredictionVariance = 0.1f;  // of a variant that has not run yet
constexpr float kMaxVariance = 0.25f;
constexpr float kAgeing = 1e-5f;  // of a variant, for each run since it ran
constexpr float kMinGain = 1 / 32.0f;
// The first run of several finds nothing in the caches.
constexpr float kCold = 1.1f;
constexpr float kColdNoise = 0.02f;
constexpr float kMinNoise = 0.0025f;
constexpr float kMaxNoise = 0.5f;
constexpr float kNewNoise = 0.02f;
constexpr float kNoiseGain = 1 / 16.0f;
// Page's test for a change: what runs are off by, in standard deviations less kSlack, adds up to
// kChanged. One run counts for kMaxOff at most: three say that load has changed.
constexpr float kSlack = 0.5f;
constexpr float kChanged = 6;
constexpr float kMaxOff = 3;
constexpr uint32_t kFirstRuns = 3;  // under a load, which tell how much runs differ by themselves
// A change by more than this factor is another load; by less, the same, under which all variants
// take longer: a phone that gets hot.
constexpr float kOtherLoad = 1.25f;
constexpr float kSameLoad = 4;  // variances
constexpr float kMatchVariance = 0.005f;
constexpr float kBackVariance = 0.01f;  // of a load that has come back
// Of what the replayed steps say of a change, so much may not apply: who uses a processor for short
// times only gets more of it than its share.
constexpr float kShare = 0.4f;
constexpr float kMinGpuFactor = 0.25f;
constexpr float kMaxGpuFactor = 64;
constexpr uint32_t kDeriveRuns[] = {3, 8};
// A variant is better that is faster by this share.
constexpr float kMargin = 0.03f;
constexpr uint32_t kMinTriedRuns = 2;
constexpr uint32_t kMaxTriedRuns = 12;
constexpr float kHopeless = 1.2f;  // times the home variant's: one run is enough
constexpr uint16_t kMinRest = 32;
constexpr uint16_t kMaxRest = 256;
// Runs that tries may cost: so many at once, and of each further run this share.
constexpr float kMaxCredit = 3;
constexpr float kCredit = 0.015f;

float square(float x) { return x * x; }

// Of two positive numbers: 1 or more.
float apart(float a, float b) { return std::max(a, b) / std::min(a, b); }

// `difference`: of two runs of the same variant, one after the other, as a share.
void learn_noise(float& noise, float difference, float gain) {
  noise += gain * (std::min(square(difference) / 2, 1.0f) - noise);
  noise = std::clamp(noise, kMinNoise, kMaxNoise);
}

}  // namespace

void VariantChooser::Drift::add(float off, float run_us, float run_cpu_us, const Belief& known) {
  if (count == 0) before = known;
  score += std::min(off, kMaxOff) - kSlack;
  us += run_us;
  cpu_us += run_cpu_us;
  ++count;
  if (!(score > 0)) *this = {};
}

codl_status_t VariantChooser::create(const codl_allocator_t& allocator, const VariantList& variants,
                                     codl_diag_t* diag) {
  size_t step_count = 0;
  for (const plan::VariantDef* variant : variants)
    step_count = std::max<size_t>(step_count, variant->steps()->size());
  if (!forecasts_.allocate(allocator, variants.count) ||
      !ends_us_.allocate(allocator, step_count)) {
    set_diag(diag, "no memory for forecasts of %zu variants", variants.count);
    return CODL_OUT_OF_MEMORY;
  }
  for (size_t i = 0; i < variants.count; ++i) {
    Forecast& forecast = forecasts_[i];
    forecast.variant = variants.items[i];
    Belief& predicted = forecast.beliefs[kPredicted];
    predicted = {forecast.variant->predicted_us(), 0, kPredictionVariance};
    for (const plan::StepDef* step : *forecast.variant->steps())
      if (queue_of(*step) == Queue::Cpu) predicted.cpu_us += step->predicted_us();
    belief(i) = predicted;
    forecast.expected_us = predicted.us;
  }
  loads_[load_].noise = loads_[load_].cpu_noise = kNewNoise;
  credit_ = kMaxCredit;
  return CODL_OK;
}

// When the last step ends if those of each processor take so many times what is predicted. A queue
// keeps its own order and waits as the plan says; the host enqueues a step when it comes to it,
// unless it enqueues all at once.
float VariantChooser::replay(const plan::VariantDef& variant, float cpu_factor, float gpu_factor) {
  const bool is_enqueued_at_once = gate_of(variant) == Gate::UserEvent;
  float free_us[3] = {};  // by queue
  for (uint32_t i = 0; i < variant.steps()->size(); ++i) {
    const plan::StepDef& step = *variant.steps()->Get(i);
    const Queue queue = queue_of(step);
    float& end_us = free_us[static_cast<size_t>(queue)];
    if (queue != Queue::Cpu && !is_enqueued_at_once)
      end_us = std::max(end_us, free_us[static_cast<size_t>(Queue::Cpu)]);
    for (const uint32_t wait : *step.waits()) end_us = std::max(end_us, ends_us_[wait]);
    end_us += step.predicted_us() * (queue == Queue::Cpu ? cpu_factor : gpu_factor);
    ends_us_[i] = end_us;
  }
  return std::max(free_us[0], std::max(free_us[1], free_us[2]));
}

// The greatest slowdown of the GPU with which the home variant takes `change` times what it took
// under the load `source`, when the CPU's is `cpu_factor`; by bisection. As before, where none
// does.
float VariantChooser::gpu_factor_of(size_t source, float cpu_factor, float change) {
  const plan::VariantDef& home = *forecasts_[home_].variant;
  const Load& from = loads_[source];
  const float wanted_us =
      (1 + kMargin / 2) * change * replay(home, from.cpu_factor, from.gpu_factor);
  if (apart(replay(home, cpu_factor, from.gpu_factor), wanted_us) < 1 + kMargin ||
      replay(home, cpu_factor, kMinGpuFactor) > wanted_us ||
      replay(home, cpu_factor, kMaxGpuFactor) < wanted_us)
    return from.gpu_factor;
  float low = kMinGpuFactor, high = kMaxGpuFactor;
  for (int i = 0; i < 10; ++i) {
    const float middle = std::sqrt(low * high);
    (replay(home, cpu_factor, middle) < wanted_us ? low : high) = middle;
  }
  return low;
}

// What the variants that have not run under `target` take there, from what they took under
// `source`: the home variant takes `us` now.
void VariantChooser::derive(size_t source, size_t target, float us, float cpu_us) {
  const Load from = loads_[source];
  Load& to = loads_[target];
  const Belief home = forecasts_[home_].beliefs[source];
  float cpu_factor = from.cpu_factor, gpu_factor = from.gpu_factor;
  if (home.us > 0) {  // else a plan without predictions
    if (home.cpu_us > 0 && cpu_us > 0) cpu_factor *= cpu_us / home.cpu_us;
    gpu_factor = gpu_factor_of(source, cpu_factor, us / home.us);
  }
  to.cpu_factor = cpu_factor;
  to.gpu_factor = gpu_factor;
  for (size_t i = 0; i < forecasts_.count(); ++i) {
    Forecast& forecast = forecasts_[i];
    if (i == home_ || (target != source && has_seen(forecast, target))) continue;
    const float before_us = replay(*forecast.variant, from.cpu_factor, from.gpu_factor);
    const float change =
        before_us > 0 ? replay(*forecast.variant, to.cpu_factor, to.gpu_factor) / before_us : 1;
    Belief known = forecast.beliefs[source];
    known.variance = std::min(
        known.variance + square(kShare * (apart(change, 1) - 1)) + kMatchVariance, kMaxVariance);
    known.us *= change;
    known.runs = 0;
    known.cpu_us *= to.cpu_factor / from.cpu_factor;
    forecast.beliefs[target] = known;
  }
}

// The load under which the home variant most likely takes what it does now; 0: none is like that.
size_t VariantChooser::known_load(const Drift& drift) const {
  const Load& now = loads_[load_];
  const float us = drift.us / drift.count, cpu_us = drift.cpu_us / drift.count;
  size_t found = 0;
  float least = 0;
  for (size_t i = 1; i < kLoads; ++i) {
    const Belief& known = forecasts_[home_].beliefs[i];
    if (i == load_ || loads_[i].used_at == 0) continue;
    const float variance = known.variance + kMatchVariance;
    float off = square(std::log(us / known.us)) / (variance + now.noise / drift.count);
    if (cpu_us > 0 && known.cpu_us > 0)
      off = std::max(
          off, square(std::log(cpu_us / known.cpu_us)) / (variance + now.cpu_noise / drift.count));
    if (off > kSameLoad) continue;
    const float unlikely = off + std::log(variance);
    if (found != 0 && unlikely >= least) continue;
    least = unlikely;
    found = i;
  }
  return found;
}

size_t VariantChooser::oldest_load() const {
  size_t found = load_ == 1 ? 2 : 1;
  for (size_t i = 1; i < kLoads; ++i)
    if (i != load_ && loads_[i].used_at < loads_[found].used_at) found = i;
  return found;
}

void VariantChooser::enter(size_t load) {
  loads_[load_].used_at = runs_;
  load_ = load;
  loads_[load_].used_at = runs_;
  load_runs_ = 0;
  forget_drifts();
}

void VariantChooser::forget_drifts() {
  for (Drift& drift : drifts_) drift = {};
}

void VariantChooser::follow_change(const Drift& drift) {
  const float us = drift.us / drift.count, cpu_us = drift.cpu_us / drift.count;
  const Belief before = drift.before;
  belief(home_) = before;
  credit_ = kMaxCredit;
  stay_ = 0;
  for (Forecast& forecast : forecasts_) forecast.rest_runs = 0;
  if (const size_t known = known_load(drift); known != 0) {
    enter(known);
    source_ = known;
    load_runs_ = kFirstRuns;
    for (size_t i = 0; i < forecasts_.count(); ++i)
      if (i != home_) belief(i).variance += kBackVariance;
    return;
  }
  const size_t source = load_;
  const bool is_small =
      apart(us, before.us) < kOtherLoad &&
      (!(cpu_us > 0 && before.cpu_us > 0) || apart(cpu_us, before.cpu_us) < kOtherLoad);
  const bool stays = is_small && loads_[source].is_variation;
  const size_t target = stays ? source : oldest_load();
  if (!stays) {
    loads_[target].noise = std::max(kNewNoise, loads_[source].noise);
    loads_[target].cpu_noise = std::max(kNewNoise, loads_[source].cpu_noise);
    loads_[target].is_variation = is_small;
    for (Forecast& forecast : forecasts_) set_seen(forecast, target, false);
  }
  derive(source, target, us, cpu_us);
  source_ = is_small ? target : source;
  enter(target);
  for (size_t i = 0; i < forecasts_.count(); ++i)
    if (i == home_ || (is_small && has_seen(forecasts_[i], source)))
      set_seen(forecasts_[i], target, true);
  belief(home_) = {us, cpu_us, loads_[target].noise / drift.count};
}

// After a run of the home variant.
bool VariantChooser::notice_change(float run_us, float cpu_us) {
  const Belief& known = belief(home_);
  const Load& load = loads_[load_];
  const float off = (run_us / known.us - 1) / std::sqrt(load.noise + known.variance);
  const float cpu_off =
      known.cpu_us > 0 ? (cpu_us / known.cpu_us - 1) / std::sqrt(load.cpu_noise + known.variance)
                       : 0;
  const float offs[] = {off, -off, cpu_off, -cpu_off};
  for (size_t i = 0; i < 4; ++i) drifts_[i].add(offs[i], run_us, cpu_us, known);
  for (const Drift& drift : drifts_) {
    if (drift.score < kChanged) continue;
    follow_change(Drift(drift));
    return true;
  }
  return false;
}

void VariantChooser::learn(size_t index, float run_us, float cpu_us) {
  Forecast& forecast = forecasts_[index];
  Belief& known = belief(index);
  Load& load = loads_[load_];
  float noise = load.noise;
  if (runs_in_a_row_ == 1 && runs_ > 1) noise += kColdNoise;
  if (runs_in_a_row_ > 2) {
    const float gain = std::max(kNoiseGain, 1 / static_cast<float>(load_runs_ + 2));
    learn_noise(load.noise, (run_us - last_us_) / known.us, gain);
    if (known.cpu_us > 0) learn_noise(load.cpu_noise, (cpu_us - last_cpu_us_) / known.cpu_us, gain);
  }
  last_us_ = run_us;
  last_cpu_us_ = cpu_us;
  const bool is_new = !has_seen(forecast, load_);
  set_seen(forecast, load_, true);
  if (!(known.us > 0)) known = {run_us, cpu_us, kPredictionVariance};
  if (is_new) known.variance = std::max(known.variance, kPredictionVariance);
  const float excess = std::clamp(run_us / known.us - 1, -0.9f, 9.0f);
  const float gain = std::max(known.variance / (known.variance + noise), kMinGain);
  known.us *= 1 + gain * excess;
  known.cpu_us += gain * (cpu_us - known.cpu_us);
  known.variance = std::max(known.variance * (1 - gain), noise * kMinGain);
  known.runs = std::min(known.runs + 1, 1 / kMinGain);
}

// By how much a variant would be faster if load had gone from a processor that the home variant
// does not feel: 1 or less.
float VariantChooser::hidden_change(size_t index) {
  const Load& now = loads_[load_];
  Load least;  // as predicted
  for (size_t i = 1; i < kLoads; ++i)
    if (i == load_ || loads_[i].used_at != 0) {
      least.cpu_factor = std::min(least.cpu_factor, loads_[i].cpu_factor);
      least.gpu_factor = std::min(least.gpu_factor, loads_[i].gpu_factor);
    }
  // Its CPU's steps are measured by themselves.
  if (belief(home_).cpu_us > 0) least.cpu_factor = now.cpu_factor;
  const plan::VariantDef &home = *forecasts_[home_].variant, &other = *forecasts_[index].variant;
  const float home_us = replay(home, now.cpu_factor, now.gpu_factor);
  if (!(replay(home, least.cpu_factor, least.gpu_factor) > (1 - kMargin) * home_us)) return 1;
  return replay(other, least.cpu_factor, least.gpu_factor) /
         replay(other, now.cpu_factor, now.gpu_factor);
}

// From the home variant's point of view. `is_urgent`: only what is believed to be better.
size_t VariantChooser::try_another(bool is_urgent) {
  const float better_us = (1 - kMargin) * belief(home_).us;
  size_t found = home_;
  float least_us = better_us;
  for (size_t i = 0; i < forecasts_.count(); ++i) {
    if (i == home_) continue;
    Forecast& forecast = forecasts_[i];
    const Belief& known = belief(i);
    if (known.us >= better_us) {
      const float loss = known.us / belief(home_).us - 1;
      if (is_urgent || credit_ < std::clamp(loss, 0.0f, kMaxCredit)) continue;
    }
    float us = known.us * (1 - std::sqrt(std::min(variance_of(known), kMaxVariance)));
    const bool may_hide =
        us >= better_us && runs_ - forecast.looked_at >= std::max(forecast.rest_runs, kMinRest);
    if (may_hide) {
      forecast.looked_at = runs_;
      us = known.us * hidden_change(i);
    }
    if (us >= least_us) continue;
    least_us = us;
    found = i;
    is_hidden_ = may_hide;
  }
  if (found == home_) return home_;
  before_try_ = belief(found);
  if (is_hidden_) belief(found).variance = 1;  // what was believed counts for little
  reason_ = "it may be faster now";
  return found;
}

// The variant for the next run, when `index` is tried.
size_t VariantChooser::judge(size_t index) {
  Forecast& forecast = forecasts_[index];
  const Belief& known = belief(index);
  const float home_us = belief(home_).us;
  const float deviation = std::sqrt(variance_of(known) + variance_of(belief(home_))) * known.us;
  if (runs_in_a_row_ < kMinTriedRuns &&
      std::min(last_us_, known.us - deviation) < kHopeless * home_us)
    return index;
  const bool is_over = runs_in_a_row_ >= kMaxTriedRuns;
  if (known.us < (1 - kMargin) * home_us && (is_over || known.us + deviation < home_us)) {
    home_ = index;
    source_ = load_;
    forget_drifts();
    forecast.rest_runs = 0;
    // Of a plan without predictions nothing was believed.
    const float off = before_try_.us > 0 ? square(std::log(known.us / before_try_.us)) : 0;
    if (off > kSameLoad * (is_hidden_ ? kMatchVariance : loads_[load_].noise + kMatchVariance))
      follow_change({0, known.us, known.cpu_us, 1, before_try_});
    return index;
  }
  float least_us = home_us;
  for (size_t i = 0; i < forecasts_.count(); ++i)
    if (i != index) least_us = std::min(least_us, belief(i).us);
  if (!is_over && known.us - deviation < (1 - kMargin) * least_us) return index;
  forecast.looked_at = runs_;
  forecast.rest_runs = std::min<uint16_t>(
      static_cast<uint16_t>(std::max<uint16_t>(forecast.rest_runs, kMinRest / 2) * 2), kMaxRest);
  stay_ = runs_in_a_row_;
  const size_t next = try_another(true);
  if (next == home_) reason_ = "the one that was tried is not faster";
  return next;
}

size_t VariantChooser::next(size_t index, float run_us, float cpu_us) {
  run_us = std::max(run_us, 0.001f);  // a clock's step
  runs_in_a_row_ = index == last_ ? runs_in_a_row_ + 1 : 1;
  if (last_ == SIZE_MAX) home_ = index;
  last_ = index;
  ++runs_;
  if (runs_in_a_row_ == 1 && runs_ > 1) {
    run_us /= kCold;
    cpu_us /= kCold;
  }
  for (Forecast& forecast : forecasts_)
    if (forecast.beliefs[load_].variance < kMaxVariance)
      forecast.beliefs[load_].variance += kAgeing;
  credit_ = std::min(credit_ + kCredit, kMaxCredit);
  const bool is_home = index == home_;
  // By what was believed before.
  const bool is_changed = is_home && load_runs_ >= kFirstRuns && notice_change(run_us, cpu_us);
  if (!is_changed) learn(index, run_us, cpu_us);
  size_t found = index;
  if (!is_home) {
    credit_ -= run_us / belief(home_).us - 1;
    found = judge(index);
  } else if (!is_changed) {
    ++load_runs_;
    for (const uint32_t runs : kDeriveRuns)
      if (load_runs_ == runs && source_ != load_)
        derive(source_, load_, belief(home_).us, belief(home_).cpu_us);
    if (load_runs_ >= kMinTriedRuns) found = try_another(runs_in_a_row_ <= stay_);
  } else {
    found = try_another(false);
  }
  for (size_t i = 0; i < forecasts_.count(); ++i)
    forecasts_[i].expected_us.store(belief(i).us, std::memory_order_relaxed);
  return found;
}

}  // namespace codl::rt
