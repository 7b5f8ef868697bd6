#include "compiler/shrink/low_rank.h"

#include "compiler/interp/fast_node.h"
#include "test/compiler/shrink/shrink_graphs.h"

namespace codl::test {
namespace {

// Returns a sum of `rank` outer products: it has that rank however it is folded.
std::vector<float> weights_of_rank(RandomGraph& r, const ir::Dims& dims, int rank) {
  std::vector<float> weights(static_cast<size_t>(dims[0]) * dims[1] * dims[2] * dims[3], 0.0f);
  for (int k = 0; k < rank; ++k) {
    std::vector<std::vector<float>> along;
    for (int32_t dim : dims) along.push_back(r.floats(dim));
    size_t i = 0;
    for (float a : along[0])
      for (float b : along[1])
        for (float c : along[2])
          for (float d : along[3]) weights[i++] += a * b * c * d;
  }
  return weights;
}

ir::Graph strided_conv(RandomGraph& r) {
  Conv2dParams p{};
  p.stride_h = 2, p.stride_w = 1, p.dilation_h = 1, p.dilation_w = 2;
  p.pad_top = 1, p.pad_left = 2, p.pad_bottom = 0, p.pad_right = 1;
  p.groups = 1, p.has_residual = 1, p.activation = kUnaryRelu;
  const ir::ValueId x = r.input({1, 32, 9, 9});
  const ir::ValueId w = r.constant({24, 32, 3, 3}, weights_of_rank(r, {24, 32, 3, 3}, 3));
  const ir::ValueId bias = r.constant({24});
  r.graph.set_outputs({r.node(OpKind::Conv2d, {x, w, bias, r.constant({1, 24, 4, 8})}, p)});
  r.graph.name = "conv";
  return r.graph;
}

}  // namespace

TEST_CASE("each form of a convolution of low rank computes what it does") {
  RandomGraph r(3);
  const ir::Graph graph = strided_conv(r);
  REQUIRE(error_of(ir::verify(graph, "test")) == "");
  const std::vector<float> input = r.floats(32 * 81);
  const std::vector<float> expected = run_graph(graph, input);
  const auto forms = compiler::low_rank_forms(graph, 0, 1 - 1e-9);
  REQUIRE(forms.size() == 3);
  for (const auto& form : forms) {
    INFO(compiler::name_of(form.form));
    REQUIRE(error_of(ir::verify(form.graph, "test")) == "");
    CHECK(form.graph.nodes().size() == (form.form == compiler::LowRankForm::Tucker2 ? 3 : 2));
    CHECK(relative_error(run_graph(form.graph, input), expected) < 1e-4);
  }
}

TEST_CASE("a MatMul of low rank is two; of full rank it stays") {
  RandomGraph r(4);
  const ir::ValueId x = r.input({2, 40});
  const auto weights = weights_of_rank(r, {40, 48, 1, 1}, 4);
  r.graph.set_outputs({r.node(OpKind::MatMul, {x, r.constant({40, 48}, weights), r.constant({48})},
                              MatMulParams{})});
  const std::vector<float> input = r.floats(80);
  const auto forms = compiler::low_rank_forms(r.graph, 0, 1 - 1e-9);
  REQUIRE(forms.size() == 1);
  CHECK(forms[0].ranks == "4");
  CHECK(relative_error(run_graph(forms[0].graph, input), run_graph(r.graph, input)) < 1e-4);

  RandomGraph full(5);
  full.graph.set_outputs({full.matmul(full.input({2, 40}), 48)});
  CHECK(compiler::low_rank_forms(full.graph, 0, 1 - 1e-9).empty());
}

TEST_CASE("groups are left alone") {
  RandomGraph r(6);
  r.graph.set_outputs({r.conv(r.input({1, 16, 4, 4}), 16, 3, 4)});
  CHECK(compiler::low_rank_forms(r.graph, 0, 0.5).empty());
}

}  // namespace codl::test
