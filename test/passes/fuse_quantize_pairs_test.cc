#include "test/passes/pass_text.h"

namespace codl::test {
namespace {

const compiler::Pass kFuseQuantizePairs[] = {
    {"fold_constants", compiler::fold_constants},
    {"merge_common", compiler::merge_common},
    {"eliminate_dead", compiler::eliminate_dead},
    {"fuse_quantize_pairs", compiler::fuse_quantize_pairs}};

std::string quantize_fused(const std::string& nodes, const std::string& outputs = "float[2,3] y") {
  return after(
      "g (float[2,3] x) => (" + outputs +
          ") <float s = {0.25}, float t = {0.5}, uint8 z = {3}, uint8 other = {4}, int8 i = {-5}, "
          "uint16 wide = {7}, float[3] each = {0.25, 0.5, 1}, uint8[3] zeros = {1, 2, 3}, "
          "float low = {-3}, float high = {252}> { " +
          nodes + " }",
      kFuseQuantizePairs);
}

const std::string kQuantizeInput = "input %x : f32[2,3]\n";
const std::string kQuantizeEnd = " : f32[2,3]\noutput %y : f32[2,3]\n";

}  // namespace

TEST_CASE("quantised to 8 bits and back is one Unary") {
  const auto quantize8 = [](int beta) {
    return " = Unary(%x) {kind=Quantize8, alpha=0.25" +
           (beta == 0 ? "" : ", beta=" + std::to_string(beta)) + "}" + kQuantizeEnd;
  };
  for (const auto& [nodes, beta] : {
           std::pair("q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z)", 3),
           std::pair("q = QuantizeLinear(x, s, i) y = DequantizeLinear(q, s, i)", 123),
           std::pair("q = QuantizeLinear(x, s) y = DequantizeLinear(q, s)", 0),
           std::pair("d = Div(x, s) r = Round(d) c = Clip(r, low, high) y = Mul(c, s)", 3),
       }) {
    const std::string text = quantize_fused(nodes);
    INFO(text);
    CHECK(text.rfind(kQuantizeInput, 0) == 0);
    CHECK(text.find(quantize8(beta)) != std::string::npos);
    CHECK(std::count(text.begin(), text.end(), '\n') == 3);
  }
}

TEST_CASE("what goes back to floats twice is quantised once") {
  const std::string text = quantize_fused(
      "q = QuantizeLinear(x, s, z) a = DequantizeLinear(q, s, z) b = DequantizeLinear(q, s, z) "
      "y = Add(a, b)");
  CHECK(text.find("Quantize8") != std::string::npos);
  CHECK(text.find("Cast") == std::string::npos);
}

TEST_CASE("what is not quantised and back by one scale and zero point stays") {
  for (const char* nodes : {
           "q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, t, z)",
           "q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, other)",
           "q = QuantizeLinear(x, s, wide) y = DequantizeLinear(q, s, wide)",
           "q = QuantizeLinear(x, each, zeros) y = DequantizeLinear(q, each, zeros)",
           "d = Div(x, s) r = Round(d) c = Clip(r, low, s) y = Mul(c, s)",
           "d = Div(x, s) r = Floor(d) c = Clip(r, low, high) y = Mul(c, s)",
       }) {
    INFO(nodes);
    CHECK(quantize_fused(nodes).find("Quantize8") == std::string::npos);
  }
  CHECK(quantize_fused("q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z)",
                       "float[2,3] y, uint8[2,3] q")
            .find("Quantize8") == std::string::npos);
}

}  // namespace codl::test
