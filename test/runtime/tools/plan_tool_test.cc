#include "runtime/tools/plan_tool.h"

#include <cmath>
#include <cstring>

#include "test/support/catch.h"

namespace codl::tools {
namespace {

std::vector<float> random_values(uint64_t seed, size_t input_index, size_t count) {
  Tensor tensor;
  tensor.data.resize(count * sizeof(float));
  fill_random(tensor, seed, input_index);
  std::vector<float> values(count);
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

TEST_CASE("random inputs are the same everywhere") {
  // SplitMix64 with seed 0 begins with e220a8397b1dcdaf; with that as the seed it gives
  // a706dd2f4d197e6f, b382a305f4414f5e, ...
  const std::vector<float> values = random_values(0, 0, 3);
  CHECK(values[0] == 0xa706ddp-23f - 1);
  CHECK(values[1] == 0xb382a3p-23f - 1);
  CHECK(values == random_values(0, 0, 3));
  CHECK(values != random_values(1, 0, 3));
  CHECK(values != random_values(0, 1, 3));
}

TEST_CASE("random inputs are uniform in [-1, 1)") {
  double sum = 0;
  double squares = 0;
  const std::vector<float> values = random_values(3, 1, 100000);
  for (float value : values) {
    REQUIRE(value >= -1.0f);
    REQUIRE(value < 1.0f);
    sum += static_cast<double>(value);
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  CHECK(std::abs(sum / 100000) < 0.01);                // 5.5 sigma: 1 / sqrt(3 * 100000) = 0.0018
  CHECK(std::abs(squares / 100000 - 1.0 / 3) < 0.01);  // variance of U(-1, 1)
}

TEST_CASE("random integers are small, random bools 0 or 1") {
  for (const DTypeFacts& facts : kDTypes) {
    Tensor tensor;
    tensor.dtype = facts.dtype;
    tensor.data.resize(1000 * facts.bytes);
    fill_random(tensor, 0, 0);
    INFO(facts.name);
    for (size_t i = 0; i < 1000; ++i) {
      const double value = read_element(facts.dtype, tensor.data.data() + i * facts.bytes);
      const bool is_float = facts.name.find("float") != std::string_view::npos;
      REQUIRE(value >= (is_float ? -1 : 0));
      REQUIRE(value <= (facts.dtype == CODL_BOOL ? 1 : 7));
    }
  }
}

TEST_CASE("a leading part is dense again") {
  Tensor whole;
  whole.dtype = CODL_UINT8;
  whole.dims = {2, 3, 4};
  for (int i = 0; i < 24; ++i) whole.data.push_back(std::byte(i));
  const auto part_of = [&](const std::vector<int64_t>& dims) {
    const Tensor part = leading_part(whole, dims);
    CHECK(part.dims == dims);
    std::vector<int> elements;
    for (std::byte element : part.data) elements.push_back(std::to_integer<int>(element));
    return elements;
  };
  CHECK(part_of({2, 3, 4}).size() == 24);
  CHECK(part_of({1, 3, 4}) == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(part_of({2, 1, 4}) == std::vector<int>{0, 1, 2, 3, 12, 13, 14, 15});
  CHECK(part_of({2, 2, 1}) == std::vector<int>{0, 4, 12, 16});
  CHECK(part_of({2, 3, 0}).empty());
  CHECK(part_of({0, 3, 4}).empty());

  Tensor scalar;
  scalar.data.resize(4);
  CHECK(leading_part(scalar, {}).data.size() == 4);
}

TEST_CASE("threads that the system did not grant are told of") {
  SessionFacts facts;
  facts.plan_device = "sd855";
  facts.variant = "cpu";
  facts.thread_count = facts.wanted_thread_count = 4;
  CHECK(describe_session(facts) ==
        "variant cpu, planned for device sd855, on this machine: 4 CPU threads");
  facts.thread_count = 1;
  CHECK(describe_session(facts) ==
        "variant cpu, planned for device sd855, on this machine: 1 CPU thread of 4 (the system "
        "grants no more)");
}

TEST_CASE("every status has the exit code of who must act") {
  CHECK(exit_code_of(CODL_OK) == ExitCode::Ok);
  CHECK(exit_code_of(CODL_CORRUPT_PLAN) == ExitCode::Input);
  CHECK(exit_code_of(CODL_NOT_FOUND) == ExitCode::Input);
  CHECK(exit_code_of(CODL_UNSUPPORTED_VERSION) == ExitCode::Unsupported);
  CHECK(exit_code_of(CODL_NO_DEVICE) == ExitCode::Unsupported);
  CHECK(exit_code_of(CODL_DEVICE_ERROR) == ExitCode::Internal);
}

TEST_CASE("flags that test the GPU are told from those that do not") {
  PlanFlags flags;
  flags.opencl_platform = "Qualcomm";
  CHECK(test_of_gpu(flags).empty());
  flags.require_variant = true;
  CHECK(test_of_gpu(flags) == "--opencl-platform with --require-variant");
  flags.check_every = 3;
  CHECK(test_of_gpu(flags) == "--check-every");

  PlanFlags required;
  required.require_variant = true;
  CHECK(test_of_gpu(required) == "--require-variant");
  required.variant = "coexec";
  CHECK(test_of_gpu(required) == "--require-variant");
  required.variant = "cpu";
  CHECK(test_of_gpu(required).empty());
}

}  // namespace
}  // namespace codl::tools
