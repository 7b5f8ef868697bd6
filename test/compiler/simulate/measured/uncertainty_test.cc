#include "compiler/simulate/measured/uncertainty.h"

#include <cmath>
#include <utility>

#include "compiler/partition/partition.h"
#include "compiler/schedule/schedule.h"
#include "compiler/simulate/timing/simulate.h"
#include "test/support/catch.h"
#include "test/support/expected.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

using test::value_of;

Schedule schedule_of(const DeviceProfile& profile, const char* strategy, double ratio) {
  PartitionOptions options;
  options.strategy = strategy;
  if (ratio > 0) {
    options.split_dim = SplitDim::Height;
    options.ratio = ratio;
  }
  const ir::Graph graph = test::three_convs();
  const LatencyPredictor predictor(profile);
  Schedule schedule = value_of(
      make_schedule(graph, value_of(partition(graph, predictor, options)), predictor, "test"));
  CHECK(test::error_of(predict(schedule, profile)) == "");
  return schedule;
}

// Times of all kernels may be so many times less or more.
DeviceProfile profile_of(double factor, Origin origin) {
  DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  for (Calibration& known : profile.kernels) {
    known.interval_low = 1 / factor;
    known.interval_high = factor;
    known.origin = origin;
  }
  profile.transfer.sync_us.origin = origin;
  return profile;
}

TEST_CASE("a plan of kernels that are known exactly is, but for its synchronisations") {
  const DeviceProfile profile = profile_of(1, Origin::Measured);
  const Schedule alone = schedule_of(profile, "cpu", 0);
  const Uncertainty sure = value_of(uncertainty_of(alone, profile));
  CHECK(sure.low_us == Approx(alone.predicted_us));
  CHECK(sure.high_us == Approx(alone.predicted_us));
  const Schedule both = schedule_of(profile, "optimal", 0.5);
  const Uncertainty unsure = value_of(uncertainty_of(both, profile));
  CHECK(unsure.low_us < 0.99 * both.predicted_us);
  CHECK(unsure.high_us > 1.01 * both.predicted_us);
}

TEST_CASE("wider intervals of kernels make a plan less sure, around the same middle") {
  double last_us = 0;
  for (const double factor : {1.1, 1.5, 3.0}) {
    const DeviceProfile profile = profile_of(factor, Origin::Fitted);
    const Schedule schedule = schedule_of(profile, "cpu", 0);
    const Uncertainty found = value_of(uncertainty_of(schedule, profile));
    CHECK(found.low_us < schedule.predicted_us);
    CHECK(found.high_us > schedule.predicted_us);
    CHECK(found.high_us - found.low_us > last_us);
    last_us = found.high_us - found.low_us;
    // The draws are always the same.
    const Uncertainty again = value_of(uncertainty_of(schedule, profile));
    CHECK(again.low_us == found.low_us);
    CHECK(again.high_us == found.high_us);
  }
}

TEST_CASE("draws are around the prediction, however far the ends of an interval are from it") {
  DeviceProfile profile = profile_of(1.1, Origin::Measured);
  for (const auto& [low, high] : {std::pair(0.97, 1.9), std::pair(0.5, 1.02)}) {
    for (Calibration& known : profile.kernels) {
      known.interval_low = low;
      known.interval_high = high;
    }
    for (const char* strategy : {"cpu", "optimal"}) {
      INFO(low << " to " << high << ", " << strategy);
      const Schedule schedule = schedule_of(profile, strategy, strategy[0] == 'a' ? 0.5 : 0);
      const Uncertainty found = value_of(uncertainty_of(schedule, profile));
      CHECK(found.low_us <= schedule.predicted_us);
      CHECK(found.high_us >= schedule.predicted_us);
      // The tails are as long as the interval's, on either side.
      const double below = std::log(schedule.predicted_us / found.low_us);
      const double above = std::log(found.high_us / schedule.predicted_us);
      CHECK((above > below) == (high * low > 1));
    }
  }
  // An interval without the prediction says that the prediction is wrong.
  for (Calibration& known : profile.kernels) {
    known.interval_low = 1.2;
    known.interval_high = 1.4;
  }
  const Schedule off = schedule_of(profile, "cpu", 0);
  CHECK(value_of(uncertainty_of(off, profile)).low_us > 1.1 * off.predicted_us);
}

TEST_CASE("two plans are compared within the same draws") {
  const DeviceProfile profile = profile_of(2, Origin::Fitted);
  const Schedule alone = schedule_of(profile, "cpu", 0);
  const std::vector<double> drawn_us = value_of(Draws(profile).latencies_us(alone));
  REQUIRE(drawn_us.size() == kDraws);
  CHECK(share_of_wins(drawn_us, drawn_us) == 0);
  // However far the draws lie apart, a plan that takes a tenth more does so in each.
  DeviceProfile slower = profile;
  for (Calibration& known : slower.kernels)
    for (double& share : known.shares.of) share *= 1.1;
  const std::vector<double> slower_us = value_of(Draws(slower).latencies_us(alone));
  CHECK(share_of_wins(drawn_us, slower_us) == 1);
  CHECK(share_of_wins(slower_us, drawn_us) == 0);
  CHECK(value_of(Draws(profile).some({3, 1}).latencies_us(alone)) ==
        std::vector<double>{drawn_us[3], drawn_us[1]});
}

// Returns the correlation of the logarithms.
double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  double mean[2] = {}, products[3] = {};
  const auto count = static_cast<double>(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    mean[0] += std::log(a[i]) / count;
    mean[1] += std::log(b[i]) / count;
  }
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = std::log(a[i]) - mean[0], y = std::log(b[i]) - mean[1];
    products[0] += x * x;
    products[1] += y * y;
    products[2] += x * y;
  }
  return products[2] / std::sqrt(products[0] * products[1]);
}

TEST_CASE("kernels of a processor share errors that are known of whole networks, others do not") {
  test::GraphBuilder sums(16, 16, 16);
  const ir::ValueId sum = sums.add("a", sums.input(), sums.input());
  const ir::Graph other = sums.finish(sums.add("b", sum, sum));
  const auto drawn_us = [&](Level level, const ir::Graph& graph, const char* strategy) {
    DeviceProfile profile = profile_of(1.5, Origin::Fitted);
    profile.transfer.sync_us.value = 0;
    for (const KernelInfo& info : kKernelInfos) {
      Calibration& known = profile.kernels[info.id - 1];
      known.level = level;
      if (info.op == OpKind::Convert) known.interval_low = known.interval_high = 1;
    }
    const LatencyPredictor predictor(profile);
    PartitionOptions options;
    options.strategy = strategy;
    Schedule schedule = value_of(
        make_schedule(graph, value_of(partition(graph, predictor, options)), predictor, "test"));
    return value_of(Draws(profile).latencies_us(schedule));
  };
  const ir::Graph convolutions = test::three_convs();
  const auto shared = [&](Level level, const char* strategy, const char* other_strategy) {
    return correlation(drawn_us(level, convolutions, strategy),
                       drawn_us(level, other, other_strategy));
  };
  const double of_facts = shared(Level::Facts, "cpu", "cpu");
  const double of_anchors = shared(Level::Anchors, "cpu", "cpu");
  CHECK(of_facts > 0.7);
  CHECK(of_anchors > 0.15);
  CHECK(of_anchors < of_facts);
  CHECK(std::abs(shared(Level::Samples, "cpu", "cpu")) < 0.2);
  CHECK(shared(Level::Facts, "gpu", "gpu") > 0.7);
  CHECK(std::abs(shared(Level::Facts, "cpu", "gpu")) < 0.2);
}

TEST_CASE("what a share of the draws does not exceed") {
  CHECK(quantile_of({5, 1, 4, 2, 3, 10, 9, 8, 7, 6}, 0.9) == 9);
  CHECK(quantile_of({5, 1, 4, 2, 3, 10, 9, 8, 7, 6}, 0.05) == 1);
  CHECK(quantile_of({2, 1}, 1) == 2);
}

TEST_CASE("how much of a plan is assumed") {
  const auto share_of = [](const DeviceProfile& profile) {
    return value_of(uncertainty_of(schedule_of(profile, "optimal", 0.5), profile)).assumed_share;
  };
  CHECK(share_of(profile_of(2, Origin::Assumed)) == Approx(1));
  CHECK(share_of(profile_of(2, Origin::Measured)) == 0);
  DeviceProfile profile = profile_of(2, Origin::Published);
  profile.transfer.sync_us.origin = Origin::Assumed;
  CHECK(share_of(profile) > 0);
  CHECK(share_of(profile) < 1);
}

TEST_CASE("a plan that the device cannot run has no time") {
  DeviceProfile profile = profile_of(2, Origin::Measured);
  const Schedule schedule = schedule_of(profile, "optimal", 0.5);
  profile.has_gpu = false;
  CHECK(test::error_of(uncertainty_of(schedule, profile)) != "");
}

}  // namespace
}  // namespace codl::compiler
