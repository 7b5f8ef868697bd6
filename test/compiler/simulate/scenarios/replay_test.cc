#include "compiler/simulate/scenarios/replay.h"

#include "test/support/catch.h"
#include "test/support/expected.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

using test::value_of;

constexpr const char* kReplay = R"({
  "format_version": 1,
  "name": "two",
  "chains": [
    {"split_dim": "height", "gpu_percent": 50, "ops": [
      {"op": "conv2d", "kernel": 3, "stride": 1, "input_rows": 34, "input_columns": 30,
       "input_channels": 16, "output_channels": 16},
      {"op": "conv2d", "kernel": 3, "stride": 1, "input_rows": 34, "input_columns": 30,
       "input_channels": 16, "output_channels": 16}]},
    {"split_dim": "output_channel", "gpu_percent": 100, "ops": [
      {"op": "matmul", "input_channels": 64, "output_channels": 10}]}
  ]
})";

std::string changed(const std::string& from, const std::string& to) {
  std::string text = kReplay;
  REQUIRE(text.find(from) != std::string::npos);
  return text.replace(text.find(from), from.size(), to);
}

std::string error_of(const std::string& text) {
  return test::error_of(parse_replay(text, "r.json"));
}

// Kernels cost a microsecond per million multiply-adds and one per step, a synchronisation 5.
DeviceProfile profile_of() {
  DeviceProfile profile = test::test_profile(Sharing::SubBuffer);
  profile.transfer.map_us.value = 3;
  profile.transfer.map_us_per_mb.value = 1000;
  return profile;
}

std::vector<QueueStep> steps_of(const std::string& text, const DeviceProfile& profile) {
  return value_of(queue_steps_of(value_of(parse_replay(text, "r.json")), profile));
}

// 28 columns fill the tiles of both processors.
constexpr double mmacs(double rows) { return rows * 28 * 16 * 16 * 9 * 1e-6; }

TEST_CASE("a chain is one transfer in, both processors from the same moment, one transfer out") {
  const DeviceProfile profile = profile_of();
  const std::vector<QueueStep> steps = steps_of(kReplay, profile);
  // The steps are map, (conv, conv) on both, map; then the GPU computes alone, without a transfer.
  REQUIRE(steps.size() == 7);
  const Timeline timeline = run_queues(steps, profile, {}, Clock::Codl);
  // Each computes 16 rows, and one more of the first convolution for the second.
  const double compute_us = mmacs(17) + 1 + mmacs(16) + 1;
  // The CPU's rows are 17 + 2 of input, 16 of output.
  const double in_us = 3 + 1000 * 19 * 30 * 16 * 4e-6;
  const double out_us = 3 + 1000 * 16 * 28 * 16 * 4e-6;
  const double matmul_us = 64 * 10 * 1e-6 + 1;
  CHECK(steps[0].alone_us == Approx(in_us));
  CHECK(steps[5].alone_us == Approx(out_us));
  CHECK(timeline.total_us == Approx(in_us + 5 + compute_us + 5 + out_us + matmul_us).epsilon(1e-3));
  // Both steps are rounded to whole nanoseconds.
  CHECK(timeline.overlap_us == Approx(compute_us).margin(1e-3));
  CHECK(timeline.spans[1].start_us == timeline.spans[2].start_us);
}

TEST_CASE("images are transformed on the GPU at both ends of a transfer") {
  const DeviceProfile profile = test::test_profile(Sharing::SubBuffer, Layout::Image2d);
  const std::vector<QueueStep> steps = steps_of(kReplay, profile);
  REQUIRE(steps.size() == 9);
  CHECK(steps.front().kernel == std::string("convert_f32_cl_from_image"));
  CHECK(steps[7].kernel == std::string("convert_f32_cl_to_image"));
  CHECK(steps.front().queue == 1);
}

TEST_CASE("one processor computes all: no transfer for the GPU, one for the CPU") {
  const DeviceProfile profile = profile_of();
  CHECK(steps_of(changed("\"gpu_percent\": 50", "\"gpu_percent\": 100"), profile).size() == 3);
  const std::vector<QueueStep> cpu =
      steps_of(changed("\"gpu_percent\": 50", "\"gpu_percent\": 0"), profile);
  REQUIRE(cpu.size() == 5);
  CHECK(cpu[1].alone_us == Approx(mmacs(32) + 1).epsilon(1e-3));
}

TEST_CASE("the GPU gets channels in fours, and all of what is less") {
  const DeviceProfile profile = profile_of();
  const auto with_channels = [&](int channels, int percent) {
    std::string text =
        changed("\"output_channels\": 10", "\"output_channels\": " + std::to_string(channels));
    text.replace(text.find("100"), 3, std::to_string(percent));
    return steps_of(text, profile).size();
  };
  CHECK(with_channels(3, 50) == 7);    // 4 of 3: the GPU alone
  CHECK(with_channels(10, 50) == 10);  // 8 and 2, with two maps
}

TEST_CASE("every rule of a replay has its error, with the place") {
  CHECK(error_of(changed("\"format_version\": 1", "\"format_version\": 2")) ==
        "r.json: /format_version: expected a whole number from 1 to 1, found 2");
  CHECK(error_of(changed("\"conv2d\"", "\"deconv2d\"")) ==
        "r.json: /chains/0/ops/0/op: expected \"conv2d\", \"max_pool\" or \"matmul\", found "
        "\"deconv2d\"");
  CHECK(error_of(changed("\"gpu_percent\": 50", "\"gpu_percent\": 101")) ==
        "r.json: /chains/0/gpu_percent: expected a whole number from 0 to 100, found 101");
  CHECK(error_of(changed("\"kernel\": 3", "\"kernel\": 35")) ==
        "r.json: /chains/0/ops/0/kernel: expected a number of at most input_rows and "
        "input_columns, found 35");
  CHECK(error_of(changed("\"split_dim\": \"height\"", "\"split_dim\": \"output_channel\"")) ==
        "r.json: /chains/0/split_dim: expected \"height\" for a chain of more than one, found "
        "\"output_channel\"");
  CHECK(error_of(changed("\"input_rows\": 34", "\"input_rows\": 30000")) == "");
  CHECK(error_of(changed("\"input_channels\": 64, \"output_channels\": 10",
                         "\"input_channels\": 32767, \"output_channels\": 32767"))
            .find("r.json: /chains/1/ops/0: expected an operator of at most") == 0);
  CHECK(error_of(R"({"format_version": 1, "name": "x", "chains": []})") ==
        "r.json: /chains: expected one chain or more, found an array");
  CHECK(error_of(R"({"format_version": 1, "name": "x", "chains": {}})") ==
        "r.json: /chains: expected an array, found an object");
  CHECK(error_of(changed("\"name\": \"two\"", "\"names\": \"two\"")) ==
        "r.json: expected the key \"name\", found none");
  DeviceProfile profile = profile_of();
  for (const KernelInfo& kernel : kKernelInfos) profile.unused_kernels.push_back(kernel.id);
  CHECK(
      test::error_of(queue_steps_of(value_of(parse_replay(kReplay, "r.json")), profile)) ==
      "two: expected a profile with a kernel for every operator, found none for conv2d 3x3 stride "
      "1, 19x30x16 to 16 channels");
  profile.has_gpu = false;
  CHECK(test::error_of(queue_steps_of(value_of(parse_replay(kReplay, "r.json")), profile)) ==
        "test: expected a profile with a \"gpu\", found none");
}

}  // namespace
}  // namespace codl::compiler
