#include "test/passes/pass_text.h"

namespace codl::test {
namespace {

const compiler::Pass kDropRequantize[] = {{"fold_constants", compiler::fold_constants},
                                          {"merge_common", compiler::merge_common},
                                          {"eliminate_dead", compiler::eliminate_dead},
                                          {"fuse_quantize_pairs", compiler::fuse_quantize_pairs},
                                          {"drop_requantize", compiler::drop_requantize},
                                          {"fuse_activation", compiler::fuse_activation}};

// A grid of 0.25 from -0.75 on, one from 0 on, and one of 0.5.
const std::string kGrids =
    " <float s = {0.25}, float t = {0.5}, uint8 z = {3}, uint8 none = {0}, float zero = {0}, float "
    "six = {6}, float top = {63.75}, float below = {-0.75}, int64[1] flat = {-1}, int64[4] pads = "
    "{0, "
    "1, 0, 0}, float[2,1] on = {0.25, -0.75}, float[2,1] off = {0.1, 0.2}, float[3,3] w> { ";

std::string requantize_dropped(const std::string& nodes, const std::string& outputs = "float[] y") {
  return after("g (float[2,3] x) => (" + outputs + ")" + kGrids + nodes + " }", kDropRequantize);
}

size_t quantizations(const std::string& text) {
  size_t count = 0;
  for (size_t at = text.find("=Quantize8"); at != std::string::npos;
       at = text.find("=Quantize8", at + 1))
    ++count;
  return count;
}

// Quantises `from` and back.
std::string on_grid(const std::string& to, const std::string& from, const std::string& scale = "s",
                    const std::string& zero = "z") {
  return to + "q = QuantizeLinear(" + from + ", " + scale + ", " + zero + ") " + to +
         " = DequantizeLinear(" + to + "q, " + scale + ", " + zero + ") ";
}

}  // namespace

TEST_CASE("what is on the grid and only moves is not quantised again") {
  for (const char* move : {"m = Transpose<perm = [1, 0]>(a)", "m = Reshape(a, flat)",
                           "m = Concat<axis = 1>(a, a)", "m = Concat<axis = 1>(a, on)",
                           "m = Pad(a, pads)", "m = Relu(a)", "m = Clip(a, zero, six)"}) {
    const std::string text = requantize_dropped(on_grid("a", "x") + move + " " + on_grid("y", "m"));
    INFO(text);
    CHECK(quantizations(text) == 1);
  }
  for (const char* move : {"m = Sqrt(a)", "m = Add(a, a)", "m = Clip(a, zero, zero)"}) {
    const std::string text = requantize_dropped(on_grid("a", "x") + move + " " + on_grid("y", "m"));
    INFO(text);
    CHECK(quantizations(text) == (std::string(move).find("Clip") == std::string::npos ? 2 : 1));
  }
  CHECK(quantizations(requantize_dropped(on_grid("a", "x") + "m = Transpose<perm = [1, 0]>(a) " +
                                         on_grid("y", "m", "t"))) == 2);
}

TEST_CASE("a clamp to the ends of the grid is the quantisation's own") {
  const auto clamps = [](const std::string& clamp, const std::string& zero) {
    const std::string text =
        requantize_dropped("m = " + clamp + " " + on_grid("y", "m", "s", zero));
    return text.find("Clip") != std::string::npos || text.find("Relu") != std::string::npos;
  };
  CHECK_FALSE(clamps("Relu(x)", "none"));
  CHECK(clamps("Relu(x)", "z"));
  CHECK_FALSE(clamps("Clip(x, zero, top)", "none"));
  CHECK(clamps("Clip(x, zero, six)", "none"));
  CHECK_FALSE(clamps("Clip(x, below, top)", "z"));  // the grid ends at 63
  CHECK(clamps("Clip(x, below, six)", "z"));
  CHECK_FALSE(clamps("Clip(x, below)", "z"));
  // The clamped value leaves the network.
  CHECK(requantize_dropped("m = Relu(x) " + on_grid("y", "m", "s", "none"), "float[] y, float[] m")
            .find("Relu") != std::string::npos);
}

TEST_CASE("quantising passes what moves elements, up to what computes them") {
  const std::string text =
      requantize_dropped("p = MatMul(x, w) m = Transpose<perm = [1, 0]>(p) " + on_grid("y", "m"));
  INFO(text);
  CHECK(text.find("activation=Quantize8") != std::string::npos);
  // Every operand of a Concat is quantised by itself, unless it is on the grid.
  const std::string concat = requantize_dropped(
      on_grid("a", "x") + "p = MatMul(x, w) m = Concat<axis = 1>(a, p, on) " + on_grid("y", "m"));
  INFO(concat);
  CHECK(quantizations(concat) == 2);
  CHECK(concat.find("activation=Quantize8") != std::string::npos);
  // A function's result is quantised where it is.
  CHECK(requantize_dropped("p = Sqrt(x) m = Transpose<perm = [1, 0]>(p) " + on_grid("y", "m"))
            .find("Unary(%m)") != std::string::npos);
}

}  // namespace codl::test
