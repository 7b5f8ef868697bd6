// Tests operators on quantised values: those of ONNX, and those of com.microsoft, as ONNX Runtime's
// quantisation tools write them.
#include <cmath>
#include <cstring>

#include "compiler/passes/pass.h"
#include "compiler/passes/pass_order.h"
#include "test/compiler/frontend/import_text.h"

namespace codl::test {
namespace {

std::string quantized_model(const std::string& graph, int opset = 13) {
  onnx::ModelProto model =
      parse_onnx_text("<ir_version: 8, opset_import: [\"\": " + std::to_string(opset) +
                      ", \"com.microsoft\": 1]>\n" + graph);
  fill_declared(*model.mutable_graph());
  return model.SerializeAsString();
}

std::string quantized_error(const std::string& graph) {
  return error_of(compiler::import_onnx(quantized_model(graph), "m.onnx"));
}

// Returns the first output, before and after the passes, which must agree.
template <typename To, typename From>
std::vector<To> quantized_output(const std::string& graph, const std::vector<From>& input,
                                 int opset = 13) {
  ir::Graph imported = value_of(compiler::import_onnx(quantized_model(graph, opset), "m.onnx"));
  REQUIRE(error_of(ir::verify(imported, "import")) == "");
  const auto run_graph = [&] {
    const auto outputs = value_of(compiler::interpret(imported, {bytes_of(input)}));
    std::vector<To> result(outputs[0].size() / sizeof(To));
    std::memcpy(result.data(), outputs[0].data(), outputs[0].size());
    return result;
  };
  const std::vector<To> result = run_graph();
  REQUIRE(error_of(compiler::run_passes(imported, compiler::fusion_passes(), {})) == "");
  CHECK(run_graph() == result);
  return result;
}

// Returns the nodes after the passes, without parameters and types: "Conv2d Unary".
std::string kinds_after(const std::string& graph, int opset = 13) {
  ir::Graph imported = value_of(compiler::import_onnx(quantized_model(graph, opset), "m.onnx"));
  REQUIRE(error_of(compiler::run_passes(imported, compiler::fusion_passes(), {})) == "");
  std::string kinds;
  for (const ir::Node& node : imported.nodes())
    kinds += (kinds.empty() ? "" : " ") + std::string(op_info(node.op).name);
  return kinds;
}

using Bytes8 = std::vector<uint8_t>;

const std::string kGrid = "float s = {0.5}, uint8 z = {100}";

}  // namespace

TEST_CASE("QLinearConv: a float convolution between grids") {
  const std::string conv =
      "g (float[1,1,1,3] x) => (float[] y) <float s = {0.5}, uint8 z = {100}, int8[2,1,1,1] w = "
      "{2, "
      "-3}, float[2] ws = {0.5, 0.25}, int8[2] wz = {0, 0}, float t = {0.25}, int8 u = {-10}, "
      "int32[2] b = {4, -8}> { q = QuantizeLinear(x, s, z) c = QLinearConv(q, s, z, w, ws, wz, t, "
      "u, "
      "b) y = DequantizeLinear(c, t, u) }";
  // 2 * 0.5 x + 4 * 0.25, and -3 * 0.25 x - 8 * 0.125, on a grid of 0.25 from -29.5 on.
  CHECK(quantized_output<float, float>(conv, {-60, 1.1f, 40}) ==
        std::vector<float>{-29.5, 2, 34.25, 34.25, -1.75, -29.5});
  CHECK(kinds_after(conv) == "Unary Conv2d");
  // A scale that is computed is no grid; the sum is one of integers.
  CHECK(quantized_output<uint8_t, float>(
            "g (float x) => (uint8[] y) <uint8[1,1,1,3] q = {90, 100, 140}, uint8 z = {100}, "
            "uint8[1,1,1,1] w = {103}, float s = {0.5}> "
            "{ y = QLinearConv(q, x, z, w, s, z, s, z) }",
            {0.5f}) == Bytes8{85, 100, 160});
}

TEST_CASE("QLinearMatMul: scales per row and per column") {
  const std::string product =
      "g (uint8[2,2] x) => (uint8[] y) <float[2] s = {0.5, 1.0}, uint8[2] z = {100, 0}, uint8[2,2] "
      "w "
      "= {1, 2, 3, 4}, float[2] ws = {0.5, 0.25}, uint8[2] wz = {0, 2}, float t = {0.25}, uint8 u "
      "= "
      "{5}> { y = QLinearMatMul(x, s, z, w, ws, wz, t, u) }";
  // Rows 1 2 and 4 3; columns 0.5 1.5 and 0 0.5.
  CHECK(quantized_output<uint8_t, uint8_t>(product, {102, 104, 4, 3}) == Bytes8{19, 9, 31, 11});
}

TEST_CASE("QGemm: a bias of 32 bits, and floats without a scale") {
  const std::string operands =
      "<" + kGrid +
      ", int8[2,2] w = {1, 2, 3, 4}, float ws = {0.25}, int8 wz = {0}, int32[2] b = {8, "
      "-8}> ";
  const std::string gemm = "com.microsoft.QGemm<transB = 1, alpha = 2.0>(x, s, z, w, ws, wz, b";
  // x: 1 2; x B: 5 11 times 0.25, times alpha, plus 8 and -8 times 0.25.
  CHECK(quantized_output<float, uint8_t>(
            "g (uint8[1,2] x) => (float[] y) " + operands + "{ y = " + gemm + ") }", {102, 104}) ==
        std::vector<float>{4.5, 3.5});
  CHECK(quantized_output<uint8_t, uint8_t>(
            "g (uint8[1,2] x) => (uint8[] y) " + operands + "{ y = " + gemm + ", s, z) }",
            {102, 104}) == Bytes8{109, 107});
}

TEST_CASE("elementwise operators of quantised values") {
  const auto y = [](const std::string& op) {
    return quantized_output<uint8_t, uint8_t>("g (uint8[4] x) => (uint8[] y) <" + kGrid +
                                                  ", float t = {1.0}, uint8 u = {50}, uint8[4] b = "
                                                  "{50, 51, 48, 60}> { y = com.microsoft." +
                                                  op + " }",
                                              {90, 100, 101, 250});
  };
  // x: -5 0 0.5 75; b: 0 1 -2 10
  CHECK(y("QLinearAdd(x, s, z, b, t, u, t, u)") == Bytes8{45, 51, 48, 135});
  CHECK(y("QLinearMul(x, s, z, b, t, u, t, u)") == Bytes8{50, 50, 49, 255});
  CHECK(y("QLinearLeakyRelu<alpha = 0.2>(x, s, z, t, u)") == Bytes8{49, 50, 50, 125});
  CHECK(y("QLinearSigmoid(x, s, z, s, z)") == Bytes8{100, 101, 101, 102});
  CHECK(y("QLinearConcat<axis = 0>(s, z, x, s, z, b, t, u)") ==
        Bytes8{90, 100, 101, 250, 100, 102, 96, 120});
}

TEST_CASE("QLinearSoftmax: over all axes from one on before opset 13") {
  const auto y = [](const std::string& attributes) {
    return quantized_output<uint8_t, uint8_t>(
        "g (uint8[1,2,2] x) => (uint8[] y) <float s = {0.5}, uint8 z = {100}, float t = "
        "{0.0078125}, uint8 u = {0}> { y = com.microsoft.QLinearSoftmax<" +
            attributes + ">(x, s, z, t, u) }",
        {7, 7, 7, 7});
  };
  CHECK(y("axis = 1, opset = 12") == Bytes8{32, 32, 32, 32});
  CHECK(y("axis = 1, opset = 13") == Bytes8{64, 64, 64, 64});
  CHECK(y("axis = -1, opset = 13") == Bytes8{64, 64, 64, 64});
}

TEST_CASE("pools of quantised values, with channels first and last") {
  const auto y = [](const std::string& op, const std::string& dims) {
    return quantized_output<uint8_t, uint8_t>("g (uint8[" + dims + "] x) => (uint8[] y) <" + kGrid +
                                                  "> { y = com.microsoft." + op +
                                                  ">(x, s, z, s, z) }",
                                              {100, 110, 104, 120});
  };
  const std::string global = "QLinearGlobalAveragePool<channels_last = ";
  CHECK(y(global + "0", "1,2,1,2") == Bytes8{105, 112});
  CHECK(y(global + "1", "1,1,2,2") == Bytes8{102, 115});
  const std::string pool = "QLinearAveragePool<kernel_shape = [1, 2], channels_last = ";
  CHECK(y(pool + "0", "1,2,1,2") == Bytes8{105, 112});
  CHECK(y(pool + "1", "1,1,2,2") == Bytes8{102, 115});
}

TEST_CASE("MatMulInteger: floats, in runs that they add up exactly") {
  const auto product = [](int k, int weight) {
    std::string w = std::to_string(weight);
    for (int i = 1; i < k; ++i) w += ", " + std::to_string(weight);
    const std::string dim = std::to_string(k);
    return "g (uint8[1," + dim + "] x) => (int32[] y) <int8[" + dim + ",1] w = {" + w +
           "}> { y = MatMulInteger(x, w) }";
  };
  CHECK(kinds_after(product(8, -128)).find("BatchMatMul") == std::string::npos);
  // 255 * 127 * 1500 is more than 2^24, and so is a sum of odd numbers.
  const std::string long_product = product(1500, 127);
  CHECK(quantized_output<int32_t, uint8_t>(long_product, Bytes8(1500, 255)) ==
        std::vector<int32_t>{255 * 127 * 1500});
  CHECK(kinds_after(long_product).find("Slice") != std::string::npos);
}

TEST_CASE("ConvInteger: floats, in runs of channels that they add up exactly") {
  std::string w = "127";
  for (int i = 1; i < 700; ++i) w += ", 127";
  CHECK(quantized_output<int32_t, uint8_t>(
            "g (uint8[1,700,1,1] x) => (int32[] y) <int8[1,700,1,1] w = {" + w +
                "}, uint8 z = {1}> { y = ConvInteger(x, w, z) }",
            Bytes8(700, 255)) == std::vector<int32_t>{254 * 127 * 700});
}

TEST_CASE("a dynamically quantised product has no integers left") {
  const std::string product =
      "g (float[1,2] x) => (float[] y) <int8[2,2] w = {1, 2, 3, 4}, float ws = {0.5}, int8 wz = "
      "{1}, "
      "float[2] b = {10, 20}> { ";
  const std::string written =
      product +
      "q, s, z = DynamicQuantizeLinear(x) p = MatMulInteger(q, w, z, wz) f = Cast<to = 1>(p) t = "
      "Mul(s, ws) m = Mul(f, t) y = Add(m, b) }";
  CHECK(kinds_after(written).find("Cast") == std::string::npos);
  const std::vector<float> wanted = quantized_output<float, float>(written, {-51, 204});
  // The scale is 1: -51 and 204 are on the grid.
  CHECK(wanted == std::vector<float>{214, 300.5});
  CHECK(quantized_output<float, float>(
            product + "y = com.microsoft.DynamicQuantizeMatMul(x, w, ws, wz, b) }", {-51, 204}) ==
        wanted);
  CHECK(
      quantized_output<float, uint8_t>(
          "g (uint8[1,2] x) => (float[] y) <int8[2,2] w = {1, 2, 3, 4}, float s = {1}, float[2] ws "
          "= {0.5, 0.5}, uint8 z = {51}, int8 wz = {1}, float[2] b = {10, 20}> { y = "
          "com.microsoft.MatMulIntegerToFloat(x, w, s, ws, z, wz, b) }",
          {0, 255}) == wanted);
}

TEST_CASE("a dynamically quantised product is one of bytes") {
  // Weights less their zero point reach 155: bytes hold them 28 lower.
  for (const char* const weights : {"int8[2,2] w = {1, 2, 3, 4}, int8 wz = {0}",
                                    "uint8[2,2] w = {101, 102, 255, 104}, uint8 wz = {100}",
                                    "uint8[2,2] w = {1, 2, 3, 4}, uint8[2] wz = {200, 7}"}) {
    const std::string model =
        std::string("g (float[1,2] x) => (int32[] y) <") + weights +
        "> { q, s, z = DynamicQuantizeLinear(x) y = MatMulInteger(q, w, z, wz) }";
    INFO(model);
    ir::Graph graph = value_of(compiler::import_onnx(quantized_model(model), "m.onnx"));
    REQUIRE(error_of(compiler::run_passes(graph, compiler::frontend_passes(), {})) == "");
    size_t products = 0;
    for (const ir::Node& node : graph.nodes()) {
      if (node.op != OpKind::MatMul) continue;
      ++products;
      CHECK(graph.value(node.inputs[0]).grid == ir::Grid{1, -128});
      CHECK(graph.value(node.inputs[1]).has_channel_grids);
    }
    CHECK(products > 0);
  }
  const auto product = [](const std::string& weights) {
    return quantized_output<int32_t, float>(
        "g (float[1,2] x) => (int32[] y) <" + weights +
            "> { q, s, z = DynamicQuantizeLinear(x) y = MatMulInteger(q, w, z, wz) }",
        {-51, 204});
  };
  CHECK(product("int8[2,2] w = {1, 2, 3, 4}, int8 wz = {0}") == std::vector<int32_t>{561, 714});
  CHECK(product("uint8[2,2] w = {101, 102, 255, 104}, uint8 wz = {100}") ==
        std::vector<int32_t>{31569, 714});
  CHECK(product("uint8[2,2] w = {1, 2, 3, 4}, uint8[2] wz = {200, 7}") ==
        std::vector<int32_t>{-30039, -357});
}

TEST_CASE("DynamicQuantizeLSTM: an LSTM of dequantised weights") {
  const std::string input = "g (float[2,1,1] x) => (float[] y) ";
  const std::vector<float> x = {0, 255};  // on the grid
  const std::string scales = "float[1] s = {0.01}, int8[1] z = {1}";
  CHECK(
      quantized_output<float, float>(
          input + "<int8[1,1,4] w = {2, -3, 4, 5}, int8[1,1,4] r = {7, 8, 9, 11}, " + scales +
              "> { y = com.microsoft.DynamicQuantizeLSTM<hidden_size = 1>(x, w, r, , , , , , s, z, "
              "s, z) }",
          x) ==
      quantized_output<float, float>(
          input + "<int8[1,4,1] w = {2, -3, 4, 5}, int8[1,4,1] r = {7, 8, 9, 11}, " + scales +
              "> { v = DequantizeLinear(w, s, z) q = DequantizeLinear(r, s, z) y = "
              "LSTM<hidden_size "
              "= 1>(x, v, q) }",
          x));
}

TEST_CASE("MatMulNBits: blocks of few bits") {
  const std::string bytes =
      "uint8[2,1,8] b = {16, 50, 84, 118, 152, 186, 220, 254, 8, 8, 8, 8, 8, 8, 8, 8}";
  const auto y = [&](const std::string& more, const std::string& operands) {
    std::vector<float> x(16, 0);
    x[0] = 1;  // the low bits of the first byte
    x[3] = 10;
    return quantized_output<float, float>(
        "g (float[1,16] x) => (float[] y) <" + bytes + ", float[2] s = {1.0, 0.5}" + more +
            "> { y = com.microsoft.MatMulNBits<K = 16, N = 2, bits = 4, block_size = 16>(x, b, s" +
            operands + ") }",
        x);
  };
  // Row 0 holds 0 1 2 3 ..., row 1 holds 8 0 8 0 ...
  CHECK(y("", "") == std::vector<float>{-8 - 50, -40});
  CHECK(y(", uint8[2] z = {3, 7}", ", z") == std::vector<float>{-3, 0.5f - 35});
  CHECK(y(", float[2] z = {3, 7}", ", z") == std::vector<float>{-3, 0.5f - 35});
  CHECK(y(", float[2] c = {1, 2}", ", , , c") == std::vector<float>{-57, -38});
  CHECK(quantized_output<float, float>(
            "g (float[1,2] x) => (float[] y) <uint8[1,1,16] b = {130, 127, 0, 0, 0, 0, 0, 0, 0, 0, "
            "0, 0, 0, 0, 0, 0}, float[1] s = {0.5}> { y = com.microsoft.MatMulNBits<K = 2, N = 1, "
            "bits = 8, block_size = 16>(x, b, s) }",
            {10, 1}) == std::vector<float>{9.5});
  const auto error = [&](const std::string& attributes, const std::string& operands) {
    return quantized_error("g (float[1,16] x, int32[16] g) => (float[] y) <" + bytes +
                           ", float[2] s> { y = com.microsoft.MatMulNBits<K = 16, N = 2, " +
                           attributes + ">(x, b, s" + operands + ") }");
  };
  CHECK(error("bits = 4, block_size = 16", ", , g").find("found g_idx") != std::string::npos);
  CHECK(error("bits = 3, block_size = 16", "").find("2, 4 or 8 bits, found 3") !=
        std::string::npos);
  CHECK(error("bits = 4, block_size = 32", "").find("bytes of weights") != std::string::npos);
  CHECK(error("bits = 4, block_size = 20", "").find("block_size") != std::string::npos);
}

TEST_CASE("GatherBlockQuantized: rows of a table of few bits") {
  const std::string table =
      "g (int64[1] i) => (float[] y) <uint8[2,8] d = {16, 50, 84, 118, 152, 186, 220, 254, 8, 8, "
      "8, "
      "8, 8, 8, 8, 8}, float[2,1] s = {0.5, 2.0}, uint8[2,1] z = {3, 7}> { y = "
      "com.microsoft.GatherBlockQuantized<block_size = 16>(d, i, s";
  const std::vector<float> row =
      quantized_output<float, int64_t>(table + ", z) }", std::vector<int64_t>{0});
  CHECK(std::vector<float>(row.begin(), row.begin() + 4) == std::vector<float>{-1.5, -1, -0.5, 0});
  const std::vector<float> other = quantized_output<float, int64_t>(table + ") }", {1});
  CHECK(std::vector<float>(other.begin(), other.begin() + 4) == std::vector<float>{0, -16, 0, -16});
}

TEST_CASE("integers of 4 bits: the low bits of a byte come first") {
  const auto model = [](int type, const std::string& bytes, const std::string& nodes) {
    onnx::ModelProto proto = parse_onnx_text(
        "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[4] x) => (float[4] y) <float s = "
        "{0.5}> { " +
        nodes + " }");
    for (const char* name : {"q", "z"}) {
      onnx::TensorProto& tensor = *proto.mutable_graph()->add_initializer();
      tensor.set_name(name);
      tensor.set_data_type(type);
      if (name[0] == 'q') tensor.add_dims(4);
      tensor.set_raw_data(name[0] == 'q' ? bytes : bytes.substr(0, 1));
    }
    const auto graph = value_of(compiler::import_onnx(proto.SerializeAsString(), "m.onnx"));
    const auto outputs =
        value_of(compiler::interpret(graph, {bytes_of(std::vector<float>{-9, 0.4f, 3, 9})}));
    std::vector<float> result(4);
    std::memcpy(result.data(), outputs[0].data(), outputs[0].size());
    return result;
  };
  constexpr int kUint4 = 21, kInt4 = 22;
  const std::string bytes("\x21\xf7", 2);
  const std::string dequantized = "d = DequantizeLinear(q, s) y = Add(d, x)";
  CHECK(model(kUint4, bytes, dequantized) == std::vector<float>{-8.5, 1.4f, 6.5, 16.5});
  CHECK(model(kInt4, bytes, dequantized) == std::vector<float>{-8.5, 1.4f, 6.5, 8.5});
  const std::string quantized = "i = QuantizeLinear(x, s, z) y = DequantizeLinear(i, s, z)";
  CHECK(model(kUint4, bytes, quantized) == std::vector<float>{-0.5, 0.5, 3, 7});
  CHECK(model(kInt4, bytes, quantized) == std::vector<float>{-4.5, 0.5, 3, 3});
}

TEST_CASE("networks of quantised operators are those of floats between grids") {
  const std::string input = "g (float[1,4,6,6] x) => (float[] y) ";
  const std::string parameters =
      "<float s = {0.05}, uint8 z = {128}, int8[4,4,1,1] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, "
      "12, "
      "13, 14, 15, 16}, float ws = {0.01}, int8 wz = {0}, int32[4] b = {1, 2, 3, 4}, float bs = "
      "{0.0005}> { q = QuantizeLinear(x, s, z) ";
  // As QOperator and as QDQ: two convolutions, a pool and a sum.
  const std::string operators =
      "c = QLinearConv(q, s, z, w, ws, wz, s, z, b) p = MaxPool<kernel_shape = [2, 2], strides = "
      "[2, "
      "2]>(c) d = QLinearConv(p, s, z, w, ws, wz, s, z, b) e = com.microsoft.QLinearAdd(d, s, z, "
      "p, s, "
      "z, s, z) y = DequantizeLinear(e, s, z) }";
  const std::string pairs =
      "qf = DequantizeLinear(q, s, z) wf = DequantizeLinear(w, ws, wz) bf = DequantizeLinear(b, "
      "bs) "
      "c = Conv(qf, wf, bf) cq = QuantizeLinear(c, s, z) cf = DequantizeLinear(cq, s, z) p = "
      "MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(cf) pq = QuantizeLinear(p, s, z) pf = "
      "DequantizeLinear(pq, s, z) pg = DequantizeLinear(pq, s, z) d = Conv(pf, wf, bf) dq = "
      "QuantizeLinear(d, s, z) df = DequantizeLinear(dq, s, z) e = Add(df, pg) eq = "
      "QuantizeLinear(e, "
      "s, z) y = DequantizeLinear(eq, s, z) }";
  const std::string kinds = "Unary Conv2d Pool2d Conv2d Binary";
  CHECK(kinds_after(input + parameters + operators) == kinds);
  CHECK(kinds_after(input + parameters + pairs) == kinds);
}

}  // namespace codl::test
