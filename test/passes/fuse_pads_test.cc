#include "test/passes/pass_text.h"

namespace codl::test {
namespace {

const compiler::Pass kFusePads[] = {{"fuse_pads", compiler::fuse_pads}};

// Returns the nodes after the pass that hold `word`.
std::string lines_with(const std::string& word, const std::string& onnx) {
  std::istringstream lines(after(onnx, kFusePads));
  std::string found;
  for (std::string line; std::getline(lines, line);)
    if (line.find(word) != std::string::npos) found += line + "\n";
  return found;
}

// Returns a network with a Pad of `pads` and `value` around a map of 5 x 5 between `before` and
// `after`.
std::string padded(const std::string& before, const std::string& after,
                   const std::string& pads = "0, 0, 1, 2, 0, 0, 3, 4",
                   const std::string& value = "0") {
  return "g (float[1,2,5,5] x) => (float[1,2,h,w] y) <int64[8] pads = {" + pads +
         "}, float value = {" + value + "}, float[2,2,5,5] w, float[2,1,5,5] d> { a = " + before +
         "(x) p = Pad(a, pads, value) y = " + after + " }";
}

}  // namespace

TEST_CASE("a Pad becomes the padding of the convolution that reads it") {
  const std::string conv = padded("Tanh", "Conv<pads = [1, 0, 1, 0]>(p, w)");
  CHECK(lines_with("Pad(", conv) == "");
  CHECK(lines_with("Conv2d", conv) ==
        "%y y = Conv2d(%a, %w, %y.bias) {stride_h=1, stride_w=1, dilation_h=1, dilation_w=1, "
        "pad_top=2, pad_left=2, pad_bottom=4, pad_right=4, groups=1} : f32[1,2,7,7]\n");
  CHECK(lines_with("Pad(", padded("Tanh", "Conv<group = 2>(p, d)")) == "");
}

TEST_CASE("a Pad that a convolution has not stays") {
  const std::string conv = "Conv(p, w)";
  CHECK(lines_with("Pad(", padded("Tanh", conv, "0, 0, 1, 2, 0, 0, 3, 4", "0.5")) != "");
  CHECK(lines_with("Pad(",
                   "g (float[1,1,5,5] x) => (float[1,2,5,5] y) <int64[8] pads = {0, 0, 0, 0, "
                   "0, 1, 0, 0}, float[2,2,1,1] w> { a = Tanh(x) p = Pad(a, pads) y = "
                   "Conv(p, w) }") != "");
  CHECK(lines_with("Pad(",
                   "g (float[1,2,5,5] x) => (float[1,2,3,3] y) <int64[8] pads = {0, 0, 1, 1, "
                   "0, 0, 1, 1}, float[2,2,5,5] w> { a = Tanh(x) p = Pad<mode = "
                   "\"reflect\">(a, pads) y = Conv(p, w) }") != "");
}

TEST_CASE("an average counts the padding that was a Pad") {
  const std::string pads = "0, 0, 1, 1, 0, 0, 1, 1";
  const std::string average = padded("Tanh", "AveragePool<kernel_shape = [3, 3]>(p)", pads);
  CHECK(lines_with("Pad(", average) == "");
  CHECK(lines_with("Pool2d", average).find("count_include_pad=1") != std::string::npos);
  // The average does not count its own padding, but counts the Pad's: one parameter cannot express
  // both.
  CHECK(lines_with("Pad(", padded("Tanh",
                                  "AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, "
                                  "1]>(p)",
                                  pads)) != "");
}

TEST_CASE("a maximum takes zeros around what is never negative only") {
  const std::string pads = "0, 0, 1, 1, 0, 0, 1, 1";
  const std::string pool = "MaxPool<kernel_shape = [3, 3]>(p)";
  CHECK(lines_with("Pad(", padded("Relu", pool, pads)) == "");
  CHECK(lines_with("Pad(", padded("Sigmoid", pool, pads)) == "");
  CHECK(lines_with("Pad(", padded("Tanh", pool, pads)) != "");
  CHECK(lines_with("Pad(", padded("Tanh", pool, pads, "-3.4028234663852886e38")) == "");
  // A window that lies in the padding altogether gives zero.
  CHECK(lines_with("Pad(", padded("Relu", pool, "0, 0, 3, 1, 0, 0, 1, 1")) != "");
}

TEST_CASE("a Pad in front of a Transpose goes behind it, to the convolution") {
  CHECK(
      after("g (float[1,5,6,2] x) => (float[1,2,4,5] y) <int64[8] pads = {0, 0, 1, 0, 0, 1, 2, 0}, "
            "float[2,2,3,5] w> { p = Pad(x, pads) t = Transpose<perm = [0, 3, 1, 2]>(p) y = "
            "Conv(t, w) }",
            kFusePads) ==
      "input %x : f32[1,5,6,2]\n"
      "%p t = Transpose(%x) {perm_1=3, perm_2=1, perm_3=2} : f32[1,2,5,6]\n"
      "%y y = Conv2d(%p, %w, %y.bias) {stride_h=1, stride_w=1, dilation_h=1, dilation_w=1, "
      "pad_left=1, pad_bottom=1, pad_right=2, groups=1} : f32[1,2,4,5]\n"
      "output %y : f32[1,2,4,5]\n");
}

}  // namespace codl::test
