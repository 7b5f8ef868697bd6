// Tests which cuts a search tries, how it judges a gain, and which channels it removes first.
#include <numeric>

#include "compiler/shrink/least_gain.h"
#include "compiler/shrink/pruning_search.h"
#include "compiler/shrink/shrink.h"
#include "test/compiler/accuracy/calibration_folder.h"
#include "test/compiler/shrink/shrink_graphs.h"

namespace codl::test {
namespace {

// A byte of weights costs a microsecond, and `others_us` is a cost that no rewrite changes.
struct Shrunk {
  Shrunk(compiler::ShrinkOptions options, double others_us) {
    report = value_of(
        compiler::shrink(graph, options, [&](const ir::Graph& tried) -> llvm::Expected<double> {
          double us = others_us;
          for (const ir::Value& value : tried.values())
            us += static_cast<double>(value.bytes.size());
          return us;
        }));
  }
  ir::Graph graph = dense_network();
  compiler::ShrinkReport report;
};

// Returns options for a search on 64 samples of dense_network(), which are written into the folder.
compiler::ShrinkOptions searched_options(const Folder& folder, double budget) {
  RandomGraph r(7);
  folder.write("x.npy", {64, 8}, r.floats(512));
  compiler::ShrinkOptions options;
  options.calibration = folder.path;
  options.budget = budget;
  return options;
}

void check_least_gain(const compiler::ShrinkOptions& options) {
  const Shrunk all(options, 0);
  CHECK(!all.report.rewrites.empty());
  CHECK(ir::print(all.graph) != ir::print(dense_network()));
  // Whatever is removed of the weights gains less than the least gain of this sum.
  const double all_us = all.report.steps.front().cost.predicted_us;
  const Shrunk none(options, all_us / compiler::kMinGain);
  CHECK(none.report.rewrites.empty());
  CHECK(ir::print(none.graph) == ir::print(dense_network()));
  CHECK(none.report.untouched.size() >= 2);
  size_t too_little = 0;
  for (const std::string& line : none.report.untouched) {
    CAPTURE(line);
    CHECK(line.find("budget") == std::string::npos);
    if (line.find(": less than 0.2 % of the untouched plan's time") != std::string::npos)
      ++too_little;
  }
  CHECK(too_little >= 1);
  if (options.prune) CHECK(too_little == 2);
}

}  // namespace

TEST_CASE("a rewrite that saves too little of the plan's time is none") {
  CHECK(compiler::is_worth_it(1000, 997.9, 1000));
  CHECK_FALSE(compiler::is_worth_it(1000, 998.1, 1000));
  compiler::ShrinkOptions options;
  options.is_unchecked = true;
  SECTION("pruning, ratio") { options.prune = compiler::ShrinkRatio{false, 0.5}; }
  SECTION("low rank, ratio") { options.low_rank = compiler::ShrinkRatio{false, 0.8}; }
  const Folder folder;
  const auto search = [&](std::optional<compiler::ShrinkRatio>& kind) {
    options = searched_options(folder, 0.5);
    kind = compiler::ShrinkRatio{true, 0};
  };
  SECTION("pruning, auto") { search(options.prune); }
  SECTION("low rank, auto") { search(options.low_rank); }
  check_least_gain(options);
}

TEST_CASE("a latency cut is reached by groups of which none saves the least gain alone") {
  const Folder folder;
  compiler::ShrinkOptions options = searched_options(folder, 1);
  options.prune = compiler::ShrinkRatio{true, 0};
  // Three panels of four are 14,400 bytes of one group, 0.13 % of this; of both 19,200, 0.17 %.
  constexpr double kOthersUs = 11.2e6;
  const Shrunk untaken(options, kOthersUs);
  CHECK(untaken.report.rewrites.empty());
  options.latency_cut = 0.0015;
  const Shrunk cut(options, kOthersUs);
  CHECK(cut.report.rewrites.size() == 2);
  const auto& steps = cut.report.steps;
  CHECK(steps.back().cost.predicted_us <= (1 - 0.0015) * steps.front().cost.predicted_us);
}

TEST_CASE("a group that a latency cut does not need is not said to be beyond the budget") {
  const Folder folder;
  compiler::ShrinkOptions options = searched_options(folder, 1);
  options.prune = compiler::ShrinkRatio{true, 0};
  // A panel of either group gains more than that.
  options.latency_cut = 0.1;
  const Shrunk cut(options, 0);
  CHECK(cut.report.rewrites.size() == 1);
  REQUIRE(!cut.report.untouched.empty());
  CHECK(llvm::StringRef(cut.report.untouched.back())
            .endswith(": 64 channels stay: the cut is reached without it"));
}

TEST_CASE("a search says which groups lose too much and which it has not tried") {
  RandomGraph r(4);
  ir::ValueId x = r.input({1, 8});
  for (int i = 0; i < 15; ++i) x = r.matmul(x, 8);
  r.graph.set_outputs({x});
  r.graph.name = "deep";
  Folder folder;
  folder.write("x.npy", {64, 8}, r.floats(512));
  auto data = value_of(compiler::CalibrationData::open(folder.path, r.graph));
  std::vector<size_t> samples(64);
  std::iota(samples.begin(), samples.end(), 0);
  const auto pruner = value_of(compiler::Pruner::make(r.graph, &data, samples));
  const compiler::LatencyJudge judge = [&](const ir::Graph& tried) -> llvm::Expected<double> {
    double us = 0;
    for (const ir::Value& value : tried.values()) us += static_cast<double>(value.bytes.size());
    return us;
  };
  const auto loss = [&](const ir::Graph&) -> llvm::Expected<double> { return 1; };
  auto log = value_of(compiler::SearchLog::open("", 0));
  using Search = compiler::PruningSearch;
  Search search(pruner, judge, loss, log, nullptr);
  const auto ratios = value_of(search.within_budget(0.5));
  REQUIRE(ratios.size() == 14);
  size_t lose_too_much = 0, are_not_tried = 0;
  for (size_t g = 0; g < ratios.size(); ++g) {
    CHECK(ratios[g] == 0);
    lose_too_much += search.why_kept(g) == Search::WhyKept::LosesTooMuch;
    are_not_tried += search.why_kept(g) == Search::WhyKept::IsNotTried;
  }
  CHECK(lose_too_much == 12);
  CHECK(are_not_tried == 2);
}

// A panel of 16 channels is 4,672 bytes of one group and 4,800 of the other.
TEST_CASE("a refinement removes as many panels as are worth it together") {
  const ir::Graph graph = dense_network();
  Folder folder;
  RandomGraph r(7);
  folder.write("x.npy", {64, 8}, r.floats(512));
  auto data = value_of(compiler::CalibrationData::open(folder.path, graph));
  std::vector<size_t> samples(64);
  std::iota(samples.begin(), samples.end(), 0);
  const auto pruner = value_of(compiler::Pruner::make(graph, &data, samples));
  const auto bytes_of_weights = [](const ir::Graph& of) {
    double bytes = 0;
    for (const ir::Value& value : of.values()) bytes += static_cast<double>(value.bytes.size());
    return bytes;
  };
  // The least gain is 7,200 bytes, plus one for each group, so that errors in the last bits do not
  // matter.
  const double untouched = bytes_of_weights(graph);
  const compiler::LatencyJudge judge = [&](const ir::Graph& tried) -> llvm::Expected<double> {
    return 1e6 * (7200 / compiler::kMinGain + bytes_of_weights(tried) - untouched);
  };
  // Two panels may be removed, but not three.
  const auto loss = [&](const ir::Graph& tried) -> llvm::Expected<double> {
    return untouched - bytes_of_weights(tried) > 12000 ? 1 : 0;
  };
  auto log = value_of(compiler::SearchLog::open("", 0));
  compiler::PruningSearch search(pruner, judge, loss, log, nullptr);
  const auto ratios = value_of(search.within_budget(0.5));
  REQUIRE(ratios.size() == 2);
  CHECK(pruner.count_removed(0, ratios[0]) + pruner.count_removed(1, ratios[1]) == 32);
}

TEST_CASE("a search tries each number of channels that leaves whole panels, up to ten of them") {
  RandomGraph r(2);
  const ir::ValueId a = r.conv(r.input({1, 3, 4, 4}), 96, 1);
  r.graph.set_outputs({r.conv(r.conv(a, 12, 1), 4, 1)});
  const auto few = value_of(compiler::Pruner::make(r.graph, nullptr, {}));
  const auto removed = [](const compiler::Pruner& pruner, size_t group) {
    std::vector<size_t> counts;
    for (double ratio : pruner.levels(group)) counts.push_back(pruner.count_removed(group, ratio));
    return counts;
  };
  REQUIRE(few.groups().groups.size() == 2);
  CHECK(removed(few, 0) == std::vector<size_t>{16, 32, 48, 64, 80});
  CHECK(removed(few, 1) == std::vector<size_t>{4, 8});
  RandomGraph wide(2);
  wide.graph.set_outputs({wide.conv(wide.conv(wide.input({1, 3, 4, 4}), 1024, 1), 4, 1)});
  const auto many = value_of(compiler::Pruner::make(wide.graph, nullptr, {}));
  REQUIRE(many.levels(0).size() == 10);
  CHECK(removed(many, 0).back() == 896);
}

// Each of two equal channels can be replaced by the other, but not both.
TEST_CASE("of two equal channels one goes first and the other stays") {
  RandomGraph r(3);
  std::vector<float> twins(64, 0.0f), reading = r.floats(64);
  for (size_t c = 0; c < 8; ++c) {
    twins[(c == 1 ? 0 : c) * 8 + c] = 1;
    if (c < 2)
      for (size_t o = 0; o < 8; ++o) reading[c * 8 + o] = 10;
  }
  const auto dense = [&](ir::ValueId x, std::vector<float> weights) {
    const std::vector<ir::ValueId> inputs = {x, r.constant({8, 8}, std::move(weights)),
                                             r.constant({8})};
    return r.node(OpKind::MatMul, inputs, MatMulParams{});
  };
  r.graph.set_outputs({dense(dense(r.input({1, 8}), twins), reading)});
  r.graph.name = "twins";
  Folder folder;
  folder.write("x.npy", {64, 8}, r.floats(512));
  auto data = value_of(compiler::CalibrationData::open(folder.path, r.graph));
  std::vector<size_t> samples(64);
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = i;
  const auto moments = value_of(compiler::ActivationMoments::collect(r.graph, data, samples));
  const auto groups = compiler::find_channel_groups(r.graph);
  REQUIRE(groups.groups.size() == 1);
  const std::vector<double> ranks = compiler::importances(r.graph, groups, &moments)[0];
  CHECK(std::min(ranks[0], ranks[1]) == 0);
  CHECK(std::max(ranks[0], ranks[1]) == 7);
}

TEST_CASE("groups that are ranked one at a time, for want of memory, have the same ranks") {
  const ir::Graph graph = dense_network();
  Folder folder;
  RandomGraph r(7);
  folder.write("x.npy", {64, 8}, r.floats(512));
  auto data = value_of(compiler::CalibrationData::open(folder.path, graph));
  std::vector<size_t> samples(64);
  std::iota(samples.begin(), samples.end(), 0);
  const auto moments = value_of(compiler::ActivationMoments::collect(graph, data, samples));
  const auto groups = compiler::find_channel_groups(graph);
  const auto ranks = compiler::elimination_ranks(graph, groups, moments);
  REQUIRE(ranks.size() == 2);
  CHECK(ranks[0].size() == 64);
  CHECK(ranks[1].size() == 64);
  // A group has two matrices of 64 x 64 doubles.
  constexpr int64_t kOneGroup = 2 * 64 * 64 * 8;
  CHECK(compiler::elimination_ranks(graph, groups, moments, kOneGroup) == ranks);
  const auto none = compiler::elimination_ranks(graph, groups, moments, kOneGroup - 1);
  CHECK(none == std::vector<std::vector<double>>(2));
}

}  // namespace codl::test
