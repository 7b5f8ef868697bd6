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
constexpr float kAgeing = 0.0005f;  // of a variant, for each run since it ran
// Added to the variance of a processor's slowdown in each run: after 20 of which none depends on it
// nearly nothing is known.
constexpr float kLoadDrift = 0.01f;
constexpr float kForgetting = 1.1f;
constexpr float kSurprise = 4;  // variances
constexpr float kNewLoadVariance = 0.3f;
constexpr float kMinCpuNoise = 0.002f;  // of the CPU's steps in a run that is all theirs
constexpr float kColdNoise = 0.02f;     // of a variant's first run: its weights are in no cache
constexpr float kMinNoise = 0.0025f;
constexpr float kMaxNoise = 0.04f;
constexpr float kNoiseGain = 0.1f;
// Where load has changed since a variant ran, so much of the change may not apply to it: who uses a
// processor for short times only gets more of it than its share.
constexpr float kShare = 0.4f;
// A variant is better that is faster by this share.
constexpr float kMargin = 0.03f;
constexpr uint32_t kTriedRuns = 2;
// A variant that was tried in vain rests for 8 runs, then 16, 32 and 64, unless a processor's
// slowdown changes by this factor.
constexpr float kNewLoad = 1.3f;
constexpr float kLoadGone = 1.15f;
constexpr float kRecentGain = 0.4f;
constexpr float kQuietGain = 0.1f;
constexpr uint32_t kMaxDoublings = 3;
constexpr float kHopeless = 1.2f;  // times the home variant's: one run is enough
// Runs that tries may cost: so many at once, and of each further run this share.
constexpr float kMaxCredit = 3;
constexpr float kCredit = 0.015f;

float square(float x) { return x * x; }

// Of what two runs are off by: the square that both are sure to exceed; below 0: to different
// sides.
float agreement(float now, float before) { return std::min(now * before, square(now)); }

// 0: nothing is known yet.
void follow(float& value, float now, float gain) {
  value = value > 0 ? value + gain * (now - value) : now;
}

// `difference`: square of what two runs of the same variant, one after the other, differ by.
void learn_noise(float& noise, float difference, float least) {
  noise = std::clamp(noise + kNoiseGain * (0.5f * difference - noise), least, kMaxNoise);
}

}  // namespace

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
    forecast.replayed_us = replay(*forecast.variant, 1, 1);
    belief(forecast).idle_us = forecast.variant->predicted_us();
    belief(forecast).variance = kPredictionVariance;
    for (const plan::StepDef* step : *forecast.variant->steps())
      if (queue_of(*step) == Queue::Cpu) forecast.cpu_us += step->predicted_us();
  }
  for (Slowdown& slowdown : slowdowns_) slowdown.variance = kPredictionVariance;
  noise_ = kMinNoise;
  credit_ = kMaxCredit;
  forecast_all();
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

float VariantChooser::time_of(const Forecast& forecast, float cpu_factor, float gpu_factor) {
  if (!(forecast.replayed_us > 0)) return belief(forecast).idle_us;
  return belief(forecast).idle_us * replay(*forecast.variant, cpu_factor, gpu_factor) /
         forecast.replayed_us;
}

void VariantChooser::age() {
  for (Forecast& forecast : forecasts_) {
    float& variance = belief(forecast).variance;
    variance = std::min(variance + kAgeing, kMaxVariance);
    if (forecast.rest_runs != 0) --forecast.rest_runs;
  }
  for (Slowdown& slowdown : slowdowns_)
    slowdown.variance = std::min(slowdown.variance * kForgetting + kLoadDrift, 1.0f);
  credit_ = std::min(credit_ + kCredit, kMaxCredit);
}

// By what the same variant takes, as predictions of two variants are off by different shares: load
// has come where its run or its CPU steps take longer by kNewLoad than without load, and has gone
// where neither does by kLoadGone.
void VariantChooser::notice_regime(Forecast& forecast, float run_us, float cpu_us) {
  Taken &now = forecast.recently, &quiet = forecast.quietly;
  follow(now.run_us, run_us, runs_in_a_row_ == 1 ? 1 : kRecentGain);
  follow(now.cpu_us, cpu_us, runs_in_a_row_ == 1 ? 1 : kRecentGain);
  if (quiet.run_us > 0 && runs_in_a_row_ >= kTriedRuns) {
    const float slower =
        std::max(now.run_us / quiet.run_us, quiet.cpu_us > 0 ? now.cpu_us / quiet.cpu_us : 1.0f);
    enter(slower > (regime_ == kQuiet ? kNewLoad : kLoadGone) ? kLoaded : kQuiet);
  }
  if (regime_ != kQuiet) return;
  follow(quiet.run_us, now.run_us, kQuietGain);
  follow(quiet.cpu_us, now.cpu_us, kQuietGain);
}

// Of a variant that has not run in the regime yet, what the other one says is all that is known.
void VariantChooser::enter(Regime regime) {
  if (regime == regime_) return;
  for (Forecast& forecast : forecasts_) {
    if (forecast.beliefs[regime].has_run) continue;
    forecast.beliefs[regime] = belief(forecast);
    forecast.beliefs[regime].has_run = false;
  }
  regime_ = regime;
}

// The CPU's steps tell of the CPU alone, the better the more of a run they are. A scheduler that
// gives the core to others for whole slices makes them jump from run to run, so that a run counts
// for less the more runs differ.
void VariantChooser::learn_cpu(const Forecast& forecast, float run_us, float cpu_us) {
  if (!(forecast.cpu_us > 0)) return;
  Slowdown& cpu = slowdowns_[kCpu];
  const float share = square(std::min(cpu_us / run_us, 1.0f));
  const float change = std::clamp(cpu_us / (forecast.cpu_us * cpu.factor) - 1, -0.75f, 3.0f);
  const float noise = cpu_noise_ / share;
  if (runs_in_a_row_ > 1)
    learn_noise(cpu_noise_, share * square(change - last_cpu_change_), kMinCpuNoise);
  last_cpu_change_ = change;
  const float gain = cpu.variance / (cpu.variance + noise);
  cpu.factor *= 1 + gain * change;
  cpu.variance *= 1 - gain;
}

// Noise goes up and down from run to run; two runs that are off by far more, to the same side, say
// that something has changed, and what was believed counts for little.
void VariantChooser::notice_change(Forecast& forecast, float dependence, float excess) {
  is_puzzled_ = false;
  if (runs_in_a_row_ == 1) {
    last_excess_ = 0;
    return;
  }
  Slowdown& gpu = slowdowns_[kGpu];
  float& variance = belief(forecast).variance;
  const float expected = variance + noise_ + square(dependence) * gpu.variance;
  const float agreed = agreement(excess, last_excess_);
  if (agreed > kSurprise * expected) {
    gpu.variance = std::max(gpu.variance, kNewLoadVariance);
    variance = std::max(variance, kPredictionVariance * square(1 - dependence));
  } else {
    is_puzzled_ = square(excess) > kSurprise * expected;
  }
  learn_noise(noise_, square(excess - last_excess_), kMinNoise);
  last_excess_ = excess;
}

// A slow try does not speak of the processors: that load has come just then is less likely than
// that the variant is not as predicted. A fast one may: where the home variant does not use the
// GPU, tries alone tell that its load has gone.
//
// What the CPU's steps do not explain has its cause in the GPU or in the variant: in each as far as
// it is uncertain, and the run's time depends on the GPU.
void VariantChooser::learn_run(Forecast& forecast, bool is_tried, float run_us) {
  Belief& own_belief = belief(forecast);
  if (!(own_belief.idle_us > 0)) own_belief.idle_us = run_us;  // a plan without predictions
  Slowdown& gpu = slowdowns_[kGpu];
  const float cpu_factor = slowdowns_[kCpu].factor;
  const float expected_us = time_of(forecast, cpu_factor, gpu.factor);
  const float excess = std::clamp(run_us / expected_us - 1, -0.7f, 4.0f);
  // 1: the run's time is in proportion to the GPU's slowdown. Up to where this run would have it: a
  // GPU that the CPU waits for now and then does not matter before it is slower.
  const float step = std::abs(excess) < 0.1f ? 0.1f : excess;
  const float dependence =
      (time_of(forecast, cpu_factor, gpu.factor * (1 + step)) / expected_us - 1) / step;
  notice_change(forecast, dependence, excess);
  const float own =
      own_belief.variance + (runs_in_a_row_ == 1 ? std::max(kColdNoise, noise_) : noise_);
  const float sum = own + square(dependence) * gpu.variance;
  const float gpu_gain = dependence * gpu.variance / sum;
  const bool is_slow_try = is_tried && excess > 0;
  if (!is_slow_try) gpu.factor = std::clamp(gpu.factor * (1 + gpu_gain * excess), 0.1f, 100.0f);
  gpu.variance *= 1 - gpu_gain * dependence;
  const float gain = own_belief.variance / (is_slow_try ? own : sum);
  own_belief.has_run = true;
  own_belief.idle_us *= 1 + gain * excess;
  own_belief.variance *= 1 - gain;
  for (int p = 0; p < kProcessorCount; ++p) {
    slowdowns_[p].least = std::min(slowdowns_[p].least, slowdowns_[p].factor);
    own_belief.seen_at[p] = slowdowns_[p].factor;
  }
}

void VariantChooser::forecast_all() {
  float likely[kProcessorCount], least[kProcessorCount];
  for (int p = 0; p < kProcessorCount; ++p) {
    const Slowdown& slowdown = slowdowns_[p];
    likely[p] = slowdown.factor;
    least[p] = std::max(slowdown.factor * (1 - std::sqrt(slowdown.variance)),
                        std::min(slowdown.least, slowdown.factor));
  }
  for (Forecast& forecast : forecasts_) {
    float variance = belief(forecast).variance;
    for (int p = 0; p < kProcessorCount; ++p)
      variance += square(kShare * (change_of(forecast, p) - 1));
    forecast.best_us = time_of(forecast, least[kCpu], least[kGpu]) *
                       (1 - std::sqrt(std::min(variance, kMaxVariance)));
    forecast.expected_us.store(time_of(forecast, likely[kCpu], likely[kGpu]),
                               std::memory_order_relaxed);
  }
}

// Of a processor's slowdown since the variant ran: 1 or more.
float VariantChooser::change_of(const Forecast& forecast, int processor) const {
  const float now = slowdowns_[processor].factor, then = belief(forecast).seen_at[processor];
  return std::max(now, then) / std::min(now, then);
}

bool VariantChooser::is_worth_trying(const Forecast& forecast, const Forecast& home) const {
  const float home_us = home.expected_us;
  const float change = std::max(change_of(forecast, kCpu), change_of(forecast, kGpu));
  if (forecast.rest_runs != 0 && change < kNewLoad &&
      forecast.expected_us > (1 - kMargin) * home_us)
    return false;
  const float loss = std::max(forecast.expected_us / home_us - 1, 0.0f);
  return credit_ >= std::min(loss, kMaxCredit) && forecast.best_us < (1 - kMargin) * home_us;
}

// The variant becomes the home one: what it says of the CPU counts from now on, and what it takes
// stays.
void VariantChooser::settle(Forecast& forecast, float run_us, float cpu_us) {
  const float expected_us = forecast.expected_us;
  learn_cpu(forecast, run_us, cpu_us);
  const float now_us = time_of(forecast, slowdowns_[kCpu].factor, slowdowns_[kGpu].factor);
  belief(forecast).idle_us *= expected_us / now_us;
  forecast.failed_tries = 0;
}

// From the home variant's point of view.
size_t VariantChooser::try_another(size_t index) {
  const Forecast& home = forecasts_[home_];
  size_t found = home_;
  for (size_t i = 0; i < forecasts_.count(); ++i) {
    if (i == home_ || i == index || !is_worth_trying(forecasts_[i], home)) continue;
    if (found == home_ || forecasts_[i].best_us < forecasts_[found].best_us) found = i;
  }
  reason_ = found == home_ ? "the one that was tried is not faster" : "it may be faster now";
  return found;
}

size_t VariantChooser::next(size_t index, float run_us, float cpu_us) {
  Forecast& forecast = forecasts_[index];
  run_us = std::max(run_us, 0.001f);  // a clock's step
  runs_in_a_row_ = index == last_ ? runs_in_a_row_ + 1 : 1;
  if (last_ == SIZE_MAX) home_ = index;
  last_ = index;
  age();
  const bool is_tried = index != home_;
  if (!is_tried) learn_cpu(forecast, run_us, cpu_us);
  learn_run(forecast, is_tried, run_us);
  notice_regime(forecast, run_us, cpu_us);
  forecast_all();
  if (!is_tried) return runs_in_a_row_ >= kTriedRuns && !is_puzzled_ ? try_another(index) : index;
  const float home_us = forecasts_[home_].expected_us;
  credit_ -= std::max(run_us / home_us - 1, 0.0f);
  if (runs_in_a_row_ < kTriedRuns && run_us < kHopeless * home_us) return index;
  if (forecast.expected_us < (1 - kMargin) * home_us) {
    settle(forecast, run_us, cpu_us);
    home_ = index;
    return index;
  }
  forecast.rest_runs =
      static_cast<uint16_t>(8u << std::min<uint32_t>(forecast.failed_tries, kMaxDoublings));
  ++forecast.failed_tries;
  return try_another(index);
}

}  // namespace codl::rt
