#include <fstream>
#include <sstream>

#include "compiler/shrink/pruning_search.h"
#include "compiler/shrink/shrink.h"
#include "test/compiler/accuracy/calibration_folder.h"
#include "test/compiler/shrink/shrink_graphs.h"

namespace codl::test {
namespace {

std::string text_of(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Costs bytes of weights instead of microseconds.
llvm::Expected<double> by_weights(const ir::Graph& graph) {
  double us = 0;
  for (const ir::Value& value : graph.values()) us += static_cast<double>(value.bytes.size());
  return us;
}

struct Search {
  Search() {
    RandomGraph r(7);
    folder.write("x.npy", {64, 8}, r.floats(512));
    options.prune = compiler::ShrinkRatio{true, 0};
    options.calibration = folder.path;
    options.budget = 0.05;
    options.search_log = folder.path + "/search.log";
  }
  // Returns the resulting graph as text, or the error.
  std::string run() {
    ir::Graph graph = dense_network();
    judged = 0;
    auto found =
        compiler::shrink(graph, options, [this](const ir::Graph& tried) -> llvm::Expected<double> {
          ++judged;
          return by_weights(tried);
        });
    if (!found) return error_of(found.takeError());
    report = std::move(*found);
    return ir::print(graph);
  }
  Folder folder;
  compiler::ShrinkOptions options;
  compiler::ShrinkReport report;
  int judged = 0;
};

}  // namespace

TEST_CASE("a search that was cut off goes on where it was, and ends the same") {
  Search search;
  const std::string found = search.run();
  const int judged = search.judged;
  const std::string log = text_of(search.options.search_log);
  REQUIRE(search.report.steps.back().cost.predicted_us <
          search.report.steps.front().cost.predicted_us);
  // The log is cut off in the middle of a line.
  std::ofstream(search.options.search_log) << log.substr(0, log.size() / 2);
  CHECK(search.run() == found);
  CHECK(search.judged < judged);
  CHECK(text_of(search.options.search_log) == log);
  CHECK(search.run() == found);
  search.options.search_log.clear();
  CHECK(search.run() == found);
}

TEST_CASE("a search does not go on with what another one measured") {
  Search search;
  search.run();
  const std::string path = search.options.search_log;
  const std::string expected =
      path +
      ": expected the log of a search with this network, device, calibration data and flags, "
      "found ";
  search.options.judged_by = "another device";
  CHECK(search.run() == expected + "one of another");
  search.options.judged_by.clear();
  RandomGraph r(8);
  search.folder.write("x.npy", {64, 8}, r.floats(512));
  CHECK(search.run() == expected + "one of another");
  std::ofstream(path) << "a letter\n";
  CHECK(search.run() == expected + "another file");
}

TEST_CASE("a log has finite numbers, and a link that leads nowhere is not followed") {
  Search search;
  const std::string found = search.run();
  const std::string path = search.options.search_log;
  const std::string log = text_of(path);
  for (const char* number : {"-inf", "inf", "nan", "1e999", "", "one"}) {
    CAPTURE(number);
    std::ofstream(path) << log << "more\t" << number << "\n";
    CHECK(search.run() ==
          path + ": expected lines QUESTION, tab, NUMBER, found \"more\t" + number + "\"");
  }
  std::filesystem::remove(path);
  std::filesystem::create_symlink(search.folder.path + "/elsewhere", path);
  CHECK(search.run() == found);
  CHECK_FALSE(std::filesystem::exists(search.folder.path + "/elsewhere"));
  CHECK(text_of(path) == log);
}

TEST_CASE("with --latency-cut so much of the latency goes, or nothing is made") {
  Search search;
  search.options.budget = 1;
  for (const double cut : {0.1, 0.3, 0.5}) {
    search.options.latency_cut = cut;
    search.run();
    const auto& steps = search.report.steps;
    CHECK(steps.back().cost.predicted_us <= (1 - cut) * steps.front().cost.predicted_us);
    // The network depends on eight inputs, so all channels beyond eight go without a loss.
    CHECK(steps.back().deviation->relative < 1e-5);
  }
  search.options.latency_cut = 0.99;
  CHECK(search.run().rfind("--latency-cut: expected a plan of ", 0) == 0);
  search.options.latency_cut = 0.5;
  search.options.budget = 0;
  CHECK(search.run().rfind("--latency-cut: expected a loss of at most 0.00 %", 0) == 0);
}

TEST_CASE("a search tells its steps, never more than it says") {
  Search search;
  size_t steps = 0, most = 0;
  search.options.on_step = [&](size_t most_steps, const std::string& step) {
    CHECK(!step.empty());
    most = most_steps;
    ++steps;
  };
  search.run();
  CHECK(steps > 0);
  CHECK(steps <= most);
}

// A BatchNormalization that no convolution has absorbed is a depthwise 1x1 node.
TEST_CASE("scale and shift of a normalisation are fitted again") {
  RandomGraph r(9);
  const ir::ValueId x = r.conv(r.input({1, 2, 6, 6}), 8, 3);
  DepthwiseConv2dParams p{};
  p.stride_h = p.stride_w = p.dilation_h = p.dilation_w = 1;
  const ir::ValueId y =
      r.node(OpKind::DepthwiseConv2d, {x, r.constant({8, 1, 1, 1}), r.constant({8})}, p);
  r.graph.set_outputs({r.reshape(y, {1, 8 * 36})});
  r.graph.name = "normalised";
  const ir::Graph untouched = r.graph;
  // This is the same network, with a wrong scale and shift.
  ir::Graph off = untouched;
  for (uint32_t slot : {1, 2}) {
    const ir::ValueId id = off.node(off.value(y).producer).inputs[slot];
    std::vector<float> values = off.value(id).as<float>().vec();
    for (float& value : values) value = 1.5f * value + 0.25f;
    const auto bytes = compiler::bytes_of(llvm::ArrayRef<float>(values));
    off.value(id).bytes = bytes;
  }
  Folder folder;
  folder.write("x.npy", {64, 2, 6, 6}, r.floats(64 * 72));
  auto data = value_of(compiler::CalibrationData::open(folder.path, untouched));
  std::vector<size_t> samples, held_out;
  for (size_t i = 0; i < 64; ++i) (i < 48 ? samples : held_out).push_back(i);
  const auto meter = value_of(compiler::DeviationMeter::make(untouched, data, held_out));
  const ir::Graph fitted = value_of(compiler::refitted(untouched, off, {}, data, samples));
  CHECK(value_of(meter.measure(off)).relative > 0.1);
  CHECK(value_of(meter.measure(fitted)).relative < 0.01);
}

}  // namespace codl::test
