// Tests the adaptive policy on recorded runs: mobilenet_v2 on two cores of a server (an AMD EPYC),
// the CPU's steps on one and PoCL on the other, with 0, 1 and 2 processes computing beside the
// CPU's. Both cores had other work, too, so runs of the same variant differ by half.
#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "test/runtime/policy/planned_chooser.h"

namespace codl::test {
namespace {

struct RecordedRun {
  float us;
  float cpu_us;
};
constexpr size_t kRecordedLoads = 3;  // 0, 1 and 2 processes
constexpr size_t kRecordedVariants = 4;
const std::vector<RecordedRun> kRecordedRuns[kRecordedVariants * kRecordedLoads] = {
#include "test/runtime/policy/recorded_runs.inc"
};
const std::vector<float> kPredictedUs = {4703, 7019, 5850, 7665};

double recorded_mean_us(size_t variant, size_t load) {
  double sum = 0;
  const std::vector<RecordedRun>& runs = kRecordedRuns[variant * kRecordedLoads + load];
  for (const RecordedRun& run : runs) sum += run.us;
  return sum / static_cast<double>(runs.size());
}

// Replays the current variant's runs in their recorded order, from a random one on.
class ReplayedRuns {
 public:
  explicit ReplayedRuns(uint32_t seed) : random_(seed), chooser_(kPredictedUs) {}

  // Returns the mean of a phase's runs after the first ten.
  double phase_us(size_t load, double duration_us) {
    double sum_us = 0, passed_us = 0;
    int count = 0;
    bool is_first = true;
    for (int i = 0; passed_us < duration_us; ++i) {
      const std::vector<RecordedRun>& runs = kRecordedRuns[used_ * kRecordedLoads + load];
      const bool is_cold = used_ != last_;
      place_ = is_cold || is_first ? random_() % runs.size() : (place_ + 1) % runs.size();
      is_first = false;
      last_ = used_;
      const float us = runs[place_].us * (is_cold ? 1.1f : 1);
      passed_us += us;
      if (i >= 10) {
        sum_us += us;
        ++count;
      }
      used_ = chooser_->next(used_, {us, runs[place_].cpu_us});
    }
    return sum_us / count;
  }

 private:
  std::mt19937 random_;
  PlannedChooser chooser_;
  size_t used_ = 0;
  size_t last_ = 0;
  size_t place_ = 0;
};

TEST_CASE("recorded runs: phases beside 0, 1, 2 and 0 processes are near the best variant",
          "[simulated]") {
  constexpr int kSessions = 50;
  constexpr size_t kPhases[] = {0, 1, 2, 0};
  double excess[4] = {};
  int within = 0;
  for (uint32_t seed = 0; seed < kSessions; ++seed) {
    ReplayedRuns session(seed);
    for (size_t i = 0; i < 4; ++i) {
      double best = recorded_mean_us(0, kPhases[i]), worst = best;
      for (size_t variant = 1; variant < kRecordedVariants; ++variant) {
        best = std::min(best, recorded_mean_us(variant, kPhases[i]));
        worst = std::max(worst, recorded_mean_us(variant, kPhases[i]));
      }
      const double us = session.phase_us(kPhases[i], 8e6);
      CHECK(us < worst);
      excess[i] += (us / best - 1) / kSessions;
      within += us <= 1.05 * best ? 1 : 0;
    }
  }
  for (double one : excess) CHECK(one < 0.05);
  CHECK(within >= kSessions * 4 * 95 / 100);
}

}  // namespace
}  // namespace codl::test
