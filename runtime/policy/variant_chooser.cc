#include "runtime/policy/variant_chooser.h"

#include <algorithm>
#include <cmath>

namespace codl::policy {
namespace {

// Variances are relative: 0.01 is a standard deviation of 10 %. The constants were set by
// simulation of variants beside 0, 1 and 2 processes, recorded on an AMD EPYC with 2 cores.

// A variant is better if it is faster by this share.
constexpr float kMargin = 0.03f;
// A look is as many runs as the home variant does in this time: three slices of Linux's scheduler.
constexpr float kLookUs = 12000;
// The mean of a variant is that of about its last kMaxLooks looks.
constexpr float kMaxLooks = 32;
// One look moves a mean or a drift by at most kMaxOff standard deviations.
constexpr float kMaxOff = 3;
// The least noise: kMaxOff standard deviations are kMargin.
constexpr float kMinNoise = kMargin * kMargin / (kMaxOff * kMaxOff);
constexpr float kNewNoise = 0.02f;      // noise is at least this after a change of load
constexpr float kNoiseGain = 1 / 8.0f;  // the last two looks have this share in the estimate of
                                        // noise
// Page's test for a change: the sum of how far looks are off, in standard deviations less kSlack
// each, reaches kChanged.
constexpr float kSlack = 1;
constexpr float kChanged = 8;
// A variant that takes kHopeless times as long as the home one is left after its first run, and a
// change of load is no reason to look at it.
constexpr float kHopeless = 4;
// A variant rests for at least kMinRest runs after a look, and for so long that the time lost by
// the look is at most kMaxShare of the time of all runs. Then it is looked at whatever is known of
// it.
constexpr float kMinRest = 256;
constexpr float kMaxShare = 0.002f;

// `difference` is how far apart two looks in a row at the same variant are, as a share.
void follow_noise(float& noise, float difference) {
  const float seen = difference * difference / 2;
  noise += kNoiseGain * (std::min(seen, kMaxOff * kMaxOff * noise) - noise);
  noise = std::clamp(noise, kMinNoise, 1.0f);
}

// Plans may predict anything from 0 to 3e38.
float finite_or(float otherwise, float value) { return std::isfinite(value) ? value : otherwise; }

}  // namespace

bool VariantChooser::create(size_t variant_count) {
  forecasts_ = static_cast<Forecast*>(std::calloc(variant_count, sizeof(Forecast)));
  variant_count_ = variant_count;
  noise_ = cpu_noise_ = kNewNoise;
  return forecasts_ != nullptr;
}

// The look that ends with this run; of none: it goes on. The first run behind another variant's
// finds nothing in the caches and does not count, unless the variant is hopeless.
RunTime VariantChooser::add_run(size_t index, RunTime run) {
  const Forecast& home = forecasts_[home_];
  if (index != last_) {
    const bool is_hopeless = index != home_ && run.us > std::max(kHopeless * home.us, kLookUs);
    sum_ = {};
    sum_runs_ = 0;
    return is_hopeless ? run : RunTime{};
  }
  sum_.us += run.us;
  sum_.cpu_us += run.cpu_us;
  ++sum_runs_;
  const float expected_us = home.looks > 0 ? home.us : run.us;
  if (sum_runs_ * expected_us < kLookUs) return {};
  return {sum_.us / sum_runs_, sum_.cpu_us / sum_runs_};
}

// Learns from looks in a row, which differ by noise alone unless load changes.
void VariantChooser::learn_noise(const Forecast& home, RunTime look) {
  if (last_look_.us > 0) {
    follow_noise(noise_, (look.us - last_look_.us) / home.us);
    if (home.cpu_us > 0) follow_noise(cpu_noise_, (look.cpu_us - last_look_.cpu_us) / home.cpu_us);
  }
  last_look_ = look;
}

void VariantChooser::learn(Forecast& forecast, RunTime look) {
  if (forecast.looks == 0) {
    forecast.us = look.us;
    forecast.cpu_us = look.cpu_us;
  } else {
    const float most = kMaxOff * std::sqrt(noise_ * (1 + 1 / forecast.looks));
    const float off = std::clamp(look.us / forecast.us - 1, -std::min(most, 0.9f), most);
    forecast.us *= 1 + off / (forecast.looks + 1);
    forecast.cpu_us += (look.cpu_us - forecast.cpu_us) / (forecast.looks + 1);
  }
  forecast.looks = std::min(forecast.looks + 1, kMaxLooks - 1);
  if (forecast.least_us == 0) forecast.least_us = forecast.us;
  forecast.least_us = std::min(forecast.least_us, forecast.us);
}

// Called after a look at the home variant.
bool VariantChooser::notice_change(RunTime look) {
  const Forecast& home = forecasts_[home_];
  if (home.looks == 0) {  // its first
    // The host chose it: what is known of the others holds.
    for (size_t i = 0; i < variant_count_; ++i)
      if (forecasts_[i].looks > 0) return false;
    follow_change({0, look, 1});
    return true;
  }
  const float known = 1 + 1 / home.looks;
  const float off = (look.us / home.us - 1) / std::sqrt(noise_ * known);
  const float cpu_off =
      home.cpu_us > 0 ? (look.cpu_us / home.cpu_us - 1) / std::sqrt(cpu_noise_ * known) : 0;
  const float offs[] = {off, -off, cpu_off, -cpu_off};
  for (size_t i = 0; i < 4; ++i) {
    Drift& drift = drifts_[i];
    drift.score += std::min(offs[i], kMaxOff) - kSlack;
    drift.sum.us += look.us;
    drift.sum.cpu_us += look.cpu_us;
    ++drift.looks;
    if (!(drift.score > 0)) drift = {};
    if (drift.score < kChanged) continue;
    follow_change(drift);
    return true;
  }
  return false;
}

// The others are believed to change as the home variant does, until they are looked at. Where it is
// faster than it ever was, so they may be: all that ran before ran under load.
void VariantChooser::follow_change(Drift drift) {
  const Forecast& home = forecasts_[home_];
  const RunTime look = {drift.sum.us / drift.looks, drift.sum.cpu_us / drift.looks};
  // The change is 1 for a plan without predictions, or with absurd ones.
  const float change = home.us > 0 ? finite_or(1, look.us / home.us) : 1;
  const float faster = look.us < home.least_us ? look.us / home.least_us : 1;
  for (size_t i = 0; i < variant_count_; ++i) {
    Forecast& forecast = forecasts_[i];
    forecast.looks = 0;
    forecast.rest_runs = kMinRest;
    forecast.looked_at = runs_;
    forecast.us = finite_or(0, forecast.us * change);
    forecast.least_us *= faster;
  }
  learn(forecasts_[home_], look);
  forecasts_[home_].looks = drift.looks;
  noise_ = std::max(noise_, kNewNoise);
  cpu_noise_ = std::max(cpu_noise_, kNewNoise);
  for (Drift& one : drifts_) one = {};
}

// After a look of `runs` at another variant: it is the home one if it is better.
void VariantChooser::judge(size_t index, float runs) {
  Forecast& forecast = forecasts_[index];
  const float loss = forecast.us / forecasts_[home_].us - 1;
  forecast.looked_at = runs_;
  forecast.rest_runs = std::max(kMinRest, runs * loss / kMaxShare);
  if (loss <= -kMargin) set_home(index);
}

void VariantChooser::set_home(size_t index) {
  forecasts_[home_].looked_at = runs_;
  forecasts_[home_].rest_runs = kMinRest;
  home_ = index;
  last_look_ = {};
  for (Drift& drift : drifts_) drift = {};
}

// A rest has its end: load may have gone from a processor that the home variant does not use.
float VariantChooser::least_expected_us(const Forecast& forecast) const {
  if (static_cast<float>(runs_ - forecast.looked_at) >= forecast.rest_runs) return 0;
  if (forecast.looks > 0) return forecast.us;
  const bool is_hopeless = forecast.us > kHopeless * forecasts_[home_].us;
  return is_hopeless ? forecast.us : forecast.least_us;
}

size_t VariantChooser::choose() const {
  size_t found = home_;
  float least_us = (1 - kMargin) * forecasts_[home_].us;
  for (size_t i = 0; i < variant_count_; ++i) {
    const float us = i == home_ ? least_us : least_expected_us(forecasts_[i]);
    if (us >= least_us) continue;
    least_us = us;
    found = i;
  }
  return found;
}

size_t VariantChooser::next(size_t index, RunTime run) {
  run.us = std::max(run.us, 0.001f);                        // a clock's step
  if (index != chosen_ && index != home_) set_home(index);  // the host chose it
  ++runs_;
  const RunTime look = add_run(index, run);
  last_ = chosen_ = index;
  if (look.us == 0) return index;
  const float runs = sum_runs_ + 1;
  sum_ = {};
  sum_runs_ = 0;
  Forecast& forecast = forecasts_[index];
  if (index == home_) {
    learn_noise(forecast, look);
    if (!notice_change(look)) learn(forecast, look);
  } else {
    last_look_ = {};
    forecast.looks = 0;  // earlier looks may no longer hold
    learn(forecast, look);
    judge(index, runs);
  }
  return chosen_ = choose();
}

}  // namespace codl::policy
