#include "runtime/src/variant_chooser.h"

#include <algorithm>
#include <cmath>

#include "runtime/src/diag.h"

namespace codl::rt {
namespace {

// Variances are relative: 0.01 is a standard deviation of 10 %. The constants were set by
// simulation of variants beside 0, 1 and 2 processes, recorded on an AMD EPYC with 2 cores.

// A look is as many runs as the home variant does in this time: three slices of Linux's scheduler.
constexpr float kLookUs = 12000;
constexpr uint32_t kMaxLookRuns = 32;
// What is learned of a variant is the mean of about so many looks, the last ones.
constexpr float kMaxLooks = 32;
constexpr float kMaxOff = 3;  // standard deviations that one look may move it, or a drift
constexpr float kMinNoise = 0.0004f;
constexpr float kNewNoise = 0.02f;  // at least, where load has changed
constexpr float kNoiseGain = 1 / 8.0f;
constexpr float kMaxNoiseStep = 9;  // times what is known: one look alone is no noise
// Page's test for a change: what looks are off by, in standard deviations less kSlack, adds up to
// kChanged.
constexpr float kSlack = 1;
constexpr float kChanged = 8;
// A variant is better that is faster by this share, and may be that is so with its mean so many
// standard deviations lower.
constexpr float kMargin = 0.03f;
constexpr float kDoubt = 0.7f;
// Times the home variant's: the first run is enough, if it is as long as a look.
constexpr float kHopeless = 2;
// What a variant may be believed to take more than the home one, as a share, and yet be looked at
// because load has changed.
constexpr float kMaxLoss = 3;
// Runs before a variant is looked at whatever is known, so that what the look takes more is at most
// such a share of what all runs take. Twice as many after each such look that was in vain.
constexpr float kMinRest = 256;
constexpr float kMaxShare = 0.002f;
constexpr float kRestGrowth = 2;

// `difference`: of two looks at the same variant, one after the other, as a share.
void follow_noise(float& noise, float difference) {
  const float seen = difference * difference / 2;
  noise += kNoiseGain * (std::min(seen, kMaxNoiseStep * noise) - noise);
  noise = std::clamp(noise, kMinNoise, 1.0f);
}

// Plans may predict anything from 0 to 3e38.
float finite_or(float otherwise, float value) { return std::isfinite(value) ? value : otherwise; }

}  // namespace

codl_status_t VariantChooser::create(const codl_allocator_t& allocator, const VariantList& variants,
                                     codl_diag_t* diag) {
  if (!forecasts_.allocate(allocator, variants.count)) {
    set_diag(diag, "no memory for forecasts of %zu variants", variants.count);
    return CODL_OUT_OF_MEMORY;
  }
  for (size_t i = 0; i < variants.count; ++i)
    forecasts_[i].expected_us = forecasts_[i].us = variants.items[i]->predicted_us();
  noise_ = cpu_noise_ = kNewNoise;
  return CODL_OK;
}

// The look that ends with this run; of none: it goes on. The first run behind another variant's
// finds nothing in the caches and does not count, unless the variant is hopeless.
VariantChooser::Look VariantChooser::add_run(size_t index, float run_us, float cpu_us) {
  const Forecast& home = forecasts_[home_];
  if (runs_in_a_row_ == 1) {
    const bool is_hopeless = index != home_ && run_us > std::max(kHopeless * home.us, kLookUs);
    return is_hopeless ? Look{run_us, cpu_us} : Look{};
  }
  sum_.us += run_us;
  sum_.cpu_us += cpu_us;
  const auto count = static_cast<float>(++sum_runs_);
  const float expected_us = home.looks > 0 ? home.us : run_us;
  if (count * expected_us < kLookUs && sum_runs_ < kMaxLookRuns) return {};
  const Look look = {sum_.us / count, sum_.cpu_us / count};
  sum_ = {};
  sum_runs_ = 0;
  return look;
}

// From looks in a row, which differ by noise alone unless load changes.
void VariantChooser::learn_noise(const Forecast& forecast, const Look& look) {
  if (last_look_.us > 0) {
    follow_noise(noise_, (look.us - last_look_.us) / forecast.us);
    if (forecast.cpu_us > 0)
      follow_noise(cpu_noise_, (look.cpu_us - last_look_.cpu_us) / forecast.cpu_us);
  }
  last_look_ = look;
}

void VariantChooser::learn(Forecast& forecast, const Look& look) {
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

// After a look at the home variant.
bool VariantChooser::notice_change(const Look& look) {
  const Forecast& home = forecasts_[home_];
  if (home.looks == 0) {  // its first
    // The host chose it: what is known of the others holds.
    for (const Forecast& forecast : forecasts_)
      if (forecast.looks > 0) return false;
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
    follow_change(Drift(drift));
    return true;
  }
  return false;
}

// The others are believed to change as the home variant does, until they are looked at. Where it is
// faster than it ever was, so they may be: all that ran before ran under load.
void VariantChooser::follow_change(const Drift& drift) {
  const Forecast& home = forecasts_[home_];
  const Look look = {drift.sum.us / drift.looks, drift.sum.cpu_us / drift.looks};
  // 1: a plan without predictions, or with absurd ones.
  const float change = home.us > 0 ? finite_or(1, look.us / home.us) : 1;
  const float faster = look.us < home.least_us ? look.us / home.least_us : 1;
  for (Forecast& forecast : forecasts_) {
    forecast.looks = 0;
    forecast.rest_runs = 0;
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

// After a look at another variant: it is the home one if it is better.
void VariantChooser::judge(size_t index) {
  Forecast& forecast = forecasts_[index];
  forecast.looked_at = runs_;
  const float loss = forecast.us / forecasts_[home_].us - 1;
  // A try may go on for many looks; it is no reason to rest longer than after one.
  const auto runs = static_cast<float>(std::min(runs_in_a_row_, 1 + kMaxLookRuns));
  forecast.rest_runs = std::max({forecast.rest_runs, kMinRest, runs * loss / kMaxShare});
  if (loss <= -kMargin) set_home(index);
}

void VariantChooser::set_home(size_t index) {
  forecasts_[home_].looked_at = runs_;
  forecasts_[home_].rest_runs = forecasts_[index].rest_runs = 0;
  home_ = index;
  for (Drift& drift : drifts_) drift = {};
}

// Load may have gone from a processor that the home variant does not use.
bool VariantChooser::is_due(const Forecast& forecast) const {
  const auto rested = static_cast<float>(runs_ - forecast.looked_at);
  return rested >= std::max(forecast.rest_runs, kMinRest);
}

float VariantChooser::least_expected_us(const Forecast& forecast) const {
  if (is_due(forecast)) return 0;
  if (forecast.looks > 0) return forecast.us * (1 - kDoubt * std::sqrt(noise_ / forecast.looks));
  const bool is_too_slow = forecast.us > (1 + kMaxLoss) * forecasts_[home_].us;
  return is_too_slow ? forecast.us : forecast.least_us;
}

size_t VariantChooser::choose() {
  size_t found = home_;
  float least_us = (1 - kMargin) * forecasts_[home_].us;
  for (size_t i = 0; i < forecasts_.count(); ++i) {
    const float us = i == home_ ? least_us : least_expected_us(forecasts_[i]);
    if (us >= least_us) continue;
    least_us = us;
    found = i;
  }
  return found;
}

// At the first run behind another variant's, before it counts. Not when it is chosen: the host may
// have the session go on with another one.
void VariantChooser::begin_row(size_t index) {
  last_look_ = sum_ = {};
  sum_runs_ = runs_in_a_row_ = 0;
  Forecast& forecast = forecasts_[index];
  if (index == home_ || !is_due(forecast)) return;
  forecast.looks = 0;  // what was known of it may hold no more
  forecast.rest_runs *= kRestGrowth;
}

size_t VariantChooser::next(size_t index, float run_us, float cpu_us) {
  run_us = std::max(run_us, 0.001f);                        // a clock's step
  if (index != chosen_ && index != home_) set_home(index);  // the host chose it
  if (index != last_) begin_row(index);
  ++runs_;
  last_ = index;
  ++runs_in_a_row_;
  const Look look = add_run(index, run_us, cpu_us);
  chosen_ = index;
  if (look.us == 0) return index;
  learn_noise(forecasts_[index], look);
  if (index != home_ || !notice_change(look)) learn(forecasts_[index], look);
  if (index != home_) judge(index);
  const size_t found = choose();
  for (Forecast& forecast : forecasts_)
    forecast.expected_us.store(forecast.us, std::memory_order_relaxed);
  if (found != index)
    reason_ = found == home_ ? "the one that was tried is not faster" : "it may be faster now";
  return chosen_ = found;
}

}  // namespace codl::rt
