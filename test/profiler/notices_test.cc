#include "profiler/notices.h"

#include "test/profiler/kernel_of.h"
#include "test/support/catch.h"

namespace codl::profiler {
namespace {

// Adds a step that was timed twice: a sample and its repeat.
void add_pair(const char* symbol, double first_us, double again_us, std::vector<Sample>* samples) {
  Sample sample;
  sample.kernel = &kernel_of(symbol);
  sample.item.part = {0, static_cast<int32_t>(samples->size()) + 1};
  sample.add_visit(first_us);
  samples->push_back(sample);
  sample.role = SampleRole::Repeat;
  sample.us = again_us;
  samples->push_back(sample);
}

TEST_CASE("a machine that others use is told of") {
  CHECK(busy_notice(0.01).empty());
  CHECK(busy_notice(0.4).find("busy") != std::string::npos);
  CHECK(busy_notice(0.4).find("40 %") != std::string::npos);
}

TEST_CASE("repeats that differ say of which processor the profile is worth little") {
  std::vector<Sample> samples;
  for (int i = 0; i < 10; ++i) add_pair("unary_f32_cpu", 100, i < 8 ? 104 : 150, &samples);
  CHECK(worth_notices(samples).empty());
  for (int i = 0; i < 10; ++i) add_pair("unary_f32_cl_buffer", 100, i < 5 ? 104 : 150, &samples);
  const std::vector<std::string> lines = worth_notices(samples);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("50 % of GPU steps") != std::string::npos);
}

TEST_CASE("without repeats the spread of runs says it") {
  Sample sample;
  sample.kernel = &kernel_of("unary_f32_cpu");
  sample.spread_percent = 2;
  CHECK(worth_notices({sample}).empty());
  sample.spread_percent = 30;
  CHECK(worth_notices({sample}).size() == 1);
  CHECK(worth_notices({}).empty());
}

TEST_CASE("kernels with too few samples are named") {
  CHECK(unfitted_notice({}).empty());
  const std::string text = unfitted_notice({"conv2d_f32_cpu", "pool2d_f32_cpu"});
  CHECK(text.find("of 2 kernels") != std::string::npos);
  CHECK(text.find("conv2d_f32_cpu, pool2d_f32_cpu") != std::string::npos);
}

}  // namespace
}  // namespace codl::profiler
