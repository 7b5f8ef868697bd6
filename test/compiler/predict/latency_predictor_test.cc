#include "compiler/predict/latency_predictor.h"

#include <cmath>
#include <set>
#include <string>

#include "kernels/kernel_table.h"
#include "kernels/model_features.h"
#include "kernels/model_term.h"
#include "kernels/work_table.h"
#include "test/compiler/support/sample_steps.h"
#include "test/support/catch.h"
#include "test/support/expected.h"

namespace codl::compiler {
namespace {

DeviceProfile profile_of(uint16_t kernel_id, std::vector<std::pair<std::string, double>> terms) {
  DeviceProfile profile;
  LatencyModel model;
  model.kernel_id = kernel_id;
  for (const auto& [feature, value] : terms)
    model.terms.push_back({feature, {value, Origin::Assumed, "test"}});
  profile.models.push_back(model);
  profile.exchange.contention_percent[0].value = 50;
  return profile;
}

constexpr uint16_t kConvCpu = 1;

TEST_CASE("the latency is the sum of coefficient times feature") {
  // 32 -> 32 channels, 1x1, 8x8: 8 * 8 * 32 * 32 multiply-adds = 0.065536 million.
  const SampleStep conv(kConvCpu, {.kernel = 1});
  const DeviceProfile profile = profile_of(kConvCpu, {{"mmacs_1x1", 100}, {"steps", 3}});
  CHECK(LatencyPredictor(profile).predict_us(conv.shape(), false) == Approx(6.5536 + 3));
}

TEST_CASE("a feature that the step does not have counts as 0") {
  const SampleStep conv(kConvCpu, {.kernel = 1});
  const DeviceProfile profile = profile_of(kConvCpu, {{"mmacs_3x3_s1", 100}, {"steps", 3}});
  CHECK(LatencyPredictor(profile).predict_us(conv.shape(), false) == Approx(3));
}

TEST_CASE("a step takes the floor at least, and no more than what its terms add up to above it") {
  const SampleStep conv(kConvCpu, {.kernel = 1});
  DeviceProfile profile = profile_of(kConvCpu, {{"mmacs_1x1", 100}, {"steps", 3}});
  const auto predicted_us = [&](double floor_us) {
    profile.models[0].floor_us = floor_us;
    return LatencyPredictor(profile).predict_us(conv.shape(), false);
  };
  const double terms_us = 6.5536 + 3;
  CHECK(predicted_us(100) == Approx(100));
  CHECK(predicted_us(1) == Approx(terms_us));
  CHECK(predicted_us(terms_us) == Approx(terms_us * std::pow(2, 0.125)));
  double last_us = 0;
  for (double floor_us = 0; floor_us < 20; floor_us += 0.5) {
    CHECK(predicted_us(floor_us) >= last_us);
    last_us = predicted_us(floor_us);
  }
}

TEST_CASE("a busy neighbour slows a step down by the profile's percentage") {
  const SampleStep conv(kConvCpu, {.kernel = 1});
  const DeviceProfile profile = profile_of(kConvCpu, {{"steps", 4}});
  CHECK(LatencyPredictor(profile).predict_us(conv.shape(), true) == Approx(6));
}

// Into how many pieces a step is cut: tasks, or work-items.
double piece_count(const kernels::StepShape& step) {
  kernels::StepNeeds needs;
  REQUIRE(kernels::check_step(step, &needs) == nullptr);
  if (step.row->processor == Processor::Cpu) return needs.task_count;
  kernels::ClLaunch launch;
  kernels::launch_of(step, &launch);
  return static_cast<double>(launch.global[0]) * static_cast<double>(launch.global[1]) *
         static_cast<double>(launch.global[2]);
}

// Models of what was measured jump where a step is cut anew, down too: two tasks on two workers
// take half the time of one.
TEST_CASE("more rows never take less time, cut into as many pieces") {
  for (const std::string& name : list_devices()) {
    const DeviceProfile profile = test::value_of(load_device_profile(name));
    const LatencyPredictor predictor(profile);
    for (const KernelRow& row : kKernelRows) {
      if (row.op != OpKind::Conv2d || !predictor.can_predict(row)) continue;
      const LatencyModel* model = profile.model_of(row.id);
      double previous_us = 0;
      double previous_pieces = 0;
      for (int32_t rows = 1; rows <= 16; ++rows) {
        const SampleStep conv(row.id,
                              {.rows = 16, .part_dim = SplitDim::Height, .part = {0, rows}});
        const double latency_us = predictor.predict_us(conv.shape(), false);
        const double pieces = piece_count(conv.shape());
        INFO(name << " " << row.symbol << " rows " << rows);
        if (!model->is_fitted || pieces == previous_pieces) CHECK(latency_us >= previous_us);
        previous_us = latency_us;
        previous_pieces = pieces;
      }
    }
  }
}

TEST_CASE("rows without a model cannot be predicted") {
  const DeviceProfile profile = profile_of(kConvCpu, {{"steps", 1}});
  CHECK(LatencyPredictor(profile).can_predict(*find_kernel(1)));
  CHECK_FALSE(LatencyPredictor(profile).can_predict(*find_kernel(2)));
}

TEST_CASE("weights cost no memory where the network has no more than a cache keeps") {
  const SampleStep conv(kConvCpu, {.kernel = 1});
  DeviceProfile profile = profile_of(kConvCpu, {{kernels::kColdWeights, 1e6}});
  profile.models[0].is_fitted = true;
  profile.warm_weight_mbytes[0].value = 20;
  double bytes = 0;
  for (uint32_t i = 0; i < conv.shape().operand_count; ++i)
    if (conv.shape().operands[i].layout == Layout::Packed)
      bytes += static_cast<double>(conv.shape().operands[i].bytes);
  REQUIRE(bytes > 0);
  CHECK(LatencyPredictor(profile, 21).predict_us(conv.shape(), false) == Approx(bytes));
  CHECK(LatencyPredictor(profile, 20).predict_us(conv.shape(), false) == 0);
  // Another processor's cache says nothing of it.
  std::swap(profile.warm_weight_mbytes[0], profile.warm_weight_mbytes[1]);
  CHECK(LatencyPredictor(profile, 20).predict_us(conv.shape(), false) == Approx(bytes));
}

TEST_CASE("a hand-off costs what its kind of sharing takes") {
  DeviceProfile profile;
  profile.exchange.sync_us.value = 10;
  profile.exchange.map_us.value = 5;
  profile.exchange.map_us_per_mb.value = 2;
  profile.exchange.copy_us_per_mb.value = 7;
  const LatencyPredictor predictor(profile);
  profile.sharing = Sharing::FineSvm;
  CHECK(predictor.hand_off_us(3e6, true) == Approx(10));
  profile.sharing = Sharing::SubBuffer;
  CHECK(predictor.hand_off_us(3e6, true) == Approx(10 + 5 + 2 * 3));
  profile.sharing = Sharing::Separate;
  CHECK(predictor.hand_off_us(3e6, true) == Approx(10 + 7 * 3));
}

TEST_CASE("where the profile has the host's calls, a hand-off costs what its direction takes") {
  DeviceProfile profile;
  HostCosts& host = profile.exchange.host.emplace();
  host.enqueue_us.value = 1;
  host.submit_us.value = 2;
  host.start_us.value = 4;
  host.wake_us.value = 8;
  host.queue_us.value = 16;
  host.upload.call_us_per_mb.value = 10;
  host.upload.rest_us.value = 32;
  host.download.rest_us_per_mb.value = 20;
  const LatencyPredictor predictor(profile);
  CHECK(predictor.enqueue_us() == Approx(1));
  profile.sharing = Sharing::FineSvm;
  CHECK(predictor.hand_off_us(3e6, true) == Approx(2 + 4));
  CHECK(predictor.hand_off_us(3e6, false) == Approx(8));
  host.cpu_resume_us.value = 64;
  host.cpu_cold_us_per_mb.value = 100;
  host.gpu_cold_us_per_mb.value = 200;
  CHECK(predictor.hand_off_us(3e6, true) == Approx(2 + 4 + 200 * 3));
  CHECK(predictor.hand_off_us(3e6, false) == Approx(8 + 64 + 100 * 3));
  host.cpu_resume_us.value = host.cpu_cold_us_per_mb.value = host.gpu_cold_us_per_mb.value = 0;
  profile.sharing = Sharing::Separate;
  CHECK(predictor.hand_off_us(3e6, true) == Approx(2 + 4 + 16 + 10 * 3 + 32));
  CHECK(predictor.hand_off_us(3e6, false) == Approx(8 + 16 + 20 * 3));
  CHECK(predictor.copy_call_us(3e6, true) == Approx(10 * 3));
  CHECK(predictor.copy_us(3e6, false) == Approx(20 * 3));
}

// Every feature of the row's contract, for some step.
std::set<std::string> features_of_row(uint16_t kernel_id) {
  // Of axes and layouts that the sample steps do not have.
  std::set<std::string> names = {"row_mbytes", "column_mbytes", "moved_mbytes"};
  for (const SampleStep::Options& options :
       {SampleStep::Options{.kernel = 1}, SampleStep::Options{.kernel = 3},
        SampleStep::Options{.kernel = 3, .stride = 2}, SampleStep::Options{.kernel = 5}}) {
    kernels::Features features;
    kernels::features_of(SampleStep(kernel_id, options).shape(), &features);
    for (uint32_t i = 0; i < features.count; ++i) names.insert(features.items[i].name);
  }
  return names;
}

// Those of fitted models: test/profiler/profile_json_test.cc.
TEST_CASE("every term of a profile written by hand is a feature that its kernel has") {
  for (const std::string& name : list_devices()) {
    const DeviceProfile profile = test::value_of(load_device_profile(name));
    for (const LatencyModel& model : profile.models) {
      if (model.is_fitted) continue;
      const std::set<std::string> features = features_of_row(model.kernel_id);
      for (const LatencyModel::Term& term : model.terms) {
        INFO(name << " " << find_kernel(model.kernel_id)->symbol << " " << term.feature);
        CHECK(features.count(std::string(kernels::ModelTerm(term.feature).feature)) == 1);
      }
    }
  }
}

}  // namespace
}  // namespace codl::compiler
