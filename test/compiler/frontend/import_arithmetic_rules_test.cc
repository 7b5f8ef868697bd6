// Tests the import of functions, reductions, normalisations and products: attributes, opset forms,
// and errors.
#include <cmath>

#include "test/compiler/frontend/import_text.h"

namespace codl::test {
namespace {

// Runs a rule that takes x float[2,3] and gives y with the dims.
std::vector<float> of_matrix(const std::string& dims, const std::string& body,
                             const std::vector<float>& x, int opset = 22) {
  return computed("g (float[2,3] x) => (float" + dims + " y) { " + body + " }", x, opset);
}

bool is_near(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a[i] - b[i]) <= 1e-5f * (1 + std::abs(b[i])))) return false;
  return true;
}

}  // namespace

TEST_CASE("functions read their attributes") {
  const std::vector<float> x = {-2, -1, 0, 1, 2, 3};
  auto map = [&](const std::string& call) { return of_matrix("[2,3]", "y = " + call, x); };
  CHECK(map("LeakyRelu<alpha = 0.5>(x)") == std::vector<float>{-1, -0.5, 0, 1, 2, 3});
  CHECK(map("ThresholdedRelu<alpha = 1.5>(x)") == std::vector<float>{0, 0, 0, 0, 2, 3});
  CHECK(map("HardSigmoid<alpha = 0.25, beta = 0.5>(x)") ==
        std::vector<float>{0, 0.25, 0.5, 0.75, 1, 1});
  CHECK(map("Shrink<lambd = 1.5, bias = 1.0>(x)") == std::vector<float>{-1, 0, 0, 0, 1, 2});
  CHECK(import_error("g (float[2] x) => (float[2] y) { y = Gelu<approximate = \"other\">(x) }",
                     20) == "y: expected approximate none or tanh, found 'other'");
}

TEST_CASE("Clip of integers and of computed bounds") {
  const std::string of_integers =
      nodes_of("g (int32[2] x) => (int32[2] y) <int32 low = {1}> { y = Clip(x, low) }", 13);
  CHECK(of_integers.find("{kind=Max} : i32[2]") != std::string::npos);
  const std::string of_data =
      nodes_of("g (float[2] x, float low) => (float[2] y) { y = Clip(x, low) }", 13);
  CHECK(of_data.find("{kind=Max} : f32[2]") != std::string::npos);
}

TEST_CASE("casts round to what the type holds") {
  // 1 + 2^-11 is no f16: the nearest one is 1.
  CHECK(of_matrix("[2,3]", "h = Cast<to = 10>(x) y = Cast<to = 1>(h)",
                  {1.00048828125f, 2, 3, 4, 5, 6}) == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(of_matrix("[2,3]", "i = Cast<to = 7>(x) y = Cast<to = 1>(i)", {-1.5, 1.5, 2, 3, 4, 5}) ==
        std::vector<float>{-1, 1, 2, 3, 4, 5});
  CHECK(
      import_error("g (float[2] x) => (float[2] y) { y = Cast<to = 8>(x) }").find("found STRING") !=
      std::string::npos);
}

TEST_CASE("floats that may be held as halves are not rounded by a cast to halves") {
  compiler::ImportOptions options;
  options.rounds_to_halves = false;
  const auto casts_in = [&](const std::string& body) {
    const ir::Graph graph = value_of(compiler::import_onnx(
        onnx_model("g (float[2] x, int32[2] i) => (float[2] y) { " + body + " }", 13), "m.onnx",
        options));
    return llvm::count_if(graph.nodes(),
                          [](const ir::Node& node) { return node.op == OpKind::Cast; });
  };
  CHECK(casts_in("a = Relu(x) h = Cast<to = 10>(a) r = Relu(h) y = Cast<to = 1>(r)") == 0);
  // 2049 is no half, and a bfloat16 has fewer digits.
  CHECK(casts_in("h = Cast<to = 10>(i) y = Cast<to = 1>(h)") == 2);
  CHECK(casts_in("h = Cast<to = 16>(x) y = Cast<to = 1>(h)") == 2);
}

TEST_CASE("reductions: axes as attribute and as input, kept or not") {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  CHECK(of_matrix("[2]", "y = ReduceSum<axes = [1], keepdims = 0>(x)", x, 11) ==
        std::vector<float>{6, 15});
  CHECK(of_matrix("[1,3]", "a = Constant<value_ints = [-2]>() y = ReduceMax(x, a)", x) ==
        std::vector<float>{4, 5, 6});
  CHECK(of_matrix("[]", "y = ReduceProd<keepdims = 0>(x)", x) == std::vector<float>{720});
  CHECK(of_matrix("[2,3]", "y = ReduceSumSquare<noop_with_empty_axes = 1>(x)", x) ==
        std::vector<float>{1, 4, 9, 16, 25, 36});
  CHECK(import_error("g (float[2,3] x) => (float[2] y) { y = ReduceSum<axes = [2]>(x) }", 11) ==
        "y: expected an axis in [-2, 2), found 2");
}

TEST_CASE("axes that are data are those that give the declared dims") {
  // Two axes have one length, so both sums are computed, and one is chosen.
  const std::string nodes = nodes_of(
      "g (float[3,3] x, int64[1] a) => (float[3] y) { y = ReduceSum<keepdims = 0>(x, a) }", 13);
  CHECK(nodes.find("Where(") != std::string::npos);
  CHECK(
      nodes_of("g (float[2,3] x, int64[1] a) => (float[2] y) { y = ReduceSum<keepdims = 0>(x, a) }",
               13)
          .find("Where(") == std::string::npos);
}

TEST_CASE("Hardmax takes the first of the largest") {
  CHECK(of_matrix("[2,3]", "y = Hardmax(x)", {1, 3, 3, 2, 1, 0}) ==
        std::vector<float>{0, 1, 0, 1, 0, 0});
  CHECK(of_matrix("[2,3]", "y = Hardmax<axis = 0>(x)", {1, 3, 3, 2, 1, 3}, 11) ==
        std::vector<float>{0, 1, 0, 0, 0, 0});
}

TEST_CASE("LRN adds up neighbouring channels") {
  // The squares are 1, 4, 9; windows of two begin at the element itself: 5, 13, 9.
  const std::vector<float> y = computed(
      "g (float[1,3,1,1] x) => (float[1,3,1,1] y) "
      "{ y = LRN<size = 2, alpha = 2.0, beta = 1.0, bias = 1.0>(x) }",
      {1, 2, 3});
  CHECK(is_near(y, {1.0f / 6, 2.0f / 14, 3.0f / 10}));
}

TEST_CASE("normalisations with parameters that are data") {
  CHECK(nodes_of("g (float[1,2,3] x, float[2] s, float[2] b) => (float[1,2,3] y) "
                 "{ y = InstanceNormalization(x, s, b) }")
            .find("Normalize(") != std::string::npos);
  CHECK(is_near(of_matrix("[2,3]", "y = LpNormalization<p = 1>(x)", {1, -1, 2, 0, 0, 0}),
                {0.25f, -0.25f, 0.5f, 0, 0, 0}));
  CHECK(import_error("g (float[1,4,2] x) => (float[1,4,2] y) <float[4] s> "
                     "{ y = GroupNormalization<num_groups = 3>(x, s, s) }",
                     21) == "y: expected num_groups to divide 4 channels, found 3");
}

TEST_CASE("MatMul of computed operands has numpy's ranks") {
  CHECK(nodes_of("g (float[2,3] a, float[3,4] b) => (float[2,4] y) { y = MatMul(a, b) }") ==
        "%y y = BatchMatMul(%a, %b) : f32[2,4]\n");
  auto has_dims = [](const std::string& a, const std::string& b, const std::string& y) {
    return import_error("g (float" + a + " a, float" + b + " b) => (float" + y +
                        " y) { y = MatMul(a, b) }") == "";
  };
  CHECK(has_dims("[3]", "[3]", "[]"));
  CHECK(has_dims("[5,2,3]", "[3]", "[5,2]"));
  CHECK(has_dims("[3]", "[5,3,2]", "[5,2]"));
  CHECK(has_dims("[4,1,2,3]", "[5,3,2]", "[4,5,2,2]"));
}

TEST_CASE("Einsum: products, sums, diagonals, ellipses") {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  auto einsum = [&](const std::string& dims, const std::string& equation, const std::string& rest) {
    return of_matrix(dims, "y = Einsum<equation = \"" + equation + "\">(x" + rest + ")", x);
  };
  CHECK(einsum("[3,2]", "ij->ji", "") == std::vector<float>{1, 4, 2, 5, 3, 6});
  CHECK(einsum("[3]", "ij->j", "") == std::vector<float>{5, 7, 9});
  CHECK(einsum("[2,2]", "ij,kj->ik", ", x") == std::vector<float>{14, 32, 32, 77});
  CHECK(einsum("[2]", "...j->...", "") == std::vector<float>{6, 15});
  CHECK(computed("g (float[2,2] x) => (float[2] y) { y = Einsum<equation = \"ii->i\">(x) }",
                 {1, 2, 3, 4}) == std::vector<float>{1, 4});
  CHECK(import_error("g (float[2,3] x) => (float y) { y = Einsum<equation = \"ijk->i\">(x) }") ==
        "y: expected labels for 2 dims, found 'ijk'");
}

TEST_CASE("quantised and back: the nearest of 256 numbers") {
  const std::string body =
      "s = Constant<value_float = 0.5>() z = Constant<value = uint8 {128}>() "
      "q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z)";
  CHECK(of_matrix("[2,3]", body, {0.2f, 0.25f, 0.75f, -100, 100, 3}) ==
        std::vector<float>{0, 0, 1, -64, 63.5, 3});
}

TEST_CASE("Attention: what a query must not see, and queries that see nothing") {
  const std::string qkv = "float[1,1,2,1] x, bool[2,2] m";
  const std::string nodes =
      nodes_of("g (float[1,1,2,1] x) => (float[1,1,2,1] y) { y = Attention(x, x, x) }", 23);
  // Without a mask there is no bias, and no query is left without keys.
  CHECK(nodes.find("Where(") == std::string::npos);
  CHECK(nodes.find("is_b_transposed=1") != std::string::npos);
  CHECK(nodes_of("g (" + qkv + ") => (float[1,1,2,1] y) { y = Attention(x, x, x, m) }", 23)
            .find("Reduce(") != std::string::npos);
  // With a causal mask, the first query sees only the first key.
  const std::vector<float> y = computed(
      "g (float[1,1,2,1] x) => (float[1,1,2,1] y) { y = Attention<is_causal = 1>(x, x, x) }",
      {3, 5}, 23);
  CHECK(y[0] == 3);
  CHECK(import_error("g (float[1,2,3] x) => (float[1,2,3] y) "
                     "{ y = Attention<q_num_heads = 2, kv_num_heads = 1>(x, x, x) }",
                     23) == "y: expected a number of heads that divides 3, found 2");
}

}  // namespace codl::test
