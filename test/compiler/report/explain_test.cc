#include "compiler/report/explain.h"

#include <cstdlib>

#include "compiler/partition/partition.h"
#include "compiler/report/alternatives.h"
#include "compiler/schedule/schedule.h"
#include "compiler/simulate/timing/simulate.h"
#include "llvm/Support/FormatVariadic.h"
#include "test/support/catch.h"
#include "test/support/expected.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

using test::value_of;

struct Example {
  DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  ir::Graph graph = test::three_convs();
  LatencyPredictor predictor{profile};
  Schedule schedule;

  explicit Example(const char* strategy) {
    Calibration& conv = profile.kernels[0];  // conv2d_f32_cpu
    conv.interval_low = 0.5;
    conv.interval_high = 2;
    conv.level = Level::Samples;
    conv.origin = Origin::Measured;
    PartitionOptions options;
    options.strategy = strategy;
    if (options.strategy == "optimal") {
      options.split_dim = SplitDim::Height;
      options.ratio = 0.5;
      options.max_chain = 1;
    }
    schedule = value_of(
        make_schedule(graph, value_of(partition(graph, predictor, options)), predictor, "test"));
    CHECK(test::error_of(predict(schedule, profile)) == "");
  }

  std::string text(const char* node = "") const {
    return value_of(explain(graph, schedule, profile, node));
  }
};

Candidate candidate_of(const ir::Graph& graph, PartitionPlan plan,
                       const LatencyPredictor& predictor) {
  return value_of(finish_candidate(graph, predictor, {}, {std::move(plan)}, "test"));
}

std::string alternatives(const ir::Graph& graph, const PartitionPlan& plan,
                         const LatencyPredictor& predictor, const char* node) {
  return value_of(
      explain_alternatives(graph, candidate_of(graph, plan, predictor), predictor, {}, node));
}

TEST_CASE("a step is explained by its terms, what they stand on, and what else could run it") {
  const std::string text = Example("cpu").text("a");
  INFO(text);
  // 16 to 32 channels, 3 x 3, on 16 x 16 pixels: 1.18 million multiply-adds take a microsecond
  // each, and one for the step.
  CHECK(text.find("variant test: predicted ") == 0);
  CHECK(text.find("a (Conv2d)\n  cpu  conv2d_f32_cpu ") != std::string::npos);
  CHECK(text.find(" 0.0022 ms (0.0011 to 0.0044)  samples, measured: compute 0.0012 ms, step "
                  "0.0010 ms\n") != std::string::npos);
  CHECK(text.find("    kernels that could run all of it:\n      conv2d_f32_cpu ") !=
        std::string::npos);
  CHECK(text.find("      conv2d_f32_cl_buffer ") != std::string::npos);
  CHECK(text.find("(Convert)") == std::string::npos);
}

TEST_CASE("a step on halves says that its shares are those of floats") {
  Example example("cpu");
  for (auto& tensor : example.schedule.tensors) tensor.shape.dtype = DType::F16;
  CHECK(example.text("a").find("  samples of floats, measured: ") != std::string::npos);
}

TEST_CASE("parts and what the queues wait for are told") {
  const std::string text = Example("optimal").text("b");
  INFO(text);
  CHECK(text.find("  gpu  rows [0, 8) conv2d_f32_cl_buffer ") != std::string::npos);
  CHECK(text.find("  cpu  rows [8, 16) conv2d_f32_cpu ") != std::string::npos);
  CHECK(text.find("waits for the other processor: synchronisation 0.0050 ms\n") !=
        std::string::npos);
}

TEST_CASE("without a node all are explained, in the order of the graph") {
  const std::string text = Example("cpu").text();
  INFO(text);
  size_t at = 0;
  for (const char* heading : {"to_nhwc (Convert)", "a (Conv2d)", "b (Conv2d)", "c (Conv2d)"}) {
    const size_t next = text.find(heading, at);
    CHECK(next != std::string::npos);
    at = next;
  }
}

TEST_CASE("a node that the graph has not is answered with the nearest") {
  const Example example("cpu");
  const std::string error =
      test::error_of(explain(example.graph, example.schedule, example.profile, "to_nhcw"));
  CHECK(error.find("--explain: expected a node of the graph") == 0);
  CHECK(error.find("found \"to_nhcw\"") != std::string::npos);
  CHECK(error.find("to_nhwc") != std::string::npos);
}

TEST_CASE("alternatives of a node have the whole plan's time and what makes the difference") {
  // Each has 38 million multiply-adds on either processor, where a synchronisation takes 5 us.
  test::GraphBuilder builder(64, 32, 32);
  const ir::Graph graph = builder.finish(builder.conv("a", builder.input(), 64));
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  const LatencyPredictor predictor(profile);
  PartitionOptions options;
  options.strategy = "cpu";
  const PartitionPlan plan = value_of(partition(graph, predictor, options));
  const std::string text = alternatives(graph, plan, predictor, "a");
  CAPTURE(text);
  CHECK(text.find("chosen") != std::string::npos);
  CHECK(text.find("cpu conv2d_f32_cpu\n") != std::string::npos);
  // All on the GPU is as slow and adds synchronisations; about half on each is faster, because it
  // is balanced.
  CHECK(text.find("gpu conv2d_f32_cl_buffer: synchronisation +") != std::string::npos);
  const size_t split = text.find("rows, 47 % on the GPU: balance -");
  REQUIRE(split != std::string::npos);
  CHECK(text.find("\n  - ") != std::string::npos);
  CHECK(alternatives(graph, plan, predictor, "none") == "");
}

TEST_CASE("the plan that alternatives are compared with takes what the plan takes") {
  // The plan writes both convolutions where the Concat has them; its copies would take time.
  test::GraphBuilder builder(16, 16, 16);
  const ir::ValueId a = builder.conv("a", builder.input(), 16);
  const ir::ValueId join = builder.concat("join", {a, builder.conv("b", builder.input(), 16)});
  const ir::Graph graph = builder.finish(builder.conv("c", join, 16));
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  const LatencyPredictor predictor(profile);
  PartitionOptions options;
  options.strategy = "gpu";
  const PartitionPlan plan = value_of(partition(graph, predictor, options));
  const double plan_us = candidate_of(graph, plan, predictor).schedule.predicted_us;
  Schedule with_copies = value_of(make_schedule(graph, plan, predictor, "test"));
  REQUIRE(test::error_of(predict(with_copies, profile)) == "");
  REQUIRE(plan_us < with_copies.predicted_us);
  const std::string text = alternatives(graph, plan, predictor, "a");
  CAPTURE(text);
  CHECK(text.find(llvm::formatv("chosen {0,18:f4} ms", plan_us / 1e3).str()) != std::string::npos);
}

TEST_CASE("of nodes split along rows, it is said what the halo would cost the other way") {
  test::GraphBuilder builder(64, 32, 32);
  const ir::ValueId a = builder.conv("a", builder.input(), 64);
  const ir::Graph graph = builder.finish(builder.conv("b", a, 64));
  DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  profile.transfer.sync_us.value = 20;
  const LatencyPredictor predictor(profile);
  const auto text_of = [&](int32_t max_chain, const char* node = "b") {
    PartitionOptions options;
    options.strategy = "segments";
    options.split_dim = SplitDim::Height;
    options.ratio = 0.5;
    options.max_chain = max_chain;
    return alternatives(graph, value_of(partition(graph, predictor, options)), predictor, node);
  };
  // Returns the difference at the beginning of an alternative's line.
  const auto ms_of = [](const std::string& text, const std::string& place) {
    const size_t at = text.find(place);
    REQUIRE(at != std::string::npos);
    const char* line = text.c_str() + text.rfind('\n', at) + 1;
    return (line[2] == '-' ? -1 : 1) * std::strtod(line + 3, nullptr);
  };
  const std::string chained = text_of(2), apart = text_of(1);
  CAPTURE(chained, apart);
  const std::string halo = "rows, 50 % on the GPU, halo transferred";
  const std::string chain = "rows, 50 % on the GPU, in a chain of 2 nodes";
  CHECK(chained.find("chosen") < chained.find(chain));
  CHECK(apart.find("chosen") < apart.find(halo));
  CHECK(ms_of(chained, halo + ": ") != 0);
  CHECK(ms_of(chained, halo + ": ") == Approx(-ms_of(apart, chain + ": ")));
  CHECK(text_of(2, "a").find(chain + ", 2 rows computed twice\n") != std::string::npos);
}

TEST_CASE("of nodes split along rows, it is said what computing the boundary first would give") {
  test::GraphBuilder builder(64, 32, 32);
  const ir::ValueId b = builder.conv("b", builder.conv("a", builder.input(), 64), 64);
  const ir::Graph graph = builder.finish(builder.conv("c", b, 64));
  DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  profile.transfer.sync_us.value = 20;
  const LatencyPredictor predictor(profile);
  PartitionOptions options;
  options.strategy = "segments";
  options.split_dim = SplitDim::Height;
  options.ratio = 0.5;
  options.max_chain = 1;
  PartitionPlan plan = value_of(partition(graph, predictor, options));
  const auto text_of = [&](const char* node) { return alternatives(graph, plan, predictor, node); };
  const std::string never = text_of("b");
  const std::string reader_of_never = text_of("c");
  constexpr ir::NodeId kB = 2;  // behind the Convert and a
  for (Part& part : plan.node_partitions[kB].parts) part.boundary_first = true;
  const std::string first = text_of("b");
  const std::string reader_of_first = text_of("c");
  CAPTURE(never, first, reader_of_never, reader_of_first);

  // Returns the line of the alternative with this description: the difference in time and its
  // reason.
  const auto line_of = [](const std::string& text, const std::string& way) {
    const size_t at = text.find("rows, 50 % on the GPU, halo transferred" + way + ": ");
    REQUIRE(at != std::string::npos);
    const size_t begin = text.rfind('\n', at) + 1;
    return text.substr(begin, text.find('\n', at) - begin);
  };
  const auto ms_of = [&](const std::string& text, const std::string& way) {
    const std::string line = line_of(text, way);
    return (line[2] == '-' ? -1 : 1) * std::strtod(line.c_str() + 3, nullptr);
  };
  const std::string gpu = ", boundary first: gpu rows [15, 16)";
  const std::string cpu = ", boundary first: cpu rows [16, 17)";
  const std::string both = gpu + ", cpu rows [16, 17)";
  CHECK(never.find("halo transferred\n") != std::string::npos);
  CHECK(first.find("halo transferred" + both + "\n") != std::string::npos);
  // The GPU waits 20 us for the CPU's rows; hiding that takes a step of 1 us.
  CHECK(ms_of(never, both) < -0.01);
  CHECK(ms_of(never, both) == Approx(-ms_of(first, "")));
  CHECK(line_of(never, both).find(": waiting -") != std::string::npos);
  for (const std::string& way : {gpu, cpu})
    CHECK(ms_of(never, way) == Approx(ms_of(first, way) - ms_of(first, "")).margin(0.00021));
  // One processor reads the last node's result, so it has no boundary.
  CHECK(reader_of_never.find("halo transferred\n") != std::string::npos);
  CHECK(reader_of_first.find("halo handed over\n") != std::string::npos);
  CHECK(reader_of_first.find("boundary") == std::string::npos);
}

}  // namespace
}  // namespace codl::compiler
