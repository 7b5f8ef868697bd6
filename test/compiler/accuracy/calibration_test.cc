#include "compiler/accuracy/calibration.h"

#include "compiler/accuracy/deviation.h"
#include "compiler/shrink/pruning.h"
#include "compiler/shrink/shrink.h"
#include "test/compiler/accuracy/calibration_folder.h"
#include "test/compiler/shrink/shrink_graphs.h"

namespace codl::test {
namespace {

// Returns a network with x [1, 4] and a hidden layer whose channel 3 is the sum of channels 0 and
// 1.
ir::Graph redundant_network(RandomGraph& r) {
  std::vector<float> weights = r.floats(4 * 8);
  for (int i = 0; i < 4; ++i) weights[i * 8 + 3] = weights[i * 8] + weights[i * 8 + 1];
  const ir::ValueId x = r.input({1, 4});
  const ir::ValueId a =
      r.node(OpKind::MatMul,
             {x, r.constant({4, 8}, weights), r.constant({8}, std::vector<float>(8, 0.0f))},
             MatMulParams{});
  r.graph.set_outputs({r.matmul(a, 3)});
  r.graph.name = "redundant";
  return r.graph;
}

std::string opening_error(const Folder& folder, const ir::Graph& graph) {
  auto opened = compiler::CalibrationData::open(folder.path, graph);
  std::string text = opened ? "" : error_of(opened.takeError());
  const size_t at = text.find(folder.path);
  if (at != std::string::npos) text.replace(at, folder.path.size(), "DIR");
  return text;
}

}  // namespace

TEST_CASE("calibration data that do not fit are refused with the file's name") {
  RandomGraph r(1);
  const ir::Graph graph = redundant_network(r);
  const auto refused = [&](const std::vector<int64_t>& dims, std::vector<float> data) {
    const Folder folder;
    folder.write("a.npy", dims, data);
    return opening_error(folder, graph);
  };
  CHECK(refused({16, 4}, r.floats(64)) == "");
  CHECK(refused({16, 5}, r.floats(80)) ==
        "DIR/a.npy: expected float32[samples,4] for input x, found float32[16,5]");
  CHECK(refused({15, 4}, r.floats(60)) == "DIR/a.npy: expected 16 samples or more, found 15");
  std::vector<float> with_nan = r.floats(64);
  with_nan[63] = NAN;
  CHECK(refused({16, 4}, with_nan) == "DIR/a.npy: expected finite numbers, found NaN or infinity");
  const Folder folder;
  CHECK(opening_error(folder, graph) == "DIR: expected .npy files of input x, found none");
  folder.write("a.npy", CODL_FLOAT64, {16, 4}, std::string(16 * 4 * 8, '\0'));
  CHECK(opening_error(folder, graph) ==
        "DIR/a.npy: expected float32[samples,4] for input x, found float64[16,4]");
  folder.write("a.npy", {16, 4}, r.floats(64));
  folder.write("labels.npy", CODL_INT64, {15}, std::string(15 * 8, '\0'));
  CHECK(opening_error(folder, graph) ==
        "DIR/labels.npy: expected int64[16], a label a sample, found int64[15]");
  std::ofstream(folder.path + "/b.npy") << "no array";
  CHECK(opening_error(folder, graph).rfind("DIR/b.npy: expected an .npy file", 0) == 0);
}

TEST_CASE("labels are read to the last bit, and are indices of the output") {
  RandomGraph r(1);
  const ir::Graph graph = redundant_network(r);
  const int64_t classes = graph.value(graph.outputs()[0]).type.element_count();
  for (const int64_t label :
       {int64_t{0}, classes - 1, classes, int64_t{-1}, (int64_t{1} << 53) + 1, INT64_MIN}) {
    const Folder folder;
    folder.write("a.npy", {16, 4}, r.floats(64));
    std::vector<int64_t> labels(16, 1);
    labels[15] = label;
    folder.write("labels.npy", CODL_INT64, {16},
                 {reinterpret_cast<const char*>(labels.data()), labels.size() * sizeof(int64_t)});
    if (label >= 0 && label < classes) {
      CHECK(value_of(compiler::CalibrationData::open(folder.path, graph)).label(15) == label);
    } else {
      const std::string most = std::to_string(classes - 1);
      CHECK(opening_error(folder, graph) == "DIR/labels.npy: expected labels from 0 to " + most +
                                                ", indices of the first output's elements, found " +
                                                std::to_string(label));
    }
  }
}

TEST_CASE("files of several inputs have the names that codl-run gives its own") {
  const auto opened = [](const std::string& first, const std::string& second) {
    RandomGraph r(3);
    const ir::TensorType type{DType::F32, {1, 4}, Layout::Plain};
    const ir::ValueId a = r.graph.add_input(first, type);
    const ir::ValueId b = r.graph.add_input(second, type);
    r.graph.set_outputs({r.node(OpKind::Binary, {a, b}, BinaryParams{.kind = kBinaryAdd})});
    const Folder folder;
    folder.write("block_x_0.npy", {16, 4}, r.floats(64));
    folder.write("y.npy", {16, 4}, r.floats(64));
    folder.write(tools::npy_file_names({"block/x:0", "block/x_0"})[1], {16, 4}, r.floats(64));
    return opening_error(folder, r.graph);
  };
  CHECK(opened("block/x:0", "y") == "");
  CHECK(opened("block x 0", "y") == "");
  CHECK(opened("block/x:0", "block/x_0") == "");
}

TEST_CASE("samples come from several files, in the order of their names") {
  RandomGraph r(2);
  const ir::Graph graph = redundant_network(r);
  const Folder folder;
  const std::vector<float> first = r.floats(40), second = r.floats(40);
  folder.write("1.npy", {10, 4}, first);
  folder.write("2.npy", {10, 4}, second);
  auto data = value_of(compiler::CalibrationData::open(folder.path, graph));
  CHECK(data.count() == 20);
  for (size_t sample : {0, 19, 9, 10}) {
    const auto inputs = value_of(data.inputs(sample));
    const std::vector<float>& file = sample < 10 ? first : second;
    CHECK(std::memcmp(inputs[0].data(), file.data() + sample % 10 * 4, 16) == 0);
  }
}

TEST_CASE(
    "a count of samples that is more than a search could run is refused before they are read") {
  RandomGraph r(2);
  const ir::Graph graph = redundant_network(r);
  const Folder folder;
  const size_t most = compiler::kMaxSamples;
  folder.write("1.npy", CODL_FLOAT32, {static_cast<int64_t>(most) + 1, 4}, "");
  std::filesystem::resize_file(folder.path + "/1.npy", 128 + (most + 1) * 16);  // a hole
  CHECK(opening_error(folder, graph) == "DIR/1.npy: expected 65536 samples or fewer, found 65537");
  folder.write("1.npy", CODL_FLOAT32, {static_cast<int64_t>(most), 4}, "");
  std::filesystem::resize_file(folder.path + "/1.npy", 128 + most * 16);
  CHECK(opening_error(folder, graph) == "");
  folder.write("2.npy", {1, 4}, r.floats(4));
  CHECK(opening_error(folder, graph) == "DIR/2.npy: expected 65536 samples or fewer, found 65537");
  // An input without elements has no bytes, whatever the count.
  RandomGraph empty(2);
  empty.graph.set_outputs({empty.input({1, 0})});
  const Folder other;
  other.write("x.npy", CODL_FLOAT32, {int64_t{1} << 40, 0}, "");
  CHECK(opening_error(other, empty.graph) ==
        "DIR/x.npy: expected 65536 samples or fewer, found 1099511627776");
}

TEST_CASE("samples of an array in Fortran order are those of the array") {
  RandomGraph r(2);
  const ir::Graph graph = redundant_network(r);
  const Folder folder;
  const std::vector<float> values = r.floats(64);
  std::vector<float> columns;
  for (size_t column = 0; column < 4; ++column)
    for (size_t sample = 0; sample < 16; ++sample) columns.push_back(values[sample * 4 + column]);
  folder.write("x.npy", {16, 4}, columns);
  const std::string path = folder.path + "/x.npy";
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  std::string header(128, '\0');
  file.read(header.data(), 128);
  file.seekp(static_cast<std::streamoff>(header.find("False")));
  file << "True ";
  file.close();
  auto data = value_of(compiler::CalibrationData::open(folder.path, graph));
  for (size_t sample : {0, 7, 15})
    CHECK(std::memcmp(value_of(data.inputs(sample))[0].data(), values.data() + sample * 4, 16) ==
          0);
}

TEST_CASE("some samples are spread over all, on one side of the halves") {
  RandomGraph r(3);
  const ir::Graph graph = redundant_network(r);
  const Folder folder;
  folder.write("x.npy", {100, 4}, r.floats(400));
  const auto data = value_of(compiler::CalibrationData::open(folder.path, graph));
  CHECK(data.some_of(0, 4) == std::vector<size_t>{0, 24, 48, 72});
  CHECK(data.some_of(1, 3) == std::vector<size_t>{1, 33, 65});
  CHECK(data.some_of(1, 1000).size() == 50);
}

TEST_CASE("what other channels say of a removed one is repaired") {
  RandomGraph r(3);
  const ir::Graph graph = redundant_network(r);
  const Folder folder;
  folder.write("x.npy", {64, 4}, r.floats(256));
  auto data = value_of(compiler::CalibrationData::open(folder.path, graph));
  std::vector<size_t> samples;
  for (size_t i = 0; i < 32; ++i) samples.push_back(i);
  const auto moments = value_of(compiler::ActivationMoments::collect(graph, data, samples));
  const auto groups = compiler::find_channel_groups(graph);
  REQUIRE(groups.groups.size() == 1);
  // The eight channels are functions of four inputs, so four of them determine the rest.
  const auto& channels = groups.groups[0].channels;
  const std::vector<const compiler::Channel*> removed = {&channels[3], &channels[7]};
  const auto meter = value_of(compiler::DeviationMeter::make(graph, data, {40, 41, 42, 43}));
  const ir::Graph repaired = value_of(compiler::pruned_and_repaired(graph, removed, &moments));
  const ir::Graph cut = value_of(compiler::pruned_and_repaired(graph, removed, nullptr));
  CHECK(value_of(meter.measure(repaired)).relative < 1e-2);
  CHECK(value_of(meter.measure(cut)).relative > 0.05);
  CHECK(value_of(meter.measure(graph)).relative == 0);
}

TEST_CASE("weights fitted layer by layer bring a pruned network nearer to the untouched one") {
  RandomGraph r(6);
  const ir::ValueId x = r.conv(r.input({1, 2, 6, 6}), 8, 3);
  const ir::ValueId y = r.conv(r.depthwise(r.conv(x, 8, 3)), 8, 1, 1, x);
  r.graph.set_outputs({r.matmul(r.reshape(y, {1, 8 * 36}), 4)});
  r.graph.name = "residual";
  const Folder folder;
  folder.write("x.npy", {640, 2, 6, 6}, r.floats(640 * 72));
  auto data = value_of(compiler::CalibrationData::open(folder.path, r.graph));
  std::vector<size_t> samples, held_out;
  for (size_t i = 0; i < 640; ++i) (i < 600 ? samples : held_out).push_back(i);
  const auto groups = compiler::find_channel_groups(r.graph);
  REQUIRE(groups.groups.size() == 2);
  std::vector<const compiler::Channel*> removed;
  for (const auto& group : groups.groups)
    for (size_t c : {1, 5}) removed.push_back(&group.channels[c]);
  const auto meter = value_of(compiler::DeviationMeter::make(r.graph, data, held_out));
  const ir::Graph cut = value_of(compiler::without_channels(r.graph, removed));
  const ir::Graph fitted = value_of(compiler::refitted(r.graph, cut, removed, data, samples));
  CHECK(error_of(ir::verify(fitted, "test")) == "");
  CHECK(value_of(meter.measure(fitted)).relative < 0.7 * value_of(meter.measure(cut)).relative);
  // Nothing was removed, so there is nothing to fit.
  CHECK(value_of(meter.measure(value_of(compiler::refitted(r.graph, r.graph, {}, data, samples))))
            .relative < 1e-5);
}

TEST_CASE("a budget of nothing rolls back what changes a prediction") {
  RandomGraph r(4);
  const ir::ValueId x = r.input({1, 8});
  r.graph.set_outputs({r.matmul(r.matmul(x, 64), 10)});
  r.graph.name = "dense";
  const ir::Graph untouched = r.graph;
  const Folder folder;
  folder.write("x.npy", {64, 8}, r.floats(512));
  const std::vector<int64_t> labels(64, 0);
  folder.write("labels.npy", CODL_INT64, {64},
               {reinterpret_cast<const char*>(labels.data()), labels.size() * sizeof(int64_t)});
  compiler::ShrinkOptions options;
  options.prune = compiler::ShrinkRatio{true, 0};
  options.low_rank = compiler::ShrinkRatio{true, 0};
  options.calibration = folder.path;
  const compiler::LatencyJudge by_weights = [](const ir::Graph& graph) -> llvm::Expected<double> {
    double us = 0;
    for (const ir::Value& value : graph.values()) us += static_cast<double>(value.bytes.size());
    return us;
  };
  for (const double budget : {0.0, 0.5}) {
    options.budget = budget;
    if (budget > 0) std::filesystem::remove(folder.path + "/labels.npy");
    ir::Graph graph = untouched;
    const auto report = value_of(compiler::shrink(graph, options, by_weights));
    REQUIRE(report.steps.size() == 3);
    CHECK(report.steps.back().deviation->loss() <= budget);
    ir::Graph again = untouched;
    value_of(compiler::shrink(again, options, by_weights));
    CHECK(ir::print(again) == ir::print(graph));
    if (budget > 0)
      CHECK(report.steps.back().cost.weight_bytes < report.steps.front().cost.weight_bytes);
    else
      CHECK(report.steps.back().deviation->agreement == 1);
  }
}

TEST_CASE("auto is refused where no prediction can be lost") {
  const compiler::LatencyJudge judge = [](const ir::Graph&) -> llvm::Expected<double> { return 1; };
  compiler::ShrinkOptions options;
  options.low_rank = compiler::ShrinkRatio{true, 0};
  const auto refused = [&](int32_t classes, int64_t label) {
    RandomGraph r(4);
    r.graph.set_outputs({r.matmul(r.input({1, 8}), classes)});
    r.graph.name = "dense";
    const Folder folder;
    folder.write("x.npy", {64, 8}, r.floats(512));
    const std::vector<int64_t> labels(64, label);
    folder.write("labels.npy", CODL_INT64, {64},
                 {reinterpret_cast<const char*>(labels.data()), labels.size() * sizeof(int64_t)});
    options.calibration = folder.path;
    return error_of(compiler::shrink(r.graph, options, judge).takeError());
  };
  CHECK(refused(1, 0).find("expected no labels.npy, as the first output has one element") !=
        std::string::npos);
  int wrong = 0;  // labels that are right no more often than one guess in ten
  for (int64_t label = 0; label < 10; ++label)
    wrong += refused(10, label).find(
                 "expected labels.npy with labels that the network gets right "
                 "more often than by guessing, or no labels.npy, found ") != std::string::npos;
  CHECK(wrong >= 1);
  CHECK(wrong < 10);
  options.budget = 0;  // budget of changed predictions, whatever is right
  for (int64_t label = 0; label < 10; ++label) CHECK(refused(10, label) == "");
}

TEST_CASE("what needs calibration data says so") {
  RandomGraph r(5);
  ir::Graph graph = redundant_network(r);
  compiler::ShrinkOptions options;
  options.prune = compiler::ShrinkRatio{true, 0};
  const compiler::LatencyJudge judge = [](const ir::Graph&) -> llvm::Expected<double> { return 1; };
  CHECK(error_of(compiler::shrink(graph, options, judge).takeError()) ==
        "--calibration: expected a folder with --low-rank=auto and --prune=auto, found none");
  const auto refused = [&](const char* flag) {
    return error_of(compiler::shrink(graph, options, judge).takeError()) ==
           std::string(flag) +
               ": expected --calibration=DIR to measure what the network loses, or "
               "--unchecked to leave that open, found neither";
  };
  options.prune = compiler::ShrinkRatio{false, 0.3};
  CHECK(refused("--prune"));
  options.prune.reset();
  options.low_rank = compiler::ShrinkRatio{false, 0.9};
  CHECK(refused("--low-rank"));
  options.is_unchecked = true;
  CHECK(error_of(compiler::shrink(graph, options, judge).takeError()) == "");
  options.calibration = "calibration";
  CHECK(error_of(compiler::shrink(graph, options, judge).takeError()) ==
        "--unchecked: expected it without --calibration, found both");
}

}  // namespace codl::test
