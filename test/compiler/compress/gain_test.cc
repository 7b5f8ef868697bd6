// What is taken for a gain.
#include "compiler/compress/compress.h"
#include "compiler/compress/least_gain.h"
#include "test/compiler/compress/calibration_folder.h"
#include "test/compiler/compress/compress_graphs.h"

namespace codl::test {
namespace {

// A microsecond for a byte of weights, and `others_us` that no rewrite changes.
struct Compressed {
  Compressed(compiler::CompressOptions options, double others_us) {
    report = value_of(
        compiler::compress(graph, options, [&](const ir::Graph& tried) -> llvm::Expected<double> {
          double us = others_us;
          for (const ir::Value& value : tried.values())
            us += static_cast<double>(value.bytes.size());
          return us;
        }));
  }
  ir::Graph graph = dense_network();
  compiler::CompressReport report;
};

void check_least_gain(const compiler::CompressOptions& options) {
  const Compressed all(options, 0);
  CHECK(!all.report.rewrites.empty());
  CHECK(ir::print(all.graph) != ir::print(dense_network()));
  // Whatever goes of the weights is less than the least gain of this.
  const double all_us = all.report.steps.front().cost.predicted_us;
  const Compressed none(options, all_us / compiler::kMinGain);
  CHECK(none.report.rewrites.empty());
  CHECK(ir::print(none.graph) == ir::print(dense_network()));
  CHECK(none.report.untouched.size() >= 2);
}

}  // namespace

TEST_CASE("a rewrite that saves too little of the plan's time is none") {
  CHECK(compiler::is_worth_it(1000, 997.9, 1000));
  CHECK_FALSE(compiler::is_worth_it(1000, 998.1, 1000));
  compiler::CompressOptions options;
  SECTION("pruning, ratio") { options.prune = compiler::CompressRatio{false, 0.5}; }
  SECTION("low rank, ratio") { options.low_rank = compiler::CompressRatio{false, 0.8}; }
  Folder folder;
  const auto search = [&](std::optional<compiler::CompressRatio>& kind) {
    kind = compiler::CompressRatio{true, 0};
    RandomGraph r(7);
    folder.write("x.npy", {64, 8}, r.floats(512));
    options.calibration = folder.path;
    options.metric = compiler::Metric::Relative;
    options.budget = 0.5;
  };
  SECTION("pruning, auto") { search(options.prune); }
  SECTION("low rank, auto") { search(options.low_rank); }
  check_least_gain(options);
}

}  // namespace codl::test
