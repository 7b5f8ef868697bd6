#include "compiler/report/plain_loops.h"

#include "compiler/pipeline.h"
#include "test/compiler/support/schedules.h"
#include "test/support/catch.h"
#include "test/support/graphs.h"
#include "test/support/onnx_text.h"

namespace codl::compiler {
namespace {

// Makes a step of every kernel of kernels.def: 1 us for a fast kernel, 2 us for a reference kernel.
Schedule schedule_of_all_rows() {
  ScheduleBuilder builder;
  for (const KernelInfo& kernel : kKernelInfos) {
    const TensorId x = builder.tensor(Storage::Host, 4);
    Step& step = builder.schedule.steps[builder.step(Queue::Cpu, {x, x})];
    step.kernel = &kernel;
    step.name = kernel.symbol;
    step.predicted_us = kernel.is_reference() ? 2 : 1;
    builder.schedule.predicted_us += step.predicted_us;
  }
  return builder.schedule;
}

std::string warning_of(const char* model) {
  CompileOptions options;
  options.partition.strategy = "cpu";
  auto result =
      compile(test::onnx_model(model, 20), "model", test::test_profile(Sharing::FineSvm), options);
  if (!result) return llvm::toString(result.takeError());
  return result->reports[0].plain_loops_warning;
}

}  // namespace

TEST_CASE("every reference kernel of the list is counted, and no other") {
  const Schedule schedule = schedule_of_all_rows();
  const PlainLoops loops = plain_loops(schedule);
  size_t count = 0;
  for (const KernelInfo& kernel : kKernelInfos) {
    INFO(kernel.symbol);
    const bool is_listed =
        std::any_of(loops.nodes.begin(), loops.nodes.end(),
                    [&](const PlainNode& node) { return node.name == kernel.symbol; });
    CHECK(is_listed == kernel.is_reference());
    count += kernel.is_reference();
  }
  CHECK(loops.predicted_us == 2.0 * count);
  CHECK(loops.share == Approx(2.0 * count / (kKernelCount + count)));
}

TEST_CASE("nodes on plain loops are listed by their time, and a notable share is warned of") {
  Schedule schedule = schedule_of_all_rows();
  schedule.predicted_us = 1000;
  for (Step& step : schedule.steps) step.predicted_us = 0.1;
  const auto slowest = std::find_if(
      schedule.steps.begin(), schedule.steps.end(),
      [](const Step& s) { return std::string_view(s.kernel->symbol) == "gather_any_cpu"; });
  slowest->predicted_us = 30;
  CHECK(plain_loops(schedule).nodes.front().name == "gather_any_cpu");
  CHECK(warning(plain_loops(schedule)) == "");
  slowest->predicted_us = 250;
  CHECK(warning(plain_loops(schedule))
            .find("of the predicted time, gather_any_cpu (Gather of f32) "
                  "25 % (--report-support lists them)") != std::string::npos);
  CHECK(warning(plain_loops(Schedule())) == "");
}

TEST_CASE("a network of fast kernels has no warning, one of running sums has") {
  CHECK(warning_of(R"(g (float[1,8,32,32] x) => (float[1,8,32,32] y)
                      <float[8,8,3,3] w> { y = Conv<pads = [1, 1, 1, 1]>(x, w) })") == "");
  CHECK(warning_of(R"(g (float[64,64,64] x) => (float[64,64,64] y)
                      <int64 axis = {1}> { y = CumSum(x, axis) })")
            .find("(Cumulate of f32)") != std::string::npos);
}

TEST_CASE("long filters have fast kernels, on both processors") {
  for (const std::string taps : {"257", "400", "4096"})
    for (const std::string channels : {"1", "2"})
      for (const bool is_column : {false, true})
        for (const char* strategy : {"cpu", "gpu"}) {
          // One of two channels in two groups is depthwise.
          const std::string group = channels == "1" ? "1" : "2";
          const auto pair = [&](const std::string& number) {
            return is_column ? number + ", 1" : "1, " + number;
          };
          const std::string text = "g (float[1, " + channels + ", " + pair("9000") +
                                   "] x) => (float[1, " + channels + ", n, m] y) <float[" +
                                   channels + ", 1, " + pair(taps) + "] w> { y = Conv<strides = [" +
                                   pair("160") + "], group = " + group + ">(x, w) }";
          INFO(text << ", " << strategy);
          CompileOptions options;
          options.partition.strategy = strategy;
          auto result = compile(test::onnx_model(text), "m.onnx",
                                test::test_profile(Sharing::FineSvm), options);
          REQUIRE(static_cast<bool>(result));
          CHECK(result->reports[0].plain_loops_warning == "");
        }
}

}  // namespace codl::compiler
