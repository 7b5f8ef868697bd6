#include "compiler/interp/interpreter.h"
#include "test/passes/pass_text.h"

namespace codl::test {
namespace {

const compiler::Pass kFoldBatchNorm[] = {{"fold_batch_norm", compiler::fold_batch_norm}};

// For 2 channels the factors are 2 / sqrt(4 + 0) = 1 and 6 / sqrt(9) = 2, the shifts 1 - 10 * 1 and
// 2 - 20 * 2.
const std::string kStatistics =
    "float[2] s = {2, 6}, float[2] t = {1, 2}, float[2] m = {10, 20}, float[2] v = {4, 9}";

std::string conv_then_batch_norm() {
  return "g (float[1,1,2,2] x) => (float[1,2,2,2] y) <float[2,1,1,1] w = {3, 5}, "
         "float[2] b = {7, 9}, " +
         kStatistics +
         "> { c = Conv(x, w, b) y = BatchNormalization<epsilon = 0.0>(c, s, t, m, v) }";
}

}  // namespace

TEST_CASE("BatchNormalization folds into the convolution in front") {
  const std::string model = conv_then_batch_norm();
  CHECK(after(model, kFoldBatchNorm) ==
        "input %x : f32[1,1,2,2]\n"
        "%y c = Conv2d(%x, %w.scaled, %b.shifted) {stride_h=1, stride_w=1, dilation_h=1, "
        "dilation_w=1, groups=1} : f32[1,2,2,2]\n"
        "output %y : f32[1,2,2,2]\n");
  // 3 * 1, 5 * 2; 7 * 1 - 9, 9 * 2 - 38
  CHECK(constant_after(model, kFoldBatchNorm, "w.scaled") ==
        "const %w.scaled : f32[2,1,1,1] = {3, 10}");
  CHECK(constant_after(model, kFoldBatchNorm, "b.shifted") ==
        "const %b.shifted : f32[2] = {-2, -20}");
}

TEST_CASE("BatchNormalization folds into a depthwise convolution and into MatMul") {
  CHECK(after("g (float[1,2,2,2] x) => (float[1,2,2,2] y) <float[2,1,1,1] w = {3, 5}, " +
                  kStatistics +
                  "> { c = Conv<group = 2>(x, w) y = BatchNormalization(c, s, t, m, v) }",
              kFoldBatchNorm) ==
        "input %x : f32[1,2,2,2]\n"
        "%y c = DepthwiseConv2d(%x, %w.scaled, %c.bias.shifted) {stride_h=1, stride_w=1, "
        "dilation_h=1, dilation_w=1} : f32[1,2,2,2]\n"
        "output %y : f32[1,2,2,2]\n");
  const std::string matmul =
      "g (float[1,3] x) => (float[1,2] y) <float[3,2] w = {1, 2, 3, 4, 5, 6}, " + kStatistics +
      "> { c = MatMul(x, w) y = BatchNormalization<epsilon = 0.0>(c, s, t, m, v) }";
  CHECK(after(matmul, kFoldBatchNorm) ==
        "input %x : f32[1,3]\n"
        "%y c = MatMul(%x, %w.scaled, %c.bias.shifted) : f32[1,2]\n"
        "output %y : f32[1,2]\n");
  // Column c is multiplied by its factor.
  CHECK(constant_after(matmul, kFoldBatchNorm, "w.scaled") ==
        "const %w.scaled : f32[3,2] = {1, 4, 3, 8, 5, 12}");
  CHECK(constant_after(matmul, kFoldBatchNorm, "c.bias.shifted") ==
        "const %c.bias.shifted : f32[2] = {-9, -38}");
}

TEST_CASE("folding keeps the result to rounding") {
  // The factors are odd: 1e-5 is the bound that the pass states.
  const std::string model = R"(
    g (float[1,1,1,3] x) => (float[1,2,1,3] y)
    <float[2,1,1,1] w = {0.3, -1.7}, float[2] b = {0.11, 0.5}, float[2] s = {0.7, 1.3},
     float[2] t = {0.01, -0.2}, float[2] m = {0.123, 4.56}, float[2] v = {0.09, 2.3}>
    { c = Conv(x, w, b) y = BatchNormalization(c, s, t, m, v) })";
  const ir::Graph plain = value_of(compiler::import_onnx(onnx_model(model), "test"));
  ir::Graph folded = plain;
  REQUIRE(error_of(compiler::run_passes(folded, kFoldBatchNorm, {})) == "");
  REQUIRE(folded.nodes().size() == 1);
  const float x[] = {1.5f, -0.25f, 3.0f};
  const auto* first = reinterpret_cast<const uint8_t*>(x);
  const compiler::Bytes input(first, first + sizeof x);
  const auto expected = value_of(compiler::interpret(plain, {input}))[0];
  const auto found = value_of(compiler::interpret(folded, {input}))[0];
  const auto* a = reinterpret_cast<const float*>(expected.data());
  const auto* b = reinterpret_cast<const float*>(found.data());
  for (int i = 0; i < 6; ++i) CHECK(b[i] == Approx(a[i]).epsilon(1e-5));
}

TEST_CASE("a bias added by hand, a scale and an activation behind fold too") {
  CHECK(after(R"(
    g (float[1,1,2,2] x) => (float[1,2,2,2] y) <float[2,1,1,1] w, float[2,1,1] c, float k = {2}>
    { a = Conv(x, w)
      b = Add(a, c)
      d = Mul(k, b)
      y = Relu(d) })",
              {{"fold_batch_norm", compiler::fold_batch_norm},
               {"fuse_activation", compiler::fuse_activation}}) ==
        "input %x : f32[1,1,2,2]\n"
        "%y a = Conv2d(%x, %w.scaled, %a.bias.shifted) {stride_h=1, stride_w=1, "
        "dilation_h=1, dilation_w=1, groups=1, activation=Relu} : f32[1,2,2,2]\n"
        "output %y : f32[1,2,2,2]\n");
}

TEST_CASE("a row of maps is one map, rounded once") {
  // 3 ((x w + 0.5) 2 - 1) = 6 x w, and nothing else remains.
  CHECK(constant_after("g (float[1,1,2,2] x) => (float[1,2,2,2] y) <float[2,1,1,1] w = {1, 10}, "
                       "float[2] b = {0.5, 0.5}, float k = {2}, float l = {-1}, float m = {3}> "
                       "{ c = Conv(x, w, b) d = Mul(c, k) e = Add(l, d) y = Mul(m, e) }",
                       {{"fold_batch_norm", compiler::fold_batch_norm}},
                       "w.scaled") == "const %w.scaled : f32[2,1,1,1] = {6, 60}");
  CHECK(constant_after("g (float[1,1,2,2] x) => (float[1,2,2,2] y) <float[2,1,1,1] w = {1, 10}, "
                       "float[2] b = {0.5, 0.5}, float k = {2}, float l = {-1}, float m = {3}> "
                       "{ c = Conv(x, w, b) d = Mul(c, k) e = Add(l, d) y = Mul(m, e) }",
                       {{"fold_batch_norm", compiler::fold_batch_norm}},
                       "b.shifted") == "const %b.shifted : f32[2] = {0, 0}");
}

TEST_CASE("nothing folds where somebody sees the value between") {
  // These are not folded: a graph output, a second user, a spatial filter, constants that vary by
  // pixel.
  CHECK(after("g (float[1,1,2,2] x) => (float[1,2,2,2] y, float[1,2,2,2] c) <float[2,1,1,1] w, " +
                  kStatistics + "> { c = Conv(x, w) y = BatchNormalization(c, s, t, m, v) }",
              kFoldBatchNorm)
            .find("DepthwiseConv2d") != std::string::npos);
  CHECK(after("g (float[1,1,2,2] x) => (float[1,2,2,2] y) <float[2,1,1,1] w, " + kStatistics +
                  "> { c = Conv(x, w) n = BatchNormalization(c, s, t, m, v) y = Add(n, c) }",
              kFoldBatchNorm)
            .find("DepthwiseConv2d") != std::string::npos);
  CHECK(after("g (float[1,2,4,4] x) => (float[1,2,2,2] y) <float[2,2,1,1] w, float[2,1,3,3] d> "
              "{ c = Conv(x, w) y = Conv<group = 2>(c, d) }",
              kFoldBatchNorm)
            .find("DepthwiseConv2d") != std::string::npos);
  CHECK(after("g (float[1,2,1,2] x) => (float[1,2,1,2] y) <float[2,2,1,1] w, float[1,1,1,2] p> "
              "{ c = Conv(x, w) y = Add(c, p) }",
              kFoldBatchNorm)
            .find("Binary") != std::string::npos);
}

TEST_CASE("nothing folds through an activation") {
  const compiler::Pass passes[] = {{"fuse_activation", compiler::fuse_activation},
                                   {"fold_batch_norm", compiler::fold_batch_norm}};
  CHECK(after("g (float[1,1,2,2] x) => (float[1,2,2,2] y) <float[2,1,1,1] w, " + kStatistics +
                  "> { c = Conv(x, w) r = Relu(c) y = BatchNormalization(r, s, t, m, v) }",
              passes)
            .find("DepthwiseConv2d") != std::string::npos);
}

}  // namespace codl::test
