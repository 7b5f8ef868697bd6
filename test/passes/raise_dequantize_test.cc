#include "test/passes/pass_text.h"

namespace codl::test {
namespace {

const compiler::Pass kRaiseDequantize[] = {{"fold_constants", compiler::fold_constants},
                                           {"merge_common", compiler::merge_common},
                                           {"raise_dequantize", compiler::raise_dequantize},
                                           {"fuse_quantize_pairs", compiler::fuse_quantize_pairs}};

std::string dequantize_raised(const std::string& nodes, const std::string& input = "float[2,3] x",
                              const std::string& outputs = "float[] y") {
  return after(
      "g (" + input + ") => (" + outputs +
          ") <float s = {0.25}, float t = {0.5}, uint8 z = {3}, uint8[2,1] column = {3, 7}, "
          "int64[1] flat = {-1}, int64[4] pads = {0, 1, 0, 0}, int64[1] two = {2}, int64[1] zero = "
          "{0}, int64[3] cube = {2, 3, 2}> { " +
          nodes + " }",
      kRaiseDequantize);
}

const std::string kQuantizeX = "q = QuantizeLinear(x, s, z) ";
const std::string kDequantizeM = " y = DequantizeLinear(m, s, z)";

}  // namespace

TEST_CASE("a dequantisation meets the quantisation before nodes that move elements") {
  for (const char* move :
       {"m = Reshape(q, flat)", "m = Transpose<perm = [1, 0]>(q)",
        "m = Concat<axis = 1>(q, column)", "m = Pad(q, pads)", "m = Gather<axis = 1>(q, two)",
        "m = Concat<axis = 1>(q, q)",
        "p = Transpose<perm = [1, 0]>(q) r = Unsqueeze(p, zero) m = Expand(r, cube)"}) {
    INFO(move);
    const std::string text = dequantize_raised(kQuantizeX + move + kDequantizeM);
    INFO(text);
    CHECK(text.find("Quantize8, alpha=0.25, beta=3") != std::string::npos);
    CHECK(text.find("Cast") == std::string::npos);
    CHECK(text.find("Binary") == std::string::npos);
  }
  // A byte of 0 is -3 * 0.25, and a constant's is what it stands for.
  CHECK(dequantize_raised(kQuantizeX + "m = Pad(q, pads)" + kDequantizeM).find("has_value=1") !=
        std::string::npos);
}

TEST_CASE("a pool of bytes moves them") {
  const std::string text = dequantize_raised(
      kQuantizeX + "m = MaxPool<kernel_shape = [2, 2]>(q)" + kDequantizeM, "float[1,2,3,3] x");
  INFO(text);
  CHECK(text.find("Quantize8") != std::string::npos);
  CHECK(text.find("Cast") == std::string::npos);
}

TEST_CASE("others that read the bytes keep them") {
  const std::string text = dequantize_raised(kQuantizeX + "m = Reshape(q, flat)" + kDequantizeM,
                                             "float[2,3] x", "float[] y, uint8[] m");
  INFO(text);
  CHECK(text.find("output %m : u8[6]") != std::string::npos);
  CHECK(text.find("Reshape(%q.floats") != std::string::npos);
}

TEST_CASE("bytes that come from outside are moved as bytes") {
  const std::string text =
      dequantize_raised("m = Transpose<perm = [1, 0]>(x)" + kDequantizeM, "uint8[2,3] x");
  CHECK(text.find("Transpose(%x) {perm_0=1} : u8[3,2]") != std::string::npos);
}

TEST_CASE("one operand of two grids stays as it is") {
  // The dequantisation's grid is not that of the quantisation: it is raised, but no pair.
  const std::string text =
      dequantize_raised(kQuantizeX + "m = Reshape(q, flat) y = DequantizeLinear(m, t, z)");
  CHECK(text.find("Quantize8") == std::string::npos);
}

}  // namespace codl::test
