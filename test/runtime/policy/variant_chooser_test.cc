// Tests the adaptive policy on devices whose times the test gives: for each variant under each
// load, with a scheduler's noise. It compares with the best variant of each phase, and checks that
// trying ends.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "test/runtime/policy/planned_chooser.h"
#include "test/runtime/policy/shared_core.h"

namespace codl::test {
namespace {

constexpr int kLayers = 20;

// Describes a variant whose layers are computed by both processors at once, or by one of them.
struct Shares {
  const char* name;
  float cpu_us;  // sum over all layers
  float gpu_us;
};

// Returns the plan's predictions; 0 where a plan has none (not `is_predicted`).
std::vector<float> predicted_us(const std::vector<Shares>& shares, bool is_predicted = true) {
  std::vector<float> us;
  for (const Shares& one : shares)
    us.push_back(is_predicted ? std::max(one.cpu_us, one.gpu_us) : 0);
  return us;
}

// Describes a device whose CPU or GPU is slower than predicted. A processor is that slow if it is
// used all the time; `relief` reduces this if it is used for a short share of a run.
struct Load {
  float cpu = 1;
  float gpu = 1;
};

class Device {
 public:
  Device(std::vector<Shares> variants, float relief, float noise, uint32_t seed,
         bool is_predicted = true)
      : shares_(std::move(variants)),
        relief_(relief),
        noise_(noise),
        random_(seed),
        chooser_(predicted_us(shares_, is_predicted)) {
    errors_.resize(shares_.size());
    std::uniform_real_distribution<float> error(0.85f, 1.2f);
    for (float& one : errors_) one = error(random_);
  }

  // From now on, this share of the runs takes ten times as long.
  void set_long_runs(float share) { long_share_ = share; }
  // From now on, a run takes these times, whatever the load.
  void set_truth(std::vector<float> us) { truth_us_ = std::move(us); }

  // Returns the mean time of a run; `cpu_us`: of its CPU steps.
  float mean_us(size_t variant, Load load, float* cpu_us) const {
    const Shares& shares = shares_[variant];
    if (!truth_us_.empty()) return *cpu_us = truth_us_[variant];
    const auto slow = [&](float us, float other_us, float factor) {
      const float used = us / std::max(us, other_us);
      return us * (1 + (factor - 1) * (1 - relief_ * (1 - used)));
    };
    *cpu_us = slow(shares.cpu_us, shares.gpu_us, load.cpu) * errors_[variant];
    const float gpu_us = slow(shares.gpu_us, shares.cpu_us, load.gpu) * errors_[variant];
    return std::max(*cpu_us, gpu_us);
  }
  float best_us(Load load, bool is_worst = false) const {
    float found = 0, cpu_us;
    for (size_t i = 0; i < shares_.size(); ++i) {
      const float us = mean_us(i, load, &cpu_us);
      if (i == 0 || (us > found) == is_worst) found = us;
    }
    return found;
  }

  // Returns the average of `count` runs after the first `left_out`.
  float run(Load load, int count, int left_out = 0) {
    double sum = 0;
    for (int i = 0; i < count; ++i) {
      float cpu_us = 0;
      const float mean = mean_us(used_, load, &cpu_us);
      // Scheduling only adds: a run is never faster by more than half of its average delay.
      const float factor =
          1 - noise_ / 2 + std::exponential_distribution<float>(2 / noise_)(random_);
      const float cold = used_ != last_ ? 1.15f : 1;
      last_ = used_;
      const bool is_long = std::uniform_real_distribution<float>(0, 1)(random_) < long_share_;
      const float us = mean * factor * cold * (is_long ? 10 : 1);
      if (i >= left_out) sum += us;
      used_ = chooser_->next(used_, {us, cpu_us * factor * cold});
    }
    return static_cast<float>(sum / (count - left_out));
  }
  size_t used() const { return used_; }
  const policy::VariantChooser& chooser() const { return *chooser_; }

 private:
  std::vector<Shares> shares_;
  float relief_;
  float noise_;
  std::mt19937 random_;
  std::vector<float> errors_;  // relative errors of predictions
  std::vector<float> truth_us_;
  float long_share_ = 0;
  PlannedChooser chooser_;
  size_t used_ = 0;
  size_t last_ = 0;
};

const std::vector<Shares> kVariants = {
    {"coexec", 10000, 10000}, {"cpu", 19000, 0}, {"gpu50", 14000, 6500}, {"busy", 5000, 14000}};

// On 50 devices, phases have 100 runs, of which the policy may use the first ten to find out.
// Returns the average time above the best variant, per phase.
std::vector<double> mean_excess(const std::vector<Shares>& variants, const std::vector<Load>& loads,
                                float relief, float noise) {
  constexpr int kDevices = 50;
  std::vector<double> excess(loads.size());
  for (uint32_t seed = 0; seed < kDevices; ++seed) {
    Device device(variants, relief, noise, seed);
    for (size_t i = 0; i < loads.size(); ++i) {
      CAPTURE(i);
      const float us = device.run(loads[i], 100, 10);
      CHECK(us < device.best_us(loads[i], true));  // the worst fixed variant
      excess[i] += (us / device.best_us(loads[i]) - 1) / kDevices;
    }
  }
  return excess;
}

// Processes beside the thread, and how much slower everything is at the beginning and the end of a
// phase: a phone gets hot.
struct Phase {
  int others = 0;
  float begin_slowdown = 1;
  float end_slowdown = 1;
};

// Runs variants on such a core, each by itself or as a chooser decides.
class SharedDevice {
 public:
  // `lost_turns` says how often, among all layers that both processors compute, a thread that
  // sleeps until the GPU has finished finds the core taken.
  SharedDevice(std::vector<Shares> variants, float noise, uint32_t seed, float lost_turns = 0)
      : shares_(std::move(variants)),
        noise_(noise),
        lost_turns_(lost_turns),
        random_(seed),
        core_(kSliceUs, std::uniform_real_distribution<float>(0, kSliceUs)(random_)),
        chooser_(predicted_us(shares_)) {
    std::uniform_real_distribution<float> error(0.85f, 1.2f);
    for (size_t i = 0; i < 2 * shares_.size(); ++i) errors_.push_back(error(random_));
  }

  // Holds means of a phase's runs after the first kLeftOut: the chooser's, and those of the best
  // and the worst variant alone.
  struct Means {
    double adaptive = 0;
    double best = 0;
    double worst = 0;
  };
  Means run(const Phase& phase, int count) {
    core_.set_others(phase.others);
    others_ = phase.others;
    Means means;
    for (size_t variant = 0; variant < shares_.size(); ++variant) {
      const double mean = mean_us(phase, count, [&](float, float) { return variant; });
      if (variant == 0 || mean < means.best) means.best = mean;
      means.worst = std::max(means.worst, mean);
    }
    means.adaptive = mean_us(phase, count, [&](float us, float cpu_us) {
      if (us > 0) used_ = chooser_->next(used_, {us, cpu_us});
      return used_;
    });
    return means;
  }

  static constexpr int kLeftOut = 10;

 private:
  static constexpr float kSliceUs = 3000;  // Linux's slice for a few processes on a core

  // `choose` returns the variant of the next run, given the last one's time (0: there was none).
  template <typename Choose>
  double mean_us(const Phase& phase, int count, Choose choose) {
    double sum_us = 0;
    float us = 0, cpu_us = 0;
    size_t last = SIZE_MAX;
    for (int i = 0; i < count; ++i) {
      const size_t variant = choose(us, cpu_us);
      const float part = static_cast<float>(i) / static_cast<float>(count);
      const float cold = variant != last && last != SIZE_MAX ? 1.1f : 1;
      const float slowdown =
          phase.begin_slowdown + part * (phase.end_slowdown - phase.begin_slowdown);
      us = run_us(variant, cold * slowdown, &cpu_us);
      last = variant;
      if (i >= kLeftOut) sum_us += us;
    }
    return sum_us / (count - kLeftOut);
  }

  float run_us(size_t variant, float slowdown, float* cpu_us) {
    const Shares& shares = shares_[variant];
    slowdown *= 1 - noise_ / 2 + std::exponential_distribution<float>(2 / noise_)(random_);
    const float gpu_us = shares.gpu_us / kLayers * errors_[2 * variant + 1] * slowdown;
    float run_us = 0;
    *cpu_us = 0;
    for (int layer = 0; layer < kLayers; ++layer) {
      const float own_us = shares.cpu_us / kLayers * errors_[2 * variant] * slowdown;
      const float layer_us = own_us > 0 ? core_.compute_us(own_us) : 0;
      *cpu_us += layer_us;
      run_us += layer_us;
      if (gpu_us > layer_us)
        run_us += own_us > 0 ? core_.poll_us(gpu_us - layer_us) : gpu_us - layer_us;
      if (own_us > 0 && gpu_us > 0 && lost_turns_ > 0 &&
          std::uniform_real_distribution<float>(0, 1)(random_) < lost_turns_)
        run_us += static_cast<float>(others_) * kSliceUs;
    }
    return run_us;
  }

  std::vector<Shares> shares_;
  float noise_;
  float lost_turns_;
  int others_ = 0;
  std::mt19937 random_;
  SharedCore core_;
  std::vector<float> errors_;  // errors of predictions, indexed by variant and processor
  PlannedChooser chooser_;
  size_t used_ = 0;
};

// Networks of 4 to 25 ms; in the last one the first variant is the CPU's plan.
const std::vector<std::vector<Shares>> kNetworks = {
    {{"coexec", 4000, 4000}, {"cpu", 7500, 0}, {"gpu50", 5500, 2600}, {"busy", 2200, 5500}},
    {{"coexec", 15000, 15000}, {"cpu", 27000, 0}, {"gpu50", 20000, 10000}, {"busy", 8000, 21000}},
    {{"coexec", 8000, 0}, {"cpu", 8000, 0}, {"gpu50", 7000, 4000}, {"busy", 2200, 9500}}};

// Over the phases of 50 devices: the share whose runs take at most 5 % more than the best
// variant's; the mean of their excess; the share that takes more than the worst variant.
struct Followed {
  double within = 0;
  double mean_excess = 0;
  int beyond_worst = 0;
};
Followed follow(const std::vector<Shares>& network, const std::vector<Phase>& phases, float noise) {
  constexpr int kDevices = 50;
  Followed followed;
  const auto count = static_cast<double>(kDevices * phases.size());
  for (uint32_t seed = 0; seed < kDevices; ++seed) {
    SharedDevice device(network, noise, seed);
    for (const Phase& phase : phases) {
      const SharedDevice::Means means = device.run(phase, 250);
      const double excess = means.adaptive / means.best - 1;
      followed.within += (excess <= 0.05 ? 1 : 0) / count;
      followed.mean_excess += excess / count;
      followed.beyond_worst += means.adaptive > 1.01 * means.worst ? 1 : 0;
    }
  }
  return followed;
}

TEST_CASE("ten runs after the CPU's load changes, runs take 5 % more than the best variant's",
          "[simulated]") {
  const float relief = GENERATE(0.0f, 0.5f);
  const float noise = GENERATE(0.05f, 0.15f);
  CAPTURE(relief, noise);
  for (double excess : mean_excess(kVariants, {{1, 1}, {2, 1}, {3, 1}, {1, 1}}, relief, noise))
    CHECK(excess < 0.05);
}

TEST_CASE("ten runs after the GPU's load changes, runs take 7 % more than the best variant's",
          "[simulated]") {
  const float relief = GENERATE(0.0f, 0.5f);
  CAPTURE(relief);
  for (double excess : mean_excess(kVariants, {{1, 1}, {1, 1.8f}, {1, 4}, {1, 6}}, relief, 0.05f))
    CHECK(excess < 0.07);  // trying a variant that takes two to six times as long costs more
}

TEST_CASE("a processor that is not used any more is tried again, sooner or later", "[simulated]") {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    Device device(kVariants, 0, 0.05f, seed);
    device.run({1, 1}, 50);
    int cpu_runs = 0;
    for (int i = 0; i < 100; ++i) {
      device.run({1, 6}, 1);
      cpu_runs += device.used() == 1 ? 1 : 0;
    }
    CHECK(cpu_runs >= 90);
    // In the end, tries without success became rare.
    CHECK(device.run({1, 1}, 300, 200) < 1.05f * device.best_us({1, 1}));
  }
}

TEST_CASE("in noise of 40 % the policy still keeps to good variants", "[simulated]") {
  for (double excess : mean_excess(kVariants, {{1, 1}, {2, 1}, {3, 1}, {1, 1}}, 0, 0.4f))
    CHECK(excess < 0.12);
}

TEST_CASE("beside 0, 1 and 2 processes nearly all phases are within 5 % of the best variant",
          "[simulated]") {
  const std::vector<Shares>& network = kNetworks[GENERATE(0u, 1u, 2u)];
  const float noise = GENERATE(0.04f, 0.12f);
  CAPTURE(network[0].cpu_us, noise);
  const Followed followed = follow(network, {{0}, {1}, {2}, {0}}, noise);
  CHECK(followed.within >= 0.9);
  CHECK(followed.mean_excess < 0.03);
  CHECK(followed.beyond_worst == 0);
}

// Beside other processes, co-execution is slower than the CPU's share alone tells.
TEST_CASE("what load said of a variant does not count when the load has gone", "[simulated]") {
  const std::vector<Shares>& network = kNetworks[GENERATE(0u, 1u, 2u)];
  double excess = 0;
  constexpr int kDevices = 50;
  for (uint32_t seed = 0; seed < kDevices; ++seed) {
    SharedDevice device(network, 0.04f, seed, 0.15f);
    for (const int others : {0, 1, 2}) device.run({others}, 250);
    const SharedDevice::Means means = device.run({0}, 250);
    excess += (means.adaptive / means.best - 1) / kDevices;
  }
  CHECK(excess < 0.08);
}

// Describes mobilenet_v2 as measured on two quiet cores: a run's time alone, and its time on a
// shared core, which is longer if it loses turns.
struct MeasuredVariant {
  const char* name;
  float alone_us, shared_us;
};
constexpr MeasuredVariant kMeasured[] = {
    {"coexec", 2490, 3000}, {"cpu", 3040, 3270}, {"gpu50", 2980, 3500}, {"busy", 4000, 1600}};

TEST_CASE("variants as measured: phases of seconds are near the best variant", "[simulated]") {
  constexpr int kSessions = 50;
  constexpr float kSliceUs = 4000, kNoise = 0.04f;
  const double phase_us = GENERATE(2.2e6, 8e6);
  CAPTURE(phase_us);
  int within = 0;
  double excess[4] = {};
  for (uint32_t seed = 0; seed < kSessions; ++seed) {
    std::mt19937 random(seed);
    std::vector<Shares> shares;
    for (const MeasuredVariant& one : kMeasured) shares.push_back({one.name, one.alone_us, 0});
    PlannedChooser chooser(predicted_us(shares));
    SharedCore core(kSliceUs, kSliceUs);
    size_t used = 0, last = 0;
    constexpr int kOthers[] = {0, 1, 2, 0};
    for (size_t phase = 0; phase < 4; ++phase) {
      const auto others = static_cast<float>(kOthers[phase]);
      core.set_others(kOthers[phase]);
      double passed_us = 0, sum_us = 0;
      int runs = 0;
      for (; passed_us < phase_us; ++runs) {
        const float factor =
            (1 - kNoise / 2 + std::exponential_distribution<float>(2 / kNoise)(random)) *
            (used != last ? 1.12f : 1);
        last = used;
        const float own_us = kMeasured[used].shared_us * factor;
        const float us = kMeasured[used].alone_us * factor + core.compute_us(own_us) - own_us;
        passed_us += us;
        if (runs >= 10) sum_us += us;
        used = chooser->next(used, {us, us});
      }
      double best_us = 1e9;
      for (const MeasuredVariant& one : kMeasured)
        best_us = std::min<double>(best_us, one.alone_us + others * one.shared_us);
      const double over = sum_us / (runs - 10) / best_us - 1;
      excess[phase] += over / kSessions;
      within += over <= 0.05 ? 1 : 0;
    }
  }
  for (const double one : excess) CHECK(one < 0.05);
  CHECK(within >= kSessions * 4 * 85 / 100);
}

TEST_CASE("single long runs without load are no load") {
  Device device(kVariants, 0, 0.05f, 5);
  device.run({1, 1}, 100);
  device.set_long_runs(0.01f);
  int tries = 0;
  constexpr int kRuns = 3000;
  for (int i = 0; i < kRuns; ++i) {
    device.run({1, 1}, 1);
    tries += device.used() != 0 ? 1 : 0;
  }
  CHECK(tries <= kRuns * 3 / 100);
}

TEST_CASE("a phone that gets hot and cools down is followed", "[simulated]") {
  const std::vector<Shares>& network = kNetworks[GENERATE(0u, 1u, 2u)];
  const Followed followed = follow(network, {{0, 1, 1.5f}, {0, 1.5f, 1}, {1, 1, 1.3f}}, 0.04f);
  CHECK(followed.within >= 0.9);
  CHECK(followed.mean_excess < 0.03);
  CHECK(followed.beyond_worst == 0);
}

TEST_CASE("plans without predictions are tried, too") {
  std::vector<Shares> variants = kVariants;
  Device device(variants, 0, 0.05f, 3, false);
  CHECK(device.run({1, 1}, 200, 50) < 1.05f * device.best_us({1, 1}));
}

TEST_CASE("what tries cost is bounded, whatever runs take") {
  // Every variant but the first takes ten times as long as it is predicted to.
  Device device({{"coexec", 10000, 0}, {"a", 5000, 0}, {"b", 6000, 0}, {"c", 7000, 0}}, 0, 0.05f,
                1);
  device.set_truth({10000, 100000, 100000, 100000});
  constexpr int kRuns = 2000;
  int tries = 0;
  for (int i = 0; i < kRuns; ++i) {
    tries += device.used() != 0 ? 1 : 0;
    device.run({1, 1}, 1);
  }
  CHECK(tries >= 3);
  // Each try costs nine runs: one of each variant at first, then 0.2 % of all runs, and one more.
  CHECK(tries * 9 <= 3 * (9 + 0.002 * kRuns + 9));
  CHECK(device.used() == 0);
}

TEST_CASE("one variant is never left") {
  Device device({{"cpu", 10000, 0}}, 0, 0.2f, 1);
  device.run({3, 1}, 100);
  CHECK(device.used() == 0);
  CHECK(device.chooser().expected_us(0) > 20000);
}

}  // namespace
}  // namespace codl::test
