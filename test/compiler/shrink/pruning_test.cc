#include "compiler/shrink/pruning.h"

#include "compiler/shrink/shrink.h"
#include "test/compiler/shrink/shrink_graphs.h"

namespace codl::test {
namespace {

using compiler::Channel;
using compiler::ChannelGroups;

// Returns random blocks with everything that has a rule, and a dense head.
ir::Graph random_network(uint32_t seed) {
  RandomGraph r(seed);
  ir::ValueId x = r.conv(r.input({1, 3, 6, 6}), 8, 3);
  for (int block = 0; block < 5; ++block) {
    const int32_t channels = r.dims(x)[1];
    switch (r.below(9)) {
      case 0: {  // residual, of two
        const ir::ValueId inside = r.conv(x, 8 + 4 * r.below(2), 3);
        x = r.conv(inside, channels, 1, 1, x);
        break;
      }
      case 1: {  // dense block
        ConcatParams concat{};
        concat.axis = 1;
        x = r.node(OpKind::Concat, {x, r.conv(x, 4, 3)}, concat);
        break;
      }
      case 2:
        x = r.conv(r.depthwise(x), 8, 1);
        break;
      case 3:
        if (channels % 4 == 0) x = r.conv(x, 8, 3, 4);
        break;
      case 4:
        x = r.binary(kBinaryPRelu, x, r.constant({1, channels, 1, 1}));
        break;
      case 5: {  // halves, one of them changed
        SliceParams slice{};
        slice.step_0 = slice.step_1 = slice.step_2 = slice.step_3 = 1;
        slice.count_0 = 1;
        slice.count_1 = channels / 2;
        slice.count_2 = slice.count_3 = 6;
        const ir::ValueId front = r.node(OpKind::Slice, {x}, slice);
        slice.start_1 = channels / 2;
        const ir::ValueId back = r.conv(r.node(OpKind::Slice, {x}, slice), 4, 1);
        ConcatParams concat{};
        concat.axis = 1;
        x = r.node(OpKind::Concat, {back, front}, concat);
        break;
      }
      case 6: {  // a residual widened with zeros
        PadParams pad{};
        pad.kind = kPadConstant;
        pad.end_1 = 4;
        x = r.conv(x, channels + 4, 3, 1, r.node(OpKind::Pad, {x}, pad));
        break;
      }
      case 7: {  // squeeze and excite
        Pool2dParams pool{};
        pool.kind = kPool2dAverage;
        pool.kernel_h = pool.kernel_w = 6;
        pool.stride_h = pool.stride_w = pool.dilation_h = pool.dilation_w = 1;
        const ir::ValueId mean = r.node(OpKind::Pool2d, {x}, pool);
        const ir::ValueId gate =
            r.conv(r.conv(mean, 4, 1), channels, 1, 1, ir::kNoId, kUnarySigmoid);
        x = r.binary(kBinaryMul, x, gate);
        break;
      }
      default: {  // away and back
        TransposeParams swap{};
        swap.perm_1 = 2, swap.perm_2 = 3, swap.perm_3 = 1;
        const ir::ValueId nhwc = r.node(OpKind::Transpose, {x}, swap);
        const ir::ValueId scaled = r.binary(kBinaryMul, nhwc, r.constant({1, 1, 1, channels}));
        swap.perm_1 = 3, swap.perm_2 = 1, swap.perm_3 = 2;
        x = r.node(OpKind::Transpose, {scaled}, swap);
        break;
      }
    }
  }
  const ir::ValueId flat = r.reshape(x, {1, r.dims(x)[1] * 36});
  r.graph.set_outputs({r.matmul(r.matmul(flat, 8), 5)});
  r.graph.name = "random";
  return std::move(r.graph);
}

// Returns the graph with the channels' weights set to zero.
ir::Graph with_zeros(ir::Graph graph, const std::vector<const Channel*>& channels) {
  for (const Channel* channel : channels)
    for (const compiler::Place& place : channel->places) {
      ir::Value& value = graph.value(place.dim.value);
      if (!value.is_constant) continue;
      std::vector<float> elements = value.as<float>().vec();
      int64_t inner = 1;
      for (int32_t d = place.dim.dim + 1; d < value.type.rank(); ++d) inner *= value.type.dims[d];
      for (int64_t i = 0; i < static_cast<int64_t>(elements.size()); ++i)
        if (i / inner % value.type.dims[place.dim.dim] == place.index) elements[i] = 0;
      value.bytes = compiler::bytes_of(llvm::ArrayRef<float>(elements));
    }
  return graph;
}

}  // namespace

TEST_CASE("a pruned graph equals the original with the channels' weights set to zero") {
  int groups_seen = 0, channels_removed = 0;
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    const ir::Graph graph = random_network(seed);
    REQUIRE(error_of(ir::verify(graph, "test")) == "");
    const ChannelGroups found = compiler::find_channel_groups(graph);
    RandomGraph random(seed + 1000);
    std::vector<const Channel*> removed;
    for (const compiler::ChannelGroup& group : found.groups) {
      ++groups_seen;
      for (size_t c = 1; c < group.channels.size(); ++c)
        if (random.below(3) == 0) removed.push_back(&group.channels[c]);
    }
    channels_removed += static_cast<int>(removed.size());
    const ir::Graph pruned = value_of(compiler::without_channels(graph, removed));
    const std::vector<float> input = random.floats(3 * 36);
    CHECK(relative_error(run_graph(pruned, input), run_graph(with_zeros(graph, removed), input)) <
          1e-5);
    // Something must have been removed; otherwise equality means nothing.
    if (!removed.empty())
      CHECK(relative_error(run_graph(pruned, input), run_graph(graph, input)) > 1e-5);
  }
  CHECK(groups_seen > 150);
  CHECK(channels_removed > 250);
}

TEST_CASE("what an operator without a rule or the network's ends hold is said") {
  RandomGraph r(1);
  const ir::ValueId a = r.conv(r.input({1, 3, 4, 4}), 8, 1);
  SoftmaxParams over_channels{};
  over_channels.axis = 1;
  const ir::ValueId softmax = r.node(OpKind::Softmax, {a}, over_channels);
  r.graph.set_outputs({r.conv(softmax, 4, 1)});
  const ChannelGroups found = compiler::find_channel_groups(r.graph);
  CHECK(found.groups.empty());
  REQUIRE(found.held.size() == 2);
  CHECK(found.held[0].count == 8);
  CHECK(found.held[0].reason == "Softmax " + r.graph.node(1).name);
  CHECK(found.held[1].count == 4);
  CHECK(found.held[1].reason == "an input or output of the network");
}

// Exporters write the equal biases of two convolutions as one constant.
TEST_CASE("channels that have a bias alone in common go by themselves") {
  RandomGraph r(5);
  const ir::ValueId bias = r.constant({8});
  const auto conv = [&](ir::ValueId x, ir::ValueId weights) {
    Conv2dParams p{};
    p.stride_h = p.stride_w = p.dilation_h = p.dilation_w = p.groups = 1;
    return r.node(OpKind::Conv2d, {x, weights, bias}, p);
  };
  const ir::ValueId first = conv(r.input({1, 3, 4, 4}), r.constant({8, 3, 1, 1}));
  r.graph.set_outputs({r.conv(conv(first, r.constant({8, 8, 1, 1})), 4, 1)});
  CHECK(compiler::find_channel_groups(r.graph).groups.size() == 1);
  const ir::Graph own = compiler::with_own_vectors(r.graph);
  REQUIRE(error_of(ir::verify(own, "test")) == "");
  CHECK(compiler::find_channel_groups(own).groups.size() == 2);
  const std::vector<float> input = r.floats(3 * 16);
  CHECK(run_graph(own, input) == run_graph(r.graph, input));
  // codlc does the same.
  compiler::ShrinkOptions options;
  options.prune = compiler::ShrinkRatio{false, 0.5};
  options.is_unchecked = true;
  const auto by_nodes = [](const ir::Graph& graph) -> llvm::Expected<double> {
    double us = 0;
    for (const ir::Value& value : graph.values())
      us += value.is_constant ? 0 : value.type.element_count();
    return us;
  };
  ir::Graph pruned = r.graph;
  CHECK(value_of(compiler::shrink(pruned, options, by_nodes)).rewrites.size() == 2);
  // A network from which nothing is removed stays the same.
  const auto always = [](const ir::Graph&) -> llvm::Expected<double> { return 1; };
  ir::Graph kept = r.graph;
  CHECK(value_of(compiler::shrink(kept, options, always)).rewrites.empty());
  CHECK(ir::print(kept) == ir::print(r.graph));
}

TEST_CASE("weights that several nodes read are one") {
  RandomGraph r(6);
  const ir::ValueId weights = r.constant({8, 8});
  const auto dense = [&](ir::ValueId x) {
    return r.node(OpKind::MatMul, {x, weights, r.constant({8})}, MatMulParams{});
  };
  r.graph.set_outputs({dense(dense(r.input({1, 8})))});
  CHECK(compiler::with_own_vectors(r.graph).values().size() == r.graph.values().size());
}

TEST_CASE("a residual's channels are one group with all that adds to them") {
  RandomGraph r(2);
  const ir::ValueId a = r.conv(r.input({1, 3, 4, 4}), 8, 1);
  const ir::ValueId b = r.conv(r.depthwise(a), 8, 3, 1, a);
  r.graph.set_outputs({r.conv(b, 4, 1)});
  const ChannelGroups found = compiler::find_channel_groups(r.graph);
  REQUIRE(found.groups.size() == 1);
  CHECK(found.groups[0].channels.size() == 8);
  CHECK(found.groups[0].makers.size() == 2);
}

TEST_CASE("whole panels are kept") {
  CHECK(compiler::kept_channels(64, 0.3) == 48);
  CHECK(compiler::kept_channels(64, 0.1) == 64);
  CHECK(compiler::kept_channels(16, 0.3) == 12);
  CHECK(compiler::kept_channels(3, 0.9) == 3);
  CHECK(compiler::kept_channels(8, 1.0) == 1);
}

}  // namespace codl::test
