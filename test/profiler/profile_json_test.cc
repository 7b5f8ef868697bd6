#include "profiler/profile_json.h"

#include "compiler/device/device_profile.h"
#include "compiler/predict/latency_predictor.h"
#include "kernels/model_features.h"
#include "profiler/shapes.h"
#include "runtime/tools/json_writer.h"
#include "test/support/catch.h"
#include "test/support/expected.h"

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

TEST_CASE("codlc reads what codl-profile writes, and predicts what was measured") {
  DeviceFacts facts;
  facts.name = "box";
  facts.has_gpu = true;
  facts.sharing = "separate";
  facts.image_max_width = facts.image_max_height = 4096;
  std::vector<Sample> samples;
  for (const KernelRow& row : kKernelRows)
    for (const char* symbol : {"reshape_f32_cpu", "reshape_any_cpu", "reshape_f32_cl_buffer"})
      if (std::string_view(row.symbol) == symbol)
        for (const Sample& sample : samples_of(row)) samples.push_back(sample);
  const std::string json = tools::pretty_json(profile_json(facts, fit_models(samples, {})), 2);
  const compiler::DeviceProfile profile =
      test::value_of(compiler::parse_device_profile(json, "box.json"));
  CHECK(profile.models.size() == 3);
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

}  // namespace
}  // namespace codl::profiler
