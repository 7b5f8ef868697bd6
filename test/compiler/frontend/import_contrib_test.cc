// Tests operators of com.microsoft, as ONNX Runtime's optimiser writes them.
#include <cmath>

#include "test/compiler/frontend/import_text.h"

namespace codl::test {
namespace {

std::string bytes_of_text(const std::string& graph, int opset) {
  return parse_onnx_text("<ir_version: 8, opset_import: [\"\": " + std::to_string(opset) +
                         ", \"com.microsoft\": 1]>\n" + graph)
      .SerializeAsString();
}

ir::Graph contrib_graph(const std::string& text, int opset = 13) {
  ir::Graph graph = value_of(compiler::import_onnx(bytes_of_text(text, opset), "m.onnx"));
  REQUIRE(error_of(ir::verify(graph, "import")) == "");
  return graph;
}

std::string contrib_nodes(const std::string& text, int opset = 13) {
  std::string nodes;
  std::istringstream lines(ir::print(contrib_graph(text, opset)));
  for (std::string line; std::getline(lines, line);)
    if (line[0] == '%') nodes += line + "\n";
  return nodes;
}

std::string contrib_error(const std::string& text) {
  return error_of(compiler::import_onnx(bytes_of_text(text, 13), "m.onnx"));
}

// Returns all outputs, for one input.
std::vector<std::vector<float>> contrib_outputs(const std::string& text,
                                                const std::vector<float>& input, int opset = 13) {
  const auto* first = reinterpret_cast<const uint8_t*>(input.data());
  const auto outputs = value_of(compiler::interpret(
      contrib_graph(text, opset), {compiler::Bytes(first, first + input.size() * sizeof(float))}));
  std::vector<std::vector<float>> result;
  for (const auto& bytes : outputs) {
    const auto* begin = reinterpret_cast<const float*>(bytes.data());
    result.emplace_back(begin, begin + bytes.size() / sizeof(float));
  }
  return result;
}

bool is_close(const std::vector<float>& found, const std::vector<double>& wanted) {
  if (found.size() != wanted.size()) return false;
  for (size_t i = 0; i < found.size(); ++i)
    if (std::abs(found[i] - wanted[i]) > 1e-5 * (1 + std::abs(wanted[i]))) return false;
  return true;
}

}  // namespace

TEST_CASE("FusedConv: a Conv, an Add and an activation") {
  const std::string w = "float[1,1,1,1] w = {2}, float[1] b = {1}";
  const auto conv = [&](const std::string& attributes, const std::string& operands) {
    return "g (float[1,1,1,3] x) => (float[] y) <" + w + "> { y = com.microsoft.FusedConv<" +
           attributes + ">(" + operands + ") }";
  };
  CHECK(contrib_nodes(conv("activation = \"Relu\", pads = [0,0,0,0]", "x, w, b")) ==
        "%y.Conv y = Conv2d(%x, %w, %b) {stride_h=1, stride_w=1, dilation_h=1, dilation_w=1, "
        "groups=1} : f32[1,1,1,3]\n"
        "%y y = Unary(%y.Conv) {kind=Relu} : f32[1,1,1,3]\n");
  const std::vector<float> x = {-2, 0.5, 3};  // 2x + 1: -3, 2, 7; with x: -5, 2.5, 10
  CHECK(contrib_outputs(conv("activation = \"Relu\"", "x, w, b, x"), x)[0] ==
        std::vector<float>{0, 2.5, 10});
  CHECK(contrib_outputs(conv("activation = \"LeakyRelu\", activation_params = [0.5]", "x, w, b"),
                        x)[0] == std::vector<float>{-1.5, 2, 7});
  CHECK(contrib_outputs(conv("activation = \"Clip\", activation_params = [-1.0, 6.0]", "x, w, b"),
                        x)[0] == std::vector<float>{-1, 2, 6});
  CHECK(is_close(contrib_outputs(conv("activation = \"HardSigmoid\", activation_params = [0.1, "
                                      "0.4]",
                                      "x, w, b"),
                                 x)[0],
                 {0.1, 0.6, 1}));
  for (const char* name : {"Tanh", "Sigmoid"})
    CHECK(contrib_nodes(conv("activation = \"" + std::string(name) + "\"", "x, w, b"))
              .find("kind=" + std::string(name)) != std::string::npos);
  CHECK(contrib_error(conv("activation = \"Odd\"", "x, w, b"))
            .find("com.microsoft.FusedConv (opset 1) [y]: expected an activation that codl knows, "
                  "found 'Odd'") != std::string::npos);
  CHECK(contrib_error(conv("activation = \"Clip\", activation_params = [1.0]", "x, w, b")) ==
        "y: expected 2 activation_params of Clip, found others");
  CHECK(contrib_error(conv("activation = \"Relu\", odd = 1", "x, w, b"))
            .find("expected attributes of the operator, found 'odd'") != std::string::npos);
}

TEST_CASE("FusedGemm: a Gemm and an activation with its own attributes") {
  CHECK(contrib_outputs("g (float[1,2] x) => (float[] y) <float[2,2] w = {1, 0, 0, 1}, "
                        "float[2] b = {1, 1}> { y = com.microsoft.FusedGemm<transB = 1, alpha = "
                        "2.0, beta = 3.0, activation = \"LeakyRelu\", activation_alpha = 0.1>"
                        "(x, w, b) }",
                        {-4, 2})[0] == std::vector<float>{-0.5, 7});
}

TEST_CASE("FusedMatMul: alpha, transposes of matrices and of batches") {
  // The dims of the result show where each dim went.
  const auto type = [](const std::string& a, const std::string& b, const std::string& attributes) {
    const ir::Graph graph = contrib_graph("g (float[" + a + "] a, float[" + b +
                                          "] b) => (float[] y) { y = "
                                          "com.microsoft.FusedMatMul<" +
                                          attributes + ">(a, b) }");
    return ir::to_string(graph.value(graph.outputs()[0]).type);
  };
  CHECK(type("2,5,3", "2,5,4", "transA = 1") == "f32[2,3,4]");
  CHECK(type("2,3,5", "2,4,5", "transB = 1") == "f32[2,3,4]");
  CHECK(type("2,5,3", "4,5", "transA = 1, transB = 1") == "f32[2,3,4]");
  CHECK(type("3,2,5", "2,5,4", "transBatchA = 1") == "f32[2,3,4]");
  CHECK(type("5,2,7,3", "2,7,5,4", "transA = 1, transBatchA = 1") == "f32[2,7,3,4]");
  CHECK(type("2,3,5", "4,2,5", "transB = 1, transBatchB = 1") == "f32[2,3,4]");
  CHECK(type("5", "5,4", "transA = 1") == "f32[4]");
  CHECK(contrib_outputs("g (float[1,2] x) => (float[] y) <float[2,2] w = {1, 2, 3, 4}> "
                        "{ y = com.microsoft.FusedMatMul<transB = 1, alpha = 0.5>(x, w) }",
                        {1, 10})[0] == std::vector<float>{10.5, 21.5});
  // Both operands are computed, so BatchMatMul reads them transposed.
  CHECK(contrib_nodes("g (float[2,3,5] a, float[2,4,5] b) => (float[] y) { y = "
                      "com.microsoft.FusedMatMul<transB = 1>(a, b) }") ==
        "%y y = BatchMatMul(%a, %b) {is_b_transposed=1} : f32[2,3,4]\n");
}

TEST_CASE("Gelu and its relatives") {
  const auto y = [](const std::string& op, const std::string& more) {
    return contrib_outputs(
        "g (float[2] x) => (float[] y) <float[2] b = {0.5, -0.5}> { y = "
        "com.microsoft." +
            op + "(x" + more + ") }",
        {-1, 2})[0];
  };
  const auto gelu = [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); };
  const auto fast = [](double x) {
    return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
  };
  const auto quick = [](double x, double alpha) { return x / (1 + std::exp(-alpha * x)); };
  CHECK(is_close(y("Gelu", ""), {gelu(-1), gelu(2)}));
  CHECK(is_close(y("BiasGelu", ", b"), {gelu(-0.5), gelu(1.5)}));
  CHECK(is_close(y("FastGelu", ""), {fast(-1), fast(2)}));
  CHECK(is_close(y("FastGelu", ", b"), {fast(-0.5), fast(1.5)}));
  CHECK(is_close(y("QuickGelu", ""), {quick(-1, 1.702), quick(2, 1.702)}));
  CHECK(is_close(y("QuickGelu<alpha = 1.0>", ""), {quick(-1, 1), quick(2, 1)}));
}

TEST_CASE("SkipLayerNormalization: the sum is an output, the skip broadcasts") {
  // x + skip + bias = -1, 1: mean 0, deviation 1.
  const auto outputs = contrib_outputs(
      "g (float[1,1,2] x) => (float[] y, float[] mean, float[] inverse, float[] sum) "
      "<float[1,2] skip = {1, 0}, float[2] gamma = {2, 3}, float[2] beta = {10, 20}, "
      "float[2] bias = {0, 1}> { y, mean, inverse, sum = "
      "com.microsoft.SkipLayerNormalization(x, skip, gamma, beta, bias) }",
      {-2, 0});
  CHECK(is_close(outputs[0], {8, 23}));
  CHECK(is_close(outputs[1], {0}));
  CHECK(is_close(outputs[2], {1}));
  CHECK(is_close(outputs[3], {-1, 1}));
  const auto simplified = contrib_outputs(
      "g (float[1,1,2] x) => (float[] y, float[] sum) <float[2] gamma = {2, 3}> { y, m, i, sum = "
      "com.microsoft.SkipSimplifiedLayerNormalization<epsilon = 0.0>(x, x, gamma) }",
      {1.5, 2});
  CHECK(is_close(simplified[0], {2 * 3 / std::sqrt(12.5), 3 * 4 / std::sqrt(12.5)}));
  CHECK(is_close(simplified[1], {3, 4}));
}

TEST_CASE("normalisations that ONNX Runtime writes into ONNX's own domain") {
  for (int opset : {7, 11, 16, 17})
    CHECK(is_close(contrib_outputs("g (float[2,2] x) => (float[] y) <float[2] s = {1, 2}, "
                                   "float[2] b = {5, 6}> { y = LayerNormalization<epsilon = 0.0>"
                                   "(x, s, b) }",
                                   {0, 2, 3, -3}, opset)[0],
                   {4, 8, 6, 4}));
  const auto outputs = contrib_outputs(
      "g (float[1,2] x) => (float[] y, float[] i) <float[2] s = {1, 2}> { y, i = "
      "SimplifiedLayerNormalization<epsilon = 0.0>(x, s) }",
      {3, 4});
  CHECK(is_close(outputs[0], {3 / std::sqrt(12.5), 8 / std::sqrt(12.5)}));
  CHECK(is_close(outputs[1], {1 / std::sqrt(12.5)}));
}

TEST_CASE("SimplifiedLayerNormalization has one meaning in both domains") {
  for (const char* domain : {"", "com.microsoft."})
    CHECK(is_close(contrib_outputs("g (float[1,2] x) => (float[] y) <float[2] s = {1, 2}> { y = " +
                                       std::string(domain) +
                                       "SimplifiedLayerNormalization<epsilon = 0.0>(x, s) }",
                                   {3, 4})[0],
                   {3 / std::sqrt(12.5), 8 / std::sqrt(12.5)}));
}

// ONNX Runtime computes these forms on GPUs only, so that test/differential has no results of them.
TEST_CASE("MultiHeadAttention: packed operands are the same as separate ones") {
  // The operand's elements are [head][Q, K, V][size] for each of two positions.
  const std::vector<float> packed = {1, 2, -1, 3, 5, 7, 0.5, -2, 1, 1, 2, 4};
  const auto y = [&](const std::string& node) {
    return contrib_outputs(
        "g (float[1,2,1,3,2] x) => (float[] y) <int64[4] flat = {1, 2, 6, 1}, "
        "int64[3] dims = {1, 2, 2}, int64[5] pair = {1, 2, 1, 2, 2}, int64[1] a = {0}, "
        "int64[1] b = {1}, int64[1] c = {2}, int64[1] d = {3}, int64[1] axis = {3}> {" +
            node + "}",
        packed)[0];
  };
  const std::string parts =
      "sq = Slice(x, a, b, axis) sk = Slice(x, b, c, axis) sv = Slice(x, c, d, axis) "
      "q = Reshape(sq, dims) k = Reshape(sk, dims) v = Reshape(sv, dims) ";
  const std::string attributes = "com.microsoft.MultiHeadAttention<num_heads = 1>";
  const auto wanted = y(parts + "y = " + attributes + "(q, k, v)");
  CHECK(y("y = " + attributes + "(x)") == wanted);
  CHECK(y(parts + "kv = Slice(x, b, d, axis) y = " + attributes + "(q, kv)") == wanted);
  CHECK(y("y = " + attributes + "(x)") !=
        y("y = com.microsoft.MultiHeadAttention<num_heads = 1, scale = 0.1>(x)"));
}

TEST_CASE("Attention: the part of a large square mask that begins behind the past") {
  // Scores are zero, so that each query takes the mean of the values that it sees; the values are
  // the input's elements.
  const auto y = [&](const std::string& mask) {
    return contrib_outputs(
        "g (float[1,2,1] x) => (float[] y) <float[1,3] w = {0, 0, 1}, int32[1,1,4,4] big = {1, 1, "
        "1, 1, 1, 0, 0, 1, 1, 0, 1, 1, 0, 0, 0, 0}, float[2,1,1,1,1] past = {0, 100}> { y = "
        "com.microsoft.Attention<num_heads = 1>(x, w, , " +
            mask + ", past) }",
        {1, 2})[0];
  };
  CHECK(is_close(y("big"), {100, (100 + 2) / 2.0}));
  CHECK(is_close(y(""), {103 / 3.0, 103 / 3.0}));
}

TEST_CASE(
    "GroupQueryAttention: heads that are normalised, all keys, a cache of a declared length") {
  const auto text = [](const std::string& attributes, const std::string& operands,
                       const std::string& total, const std::string& present) {
    return "g (float[1,1,2] x, " + total + "int32[1] last) => (float[] y, float[" + present +
           "] pk, float[" + present +
           "] pv) <float[1,1,3,2] past = {0, 0, 0, 0, 0, 0}, float[2] "
           "norm = {1, 1}> { y, pk, pv = com.microsoft.GroupQueryAttention<num_heads = 1, "
           "kv_num_heads = 1" +
           attributes + ">(" + operands + ") }";
  };
  const std::string cached = "x, x, x, past, past, last, total";
  // A total that only the run knows leaves the length of the cache to its declaration.
  CHECK(contrib_error(text("", cached, "int32[1] total, ", "1,1,n,2"))
            .find("total_sequence_length") != std::string::npos);
  CHECK(contrib_error(text("", cached, "int32[1] total, ", "1,1,3,2")) == "");
  CHECK(contrib_error(text(", sliding_window_cache = 1", cached, "int32[1] total, ", "1,1,3,2"))
            .find("expected sliding_window_cache 0, found 1") != std::string::npos);
  CHECK(
      contrib_error(text(", k_quant_type = \"PER_TENSOR\"", cached, "int32[1] total, ", "1,1,3,2"))
          .find("expected k_quant_type NONE") != std::string::npos);

  const auto y = [&](const std::string& attributes, const std::string& operands, int rows) {
    return contrib_outputs(
        "g (float[1," + std::to_string(rows) + ",2] x) => (float[] y) <int32[1] last = {" +
            std::to_string(rows - 1) + "}, int32 total = {" + std::to_string(rows) +
            "}, float[2] norm = {1, 1}> { y, pk, pv = "
            "com.microsoft.GroupQueryAttention<num_heads = 1, kv_num_heads = 1, scale = 1.0" +
            attributes + ">(x, x, x, , , last, total" + operands + ") }",
        rows == 1 ? std::vector<float>{3, 4} : std::vector<float>{3, 4, 0, 5})[0];
  };
  CHECK(is_close(y("", "", 1), {3, 4}));
  // Normalised, the first query is (3, 4) / sqrt(12.5) and the second (0, 5) / sqrt(12.5): products
  // are 2, 1.6 and 2.
  const double share = 1 / (1 + std::exp(-0.4));
  const auto normed =
      y(", causal = 0, qk_norm_epsilon = 0.000000001", ", , , , , , , , norm, norm", 2);
  CHECK(is_close(normed, {3 * share, 4 * share + 5 * (1 - share), 3 * (1 - share),
                          4 * (1 - share) + 5 * share}));
  CHECK(is_close(y(", qk_norm_epsilon = 0.000000001", ", , , , , , , , norm, norm", 2),
                 {3, 4, 3 * (1 - share), 4 * (1 - share) + 5 * share}));
}

TEST_CASE("attention of com.microsoft: what is refused says what was expected") {
  const auto error = [](const std::string& node) {
    return contrib_error(
        "g (float[1,2,4] x, int32[3] m) => (float[] y) <float[4,12] w = {" +
        [] {
          std::string zeros = "0";
          for (int i = 1; i < 48; ++i) zeros += ", 0";
          return zeros;
        }() +
        "}, float[2,2] table = {1, 1, 1, 1}, int64[1] p = {0}> { y = com.microsoft." + node + " }");
  };
  const auto has = [&](const std::string& node, const std::string& wanted) {
    INFO(error(node));
    return error(node).find(wanted) != std::string::npos;
  };
  CHECK(error("Attention<num_heads = 2>(x, w)") == "");
  CHECK(has("Attention<num_heads = 2, do_rotary = 1>(x, w)", "expected do_rotary 0, found 1"));
  CHECK(has("Attention<num_heads = 2>(x, w, , m)", "expected a mask of 1 or 2 lengths"));
  CHECK(
      has("Attention<num_heads = 3>(x, w)", "expected a number of heads that divides 4, found 3"));
  CHECK(has("Attention(x, w)", "expected num_heads of 1 or more, found 0"));
  CHECK(has("Attention<num_heads = 2, qkv_hidden_sizes = [4, 3, 5]>(x, w)",
            "expected sizes of Q, K and V that add up to 12"));
  CHECK(error("MultiHeadAttention<num_heads = 2>(x, x, x)") == "");
  CHECK(has("MultiHeadAttention<num_heads = 2>(x)", "expected Q, K and V of rank 3"));
  CHECK(has("RotaryEmbedding<scale = 2.0>(x, p, table, table)", "expected scale 1, found 2"));
  CHECK(has("RotaryEmbedding(x, m, table, table)", "expected positions of dims [1] or [1, 2]"));
}

TEST_CASE("other operators of com.microsoft are named") {
  CHECK(contrib_error("g (float[2] x) => (float[] y) { y = com.microsoft.QAttention(x, x) }") ==
        "m.onnx: expected a model of operators that codl imports (codlc --list-ops), found "
        "com.microsoft.QAttention (opset 1) [y]: operator not imported");
}

}  // namespace codl::test
