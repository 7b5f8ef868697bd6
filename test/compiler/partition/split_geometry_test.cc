#include "compiler/partition/split_geometry.h"

#include "test/support/catch.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

TEST_CASE("a cut is a multiple of the granularity nearest to the ratio, inside the extent") {
  const SplitRule rows{SplitDim::Height, 7, 1};
  CHECK(cut_at(rows, 0.5) == 4);  // 3.5 rounds away from zero
  CHECK(cut_at(rows, 0.01) == 1);
  CHECK(cut_at(rows, 0.99) == 6);
  const SplitRule channels{SplitDim::OutputChannel, 24, 16};
  CHECK(cut_at(channels, 0.5) == 16);  // panels are [0,16) and the ragged [16,24)
  CHECK(cut_at(channels, 0.99) == 16);
}

TEST_CASE("an extent of one granule cannot be cut") {
  CHECK_FALSE(cut_at({SplitDim::Height, 1, 1}, 0.5));
  CHECK_FALSE(cut_at({SplitDim::OutputChannel, 16, 16}, 0.5));
}

TEST_CASE("rows of a chain grow by the halo, from the last node to the first") {
  test::GraphBuilder builder(16, 16, 16);
  const ir::ValueId a = builder.conv("a", builder.input(), 16);
  const ir::ValueId b = builder.conv("b", a, 16);
  const ir::ValueId c = builder.conv("c", b, 16);
  const ir::Graph graph = builder.finish(c);
  // The nodes are 0 to_nhwc, 1 a, 2 b, 3 c, 4 to_plain. A 3x3 kernel reads one more row on either
  // side.
  const std::vector<ir::NodeId> nodes = {1, 2, 3};
  const std::vector<Range> top = {{0, 8}, {0, 8}, {0, 8}};
  CHECK(computed_ranges(graph, nodes, SplitDim::Height, top) ==
        std::vector<Range>{{0, 10}, {0, 9}, {0, 8}});
  const std::vector<Range> bottom = {{8, 16}, {8, 16}, {8, 16}};
  CHECK(computed_ranges(graph, nodes, SplitDim::Height, bottom) ==
        std::vector<Range>{{6, 16}, {7, 16}, {8, 16}});
}

TEST_CASE("a stride-2 node doubles the rows its chain demands") {
  test::GraphBuilder builder(16, 16, 16);
  const ir::ValueId a = builder.conv("a", builder.input(), 16);
  const ir::ValueId b = builder.conv("b", a, 16, 3, 2);
  const ir::Graph graph = builder.finish(b);
  const std::vector<ir::NodeId> nodes = {1, 2};
  // b owns rows [0,4) of 8; row 3 reads rows 5, 6, 7 of a, which owns [0,8) of 16: no halo.
  CHECK(computed_ranges(graph, nodes, SplitDim::Height, {{{0, 8}, {0, 4}}})[0] == Range{0, 8});
  // Below the cut, row 4 reads rows 7, 8, 9: one row of halo.
  CHECK(computed_ranges(graph, nodes, SplitDim::Height, {{{8, 16}, {4, 8}}})[0] == Range{7, 16});
}

TEST_CASE("both branches of a residual add count for the node above them") {
  test::GraphBuilder builder(16, 16, 16);
  const ir::ValueId a = builder.conv("a", builder.input(), 16);
  const ir::ValueId b = builder.conv("b", a, 16);
  const ir::ValueId sum = builder.add("sum", b, a);
  const ir::Graph graph = builder.finish(sum);
  const std::vector<ir::NodeId> nodes = {1, 2, 3};
  CHECK(computed_ranges(graph, nodes, SplitDim::Height, {{{0, 8}, {0, 8}, {0, 8}}}) ==
        std::vector<Range>{{0, 9}, {0, 8}, {0, 8}});
  CHECK(is_connected(graph, nodes));
  CHECK_FALSE(is_connected(graph, {0, 2}));
}

TEST_CASE("channels of a chain grow to all of them where a node reads all") {
  test::GraphBuilder builder(16, 16, 16);
  const ir::ValueId a = builder.conv("a", builder.input(), 32);
  const ir::ValueId b = builder.conv("b", builder.input(), 32);
  const ir::ValueId sum = builder.add("sum", a, b);
  const ir::Graph graph = builder.finish(builder.conv("c", sum, 32));
  const std::vector<Range> own(4, Range{16, 32});
  CHECK(computed_ranges(graph, {1, 2, 3}, SplitDim::OutputChannel, {own.data(), 3}) ==
        std::vector<Range>(3, Range{16, 32}));
  CHECK(computed_ranges(graph, {1, 2, 3, 4}, SplitDim::OutputChannel, own) ==
        std::vector<Range>{{0, 32}, {0, 32}, {0, 32}, {16, 32}});
}

}  // namespace
}  // namespace codl::compiler
