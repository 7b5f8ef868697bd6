#include "profiler/fit/sample.h"

#include <algorithm>
#include <cmath>

#include "kernels/kernel_table.h"
#include "profiler/measure/shapes.h"
#include "test/support/catch.h"
#include "tools/tool_error.h"

namespace codl::profiler {
namespace {

Sample drawn(const KernelInfo& info, uint64_t seed) {
  std::mt19937_64 random(seed);
  Sample sample;
  sample.kernel = &info;
  const auto item = draw_step(info, {}, random);
  REQUIRE(item.has_value());
  sample.item = *item;
  sample.add_visit(12.5);
  sample.run_count = 7;
  return sample;
}

std::string sample_error_of(const std::string& text) {
  try {
    read_samples(text, "x.csv");
  } catch (const tools::ToolError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE(
    "every info of the heavy operators has steps to time, within the limits and its contract") {
  for (const KernelInfo& info : kKernelInfos) {
    std::mt19937_64 random(1);
    INFO(info.symbol);
    // Kernels of bytes have the shares of their families; they are not timed.
    const bool is_heavy = !info.has(Signature::Q8) &&
                          (info.op == OpKind::Conv2d || info.op == OpKind::DepthwiseConv2d ||
                           info.op == OpKind::MatMul || info.op == OpKind::BatchMatMul);
    for (int i = 0; i < 5; ++i) {
      const auto item = draw_step(info, {}, random);
      if (is_heavy) REQUIRE(item.has_value());
      if (!item) break;
      kernels::StepNeeds needs;
      CHECK(kernels::check_step(step_of(info, *item), &needs) == nullptr);
    }
  }
}

TEST_CASE("a sample comes back from its line") {
  for (const KernelInfo& info : kKernelInfos) {
    if (info.op != OpKind::Conv2d || info.has(Signature::Q8)) continue;
    const Sample sample = drawn(info, 3);
    const std::string line = to_line(sample);
    const std::vector<Sample> read = read_samples("#probe,1,2\n" + line + "\n", "x.csv");
    REQUIRE(read.size() == 1);
    CHECK(read[0].kernel == &info);
    CHECK(read[0].us == 12.5);
    CHECK(to_line(read[0]) == line);
  }
}

TEST_CASE("warm weights are another step, and lack the term of cold ones") {
  Sample sample = drawn(kKernelInfos[0], 3);
  sample.role = SampleRole::Network;
  Sample warm = sample;
  warm.item.has_warm_weights = true;
  const std::vector<Sample> read =
      read_samples(to_line(sample) + "\n" + to_line(warm) + "\n", "x.csv");
  REQUIRE(read.size() == 2);
  CHECK_FALSE(read[0].item.has_warm_weights);
  CHECK(read[1].item.has_warm_weights);
  CHECK(read[1].role == SampleRole::Network);
  CHECK(to_line(read[1]) == to_line(warm));
  const auto cold_us = [](const Sample& any) {
    return times_of(*any.kernel, any.item, {})[compiler::Term::Cold];
  };
  CHECK(cold_us(read[0]) > 0);
  CHECK(cold_us(read[1]) == 0);
}

TEST_CASE("steps are drawn within what their kernel may have to do") {
  for (const KernelInfo& info : kKernelInfos) {
    std::mt19937_64 random(9);
    WorkLimits limits;
    limits.most_macs = 2e6;
    limits.most_elements = 1e5;
    for (int i = 0; i < 5; ++i) {
      const std::optional<StepCase> item = draw_step(info, limits, random);
      if (!item) break;
      INFO(info.symbol);
      const kernels::StepWork work = work_of(info, *item);
      CHECK(work.needed_macs <= limits.most_macs);
      CHECK(work.read_bytes + work.written_bytes + work.weight_bytes <= 8 * limits.most_elements);
      CHECK(work.written_bytes > 0);
    }
  }
}

TEST_CASE("what all steps of a batch take longer is not theirs") {
  const KernelInfo& info = kKernelInfos[0];
  std::vector<Sample> drawn_samples;
  for (uint64_t seed = 0; seed < 20; ++seed) drawn_samples.push_back(drawn(info, seed));
  std::string text;
  for (const double us : {10.0, 11.0, 10.0}) {
    text += "#batch\n";
    for (Sample& sample : drawn_samples) {
      sample.visits_us = {us};
      text += to_line(sample) + "\n";
    }
  }
  for (const Sample& sample : read_samples(text, "x.csv")) {
    CHECK(sample.us > 9.99);
    CHECK(sample.us < 10.01);
  }
  // Lines outside batches say nothing either.
  const auto without_batches = [&](std::string all) {
    for (size_t at; (at = all.find("#batch\n")) != std::string::npos;) all.erase(at, 7);
    return all;
  };
  const auto shorter_mean_us = [](double shortest, double middle, double longest) {
    return (shortest + middle + 0.4 * longest) / 2.4;  // four fifths of three
  };
  CHECK(read_samples(without_batches(text), "x.csv")[0].us == Approx(shorter_mean_us(10, 10, 11)));
  // A few steps do not show whether the batch or the step took longer.
  const std::string line = to_line(drawn_samples[0]) + "\n";
  drawn_samples[0].visits_us = {14};
  CHECK(read_samples("#batch\n" + line + "#batch\n" + to_line(drawn_samples[0]), "x.csv")[0].us ==
        Approx((10 + 0.6 * 14) / 1.6));
}

TEST_CASE("a batch may weigh on steps by the bytes that they move") {
  std::vector<Sample> drawn_samples;
  double mean = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    drawn_samples.push_back(drawn(kKernelInfos[0], seed));
    mean += std::log(operand_bytes(drawn_samples.back().item)) / 40;
  }
  std::string text;
  for (const double weight : {0.0, 0.03, 0.0}) {
    text += "#batch\n";
    for (Sample& sample : drawn_samples) {
      sample.visits_us = {10 * std::exp(weight * (std::log(operand_bytes(sample.item)) - mean))};
      text += to_line(sample) + "\n";
    }
  }
  // All but extreme batches count; those are considered disturbed. Without batches, 11 are beyond.
  const std::vector<Sample> read = read_samples(text, "x.csv");
  CHECK(std::count_if(read.begin(), read.end(), [](const Sample& sample) {
          return std::abs(sample.us / 10 - 1) > 0.02;
        }) <= 2);
}

TEST_CASE("times are brought to the clock that is usual in the file") {
  const KernelInfo& info = kKernelInfos[0];
  Sample sample = drawn(info, 1);
  std::string text;
  for (const char* batch : {"#batch,1.25\n", "#batch,1.5\n", "#batch\n", "#batch,2\n"}) {
    sample.visits_us = {10};
    text += batch + to_line(sample) + "\n";
  }
  double usual_probes[2] = {};
  const std::vector<Sample> read = read_samples(text, "x.csv", &usual_probes);
  REQUIRE(read.size() == 1);
  CHECK(usual_probes[static_cast<size_t>(info.processor)] == 1.5);
  CHECK(usual_probes[1 - static_cast<size_t>(info.processor)] == 1);
  CHECK(read[0].us == 15);
  CHECK(read[0].visits_us == std::vector<double>(4, 15.0));
  // Another processor's batches say nothing about it.
  const auto other =
      std::find_if(std::begin(kKernelInfos), std::end(kKernelInfos),
                   [&](const KernelInfo& any) { return any.processor != info.processor; });
  Sample others = drawn(*other, 1);
  others.visits_us = {10};
  CHECK(read_samples(text + "#batch,8\n" + to_line(others), "x.csv")[0].us == 15);
  CHECK(read_samples(text + "#batch,8\n" + to_line(others), "x.csv")[1].us == 80);

  for (const char* wrong : {"#batch,", "#batch,x", "#batch,0", "#batch,-1", "#batch,nan",
                            "#batch,1e300", "#batch 1", "#batch,1,1"})
    CHECK(sample_error_of(text + wrong).find("line 9") != std::string::npos);
}

TEST_CASE("of what is needed of a kernel the last line counts") {
  const std::map<std::string, size_t> needed =
      read_needed("#needed,a,8\n#needed,b,8\nx\n#needed,a,0\n#needed,b,2", "x.csv");
  CHECK(needed == std::map<std::string, size_t>{{"a", 0}, {"b", 2}});
  CHECK(read_needed("#fact,a,8\n", "x.csv").empty());
  for (const char* wrong : {"#needed,", "#needed,a", "#needed,a,", "#needed,a,x", "#needed,a,-1",
                            "#needed,a,8x", "#needed,a,99999999999999999999999"})
    CHECK_THROWS_AS(read_needed(wrong, "x.csv"), tools::ToolError);
}

TEST_CASE("a file that is cut or touched is refused with its line, or its step left out") {
  const std::string line = to_line(drawn(kKernelInfos[0], 3));
  for (size_t length = 1; length + 1 < line.size(); ++length) {
    const std::string text = line + "\n" + line.substr(0, length);
    const std::string error = sample_error_of(text);
    if (!error.empty()) CHECK(error.find("x.csv: line 2: expected a sample") == 0);
  }
  CHECK(sample_error_of("nonsense").find("x.csv: line 1") == 0);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = line;
    return text.replace(text.find(from), from.size(), to);
  };
  for (const char* us : {",nan,", ",-1,", ",1e300,", ",0,", ",inf,"})
    CHECK_FALSE(sample_error_of(with(",12.5,", us)).empty());
  // A kernel that this build lacks, or another revision of it, is neither an error nor a sample.
  CHECK(read_samples(with("conv2d_f32_cpu", "conv9d_f32_cpu"), "x.csv").empty());
}

}  // namespace
}  // namespace codl::profiler
