#include "profiler/profile_json.h"

#include <limits>
#include <map>

#include "compiler/device/device_profile.h"
#include "compiler/predict/latency_predictor.h"
#include "kernels/model_features.h"
#include "profiler/shapes.h"
#include "runtime/tools/json_writer.h"
#include "test/profiler/row_of.h"
#include "test/support/catch.h"
#include "test/support/expected.h"
#include "tools/tool_error.h"

namespace codl::profiler {
namespace {

// Steps of the row that take 2 us and 10 us per million bytes.
std::vector<Sample> samples_of(const KernelRow& row) {
  std::mt19937_64 random(5);
  std::vector<Sample> samples;
  for (int i = 0; i < 20; ++i) {
    Sample sample;
    sample.row = &row;
    sample.item = *draw_step(row, {}, random);
    sample.us = 2;
    for (const auto& [name, value] : features_of(row, sample.item, {}))
      if (name == "mbytes") sample.us += 10 * value;
    samples.push_back(sample);
  }
  return samples;
}

DeviceFacts box() {
  DeviceFacts facts;
  facts.name = "box";
  facts.has_gpu = true;
  facts.sharing = "separate";
  facts.image_max_width = facts.image_max_height = 4096;
  facts.image_row_texels = 64;
  facts.weights = "in_place";
  return facts;
}

TEST_CASE("codlc reads what codl-profile writes, and predicts what was measured") {
  DeviceFacts facts = box();
  facts.warm_weight_mbytes[0] = 64;
  facts.cpu_probe_us = 12.5;
  set_exchange({{"enqueue", 0, 3}, {"turn_call", 0, 5}, {"turn", 0, 25}}, &facts);
  std::vector<Sample> samples;
  for (const KernelRow& row : kKernelRows)
    for (const char* symbol : {"reshape_f32_cpu", "reshape_any_cpu", "reshape_f32_cl_buffer"})
      if (std::string_view(row.symbol) == symbol)
        for (const Sample& sample : samples_of(row)) samples.push_back(sample);
  const std::string json = tools::pretty_json(profile_json(facts, fit_models(samples, {})), 2);
  const compiler::DeviceProfile profile =
      test::value_of(compiler::parse_device_profile(json, "box.json"));
  CHECK(profile.models.size() == 3);
  CHECK(profile.image_row_texels == 64);
  CHECK_FALSE(profile.copies_weights);  // although the memories are apart
  CHECK(profile.warm_weight_mbytes[0].value == Approx(64));
  CHECK(profile.warm_weight_mbytes[1].value == 0);
  CHECK(describe(profile).find("12.500 us") != std::string::npos);
  CHECK(profile.exchange.sync_us.value == Approx(12.5));
  REQUIRE(profile.exchange.host.has_value());
  CHECK(profile.exchange.host->enqueue_us.value == Approx(3));
  CHECK(profile.exchange.host->submit_us.value == Approx(5));
  CHECK(profile.exchange.host->wake_us.value == Approx(10));
  CHECK_FALSE(profile.exchange.host->download_call_waits);
  CHECK(profile.exchange.contention_percent[0].origin == compiler::Origin::Measured);
  const compiler::LatencyPredictor predictor(profile);
  for (const Sample& sample : samples) {
    CHECK(predictor.predict_us(step_of(*sample.row, sample.item), false) ==
          Approx(sample.us).epsilon(0.02));
    CHECK(predictor.interval_of(*sample.row).low == Approx(1).epsilon(0.02));
  }
  // Cut anywhere it is no profile, and says so.
  for (size_t length = 0; length + 2 < json.size(); length += 7)
    CHECK_FALSE(
        test::error_of(compiler::parse_device_profile(json.substr(0, length), "box.json")).empty());
}

TEST_CASE("contention that was not measured says so") {
  DeviceFacts facts = box();
  facts.contention_is_assumed = true;
  const FittedModel model = {"any_gpu", 0, {{{"mbytes", 1}}}, {.count = 1}};
  const compiler::DeviceProfile profile = test::value_of(
      compiler::parse_device_profile(tools::pretty_json(profile_json(facts, {model}), 2), "box"));
  CHECK(profile.exchange.contention_percent[0].origin == compiler::Origin::Assumed);
  CHECK(profile.exchange.contention_percent[1].origin == compiler::Origin::Assumed);
}

TEST_CASE("a number that codlc would refuse is an error, not a profile") {
  for (const double coefficient : {1.1e12, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    const FittedModel model = {"any_cpu", 0, {{{"mbytes", coefficient}}}, {}};
    CHECK_THROWS_AS(profile_json({}, {model}), tools::ToolError);
  }
}

TEST_CASE("kernels that the time was too short for are named") {
  const KernelRow& unary = row_of("unary_f32_cpu");
  const KernelRow& plain = row_of("unary_any_cpu");
  const auto count_of = [](std::vector<Sample> samples, size_t count) {
    samples.resize(count);
    return samples;
  };
  using Names = std::vector<std::string>;
  // As the run said what it needs: also of what it did not come to.
  const std::map<std::string, size_t> needed = {
      {"unary_f32_cpu", 8}, {"unary_any_cpu", 2}, {"conv2d_f32_cpu", 8}, {"unary_f32_cl_image", 0}};
  std::vector<Sample> samples = count_of(samples_of(unary), 7);
  CHECK(kernels_without_model(samples, needed, "") ==
        Names{"conv2d_f32_cpu", "unary_f32_cpu", "unary_any_cpu"});
  CHECK(kernels_without_model(samples, needed, "unary") == Names{"unary_f32_cpu", "unary_any_cpu"});
  for (Sample& sample : count_of(samples_of(plain), 2)) samples.push_back(sample);
  CHECK(kernels_without_model(samples, needed, "unary") == Names{"unary_f32_cpu"});
  samples.push_back(samples[0]);
  samples.back().role = SampleRole::Repeat;  // no model is fitted to it
  CHECK(kernels_without_model(samples, needed, "unary") == Names{"unary_f32_cpu"});
  samples.back().role = SampleRole::Fit;
  CHECK(kernels_without_model(samples, needed, "unary").empty());
  // A file that does not say.
  CHECK(kernels_without_model(count_of(samples_of(unary), 7), {}, "") == Names{"unary_f32_cpu"});
  CHECK(kernels_without_model(count_of(samples_of(unary), 8), {}, "").empty());
  CHECK(kernels_without_model(count_of(samples_of(plain), 1), {}, "").empty());
}

TEST_CASE("what disturbs is the mean of visits' median runs over the undisturbed visit") {
  Sample sample;
  sample.row = &kKernelRows[22];
  for (const double us : {100, 100, 120, 140}) sample.add_visit(us);
  sample.spread_percent = 20;
  sample.add_visit(160);  // its median run: 200
  CHECK(sample.us == 100);
  Sample single;
  single.row = &kKernelRows[22];
  single.add_visit(1e6);
  CHECK(disturbance_percent({sample, single}, Processor::Cpu) == Approx(32));
  CHECK(disturbance_percent({sample, single}, Processor::Gpu) == 0);
}

TEST_CASE("a second measurement that agrees, and one that does not") {
  std::vector<Sample> samples = samples_of(kKernelRows[22]);  // reshape_f32_cpu
  CHECK(noise_floor_percent(samples, Processor::Cpu) == -1);
  for (int i = 0; i < 2; ++i) {
    Sample repeat = samples[static_cast<size_t>(i)];
    repeat.role = SampleRole::Repeat;
    repeat.us *= i == 0 ? 1.05 : 1.5;
    samples.push_back(repeat);
  }
  CHECK(noise_floor_percent(samples, Processor::Cpu) == 50);
}

// What of the features no step of the row has, small or large, in a lane of one worker and of two,
// with vectors of 16 floats and of 8, and on a GPU of many or few units or on OpenCL that runs on a
// processor.
std::set<std::string> features_of_no_step(const KernelRow& row, std::set<std::string> wanted) {
  constexpr int kSteps = 4000;
  WorkLimits large;
  large.most_macs = 4e9;
  large.most_elements = 1.6e7;
  std::mt19937_64 random(7);
  for (int i = 0; i < kSteps && !wanted.empty(); ++i) {
    const std::optional<StepCase> item = draw_step(row, i % 2 == 0 ? WorkLimits{} : large, random);
    if (!item) break;
    for (const kernels::LaneFacts& lane :
         {kernels::LaneFacts{1, {132, 0}}, kernels::LaneFacts{1, {8, 0}},
          kernels::LaneFacts{2, {2, 512}}, kernels::LaneFacts{.gpu = {1, 128}, .vector_lanes = 8}})
      for (const auto& [name, value] : features_of(row, *item, lane)) wanted.erase(name);
  }
  return wanted;
}

TEST_CASE("every term of a fitted profile is a feature that its kernel has for some step") {
  std::map<uint32_t, std::set<std::string>> features_of_kernels;
  for (const std::string& name : compiler::list_devices()) {
    const compiler::DeviceProfile profile = test::value_of(compiler::load_device_profile(name));
    for (const compiler::LatencyModel& model : profile.models)
      if (model.is_fitted)
        for (const compiler::LatencyModel::Term& term : model.terms)
          features_of_kernels[model.kernel_id].emplace(term.name());
  }
  CHECK(features_of_kernels.size() > 40);
  for (const auto& [kernel, features] : features_of_kernels) {
    const KernelRow& row = *find_kernel(static_cast<uint16_t>(kernel));
    INFO(row.symbol);
    CHECK(features_of_no_step(row, features) == std::set<std::string>{});
  }
}

}  // namespace
}  // namespace codl::profiler
