#include "test/passes/pass_text.h"

namespace codl::test {
namespace {
const compiler::Pass kFuseActivation[] = {{"fuse_activation", compiler::fuse_activation}};
}

TEST_CASE("a unary function becomes the activation of what is in front") {
  CHECK(after(R"(
    g (float[1,2,3,3] x, float[1,4] z) => (float[1,2,3,3] y, float[1,5] q)
    <float[2,2,1,1] w, float[2,1,3,3] d, float[4,5] m>
    { a = Conv(x, w)
      b = LeakyRelu<alpha = 0.125>(a)
      c = Conv<group = 2, pads = [1, 1, 1, 1]>(b, d)
      e = Sigmoid(c)
      f = Mul(e, x)
      y = Tanh(f)
      p = MatMul(z, m)
      q = Relu(p) })",
              kFuseActivation) ==
        "input %x : f32[1,2,3,3]\n"
        "input %z : f32[1,4]\n"
        "%b a = Conv2d(%x, %w, %a.bias) {stride_h=1, stride_w=1, dilation_h=1, dilation_w=1, "
        "groups=1, activation=LeakyRelu, activation_alpha=0.125} : f32[1,2,3,3]\n"
        "%e c = DepthwiseConv2d(%b, %d, %c.bias) {stride_h=1, stride_w=1, dilation_h=1, "
        "dilation_w=1, pad_top=1, pad_left=1, pad_bottom=1, pad_right=1, activation=Sigmoid} : "
        "f32[1,2,3,3]\n"
        "%y f = Binary(%e, %x) {kind=Mul, activation=Tanh} : f32[1,2,3,3]\n"
        "%q p = MatMul(%z, %m, %p.bias) {activation=Relu} : f32[1,5]\n"
        "output %y : f32[1,2,3,3]\n"
        "output %q : f32[1,5]\n");
}

TEST_CASE("a norm takes an activation") {
  CHECK(after(R"(
    g (float[1,2,3,3] x, float[2] s) => (float[1,2,3,3] y) <float[2] b = {0.5, 1}>
    { a = InstanceNormalization<epsilon = 0.25>(x, s, b)
      y = LeakyRelu<alpha = 0.125>(a) })",
              kFuseActivation)
            .find("axes_mask=12, has_scale=1, has_bias=1, epsilon=0.25, activation=LeakyRelu, "
                  "activation_alpha=0.125} : f32[1,2,3,3]\n"
                  "output %y") != std::string::npos);
}

TEST_CASE("a node takes one activation") {
  CHECK(after(R"(
    g (float[3] x) => (float[3] y)
    { a = Add(x, x)
      b = Relu(a)
      y = Tanh(b) })",
              kFuseActivation) ==
        "input %x : f32[3]\n"
        "%b a = Binary(%x, %x) {kind=Add, activation=Relu} : f32[3]\n"
        "%y y = Unary(%b) {kind=Tanh} : f32[3]\n"
        "output %y : f32[3]\n");
}

TEST_CASE("an activation stays where somebody sees the value in front") {
  const std::string twice =
      after("g (float[3] x) => (float[3] y) { a = Add(x, x) b = Relu(a) y = Mul(a, b) }",
            kFuseActivation);
  CHECK(twice.find("kind=Relu") != std::string::npos);
  const std::string output = after(
      "g (float[3] x) => (float[3] y, float[3] a) { a = Add(x, x) y = Relu(a) }", kFuseActivation);
  CHECK(output.find("kind=Relu") != std::string::npos);
}

TEST_CASE("every function from f32 to f32 is an activation, and no other") {
  const std::string elu =
      after("g (float[3] x) => (float[3] y) { a = Add(x, x) y = Elu(a) }", kFuseActivation);
  CHECK(elu.find("activation=Elu") != std::string::npos);
  const std::string is_nan =
      after("g (float[3] x) => (bool[3] y) { a = Add(x, x) y = IsNaN(a) }", kFuseActivation);
  CHECK(is_nan.find("kind=IsNan") != std::string::npos);
  const std::string integers =
      after("g (int32[3] x) => (int32[3] y) { a = Add(x, x) y = Abs(a) }", kFuseActivation);
  CHECK(integers.find("kind=Abs") != std::string::npos);
}

TEST_CASE("pooling and softmax take no activation") {
  CHECK(after("g (float[1,3,4,4] x) => (float[1,3,1,1] y) { a = GlobalMaxPool(x) y = Relu(a) }",
              kFuseActivation)
            .find("kind=Relu") != std::string::npos);
}

}  // namespace codl::test
