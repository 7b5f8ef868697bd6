#include "test/passes/pass_text.h"

namespace codl::test {
namespace {

const compiler::Pass kFuseResidual[] = {{"fuse_residual", compiler::fuse_residual},
                                        {"fuse_activation", compiler::fuse_activation}};
const std::string kParams = "stride_h=1, stride_w=1, dilation_h=1, dilation_w=1";

}  // namespace

TEST_CASE("an Add becomes the residual of the convolution, the Relu behind it its activation") {
  CHECK(after(R"(
    g (float[1,2,3,3] x) => (float[1,2,3,3] y) <float[2,2,1,1] w>
    { a = Relu(x)
      c = Conv(a, w)
      s = Add(c, a)
      y = Relu(s) })",
              kFuseResidual) ==
        "input %x : f32[1,2,3,3]\n"
        "%a a = Unary(%x) {kind=Relu} : f32[1,2,3,3]\n"
        "%y c = Conv2d(%a, %w, %c.bias, %a) {" +
            kParams +
            ", groups=1, has_residual=1, activation=Relu} : f32[1,2,3,3]\n"
            "output %y : f32[1,2,3,3]\n");
}

TEST_CASE("the convolution moves behind the other operand") {
  // The residual r is computed after the convolution, but must exist when that runs.
  CHECK(after(R"(
    g (float[1,2,3,3] x) => (float[1,2,3,3] y) <float[2,1,1,1] w>
    { c = Conv<group = 2>(x, w)
      r = Tanh(x)
      y = Add(r, c) })",
              kFuseResidual) ==
        "input %x : f32[1,2,3,3]\n"
        "%r r = Unary(%x) {kind=Tanh} : f32[1,2,3,3]\n"
        "%y c = DepthwiseConv2d(%x, %w, %c.bias, %r) {" +
            kParams +
            ", has_residual=1} : f32[1,2,3,3]\n"
            "output %y : f32[1,2,3,3]\n");
}

TEST_CASE("of two convolutions the later takes the residual") {
  CHECK(after(R"(
    g (float[1,2,3,3] x) => (float[1,2,3,3] y) <float[2,2,1,1] w>
    { a = Conv(x, w)
      b = Conv(x, w)
      y = Add(b, a) })",
              kFuseResidual) ==
        "input %x : f32[1,2,3,3]\n"
        "%a a = Conv2d(%x, %w, %a.bias) {" +
            kParams +
            ", groups=1} : f32[1,2,3,3]\n"
            "%y b = Conv2d(%x, %w, %b.bias, %a) {" +
            kParams +
            ", groups=1, has_residual=1} : f32[1,2,3,3]\n"
            "output %y : f32[1,2,3,3]\n");
}

TEST_CASE("an Add stays where it is no residual") {
  auto has_add = [](const std::string& model) {
    return after(model, kFuseResidual).find("kind=Add") != std::string::npos;
  };
  const std::string weights = "<float[2,2,1,1] w, float[1,2,3,3] k, float[1,2,1,1] p>";
  const std::string head = "g (float[1,2,3,3] x) => (float[1,2,3,3] y) " + weights;
  // The convolution's value is read twice, or is an output.
  CHECK(has_add(head + "{ c = Conv(x, w) y = Add(c, c) }"));
  CHECK(has_add(head + "{ c = Conv(x, w) s = Add(c, x) t = Tanh(c) y = Mul(s, t) }"));
  CHECK(has_add("g (float[1,2,3,3] x) => (float[1,2,3,3] y, float[1,2,3,3] c) " + weights +
                "{ c = Conv(x, w) y = Add(c, x) }"));
  // Constants stay plain; a broadcast is no residual.
  CHECK(has_add(head + "{ c = Conv(x, w) y = Add(c, k) }"));
  CHECK(has_add("g (float[1,2,3,3] x, float[1,2,1,1] z) => (float[1,2,3,3] y) " + weights +
                "{ c = Conv(x, w) y = Add(c, z) }"));
  // There is no convolution, or an activation between.
  CHECK(has_add(head + "{ c = Tanh(x) y = Add(c, x) }"));
  CHECK(has_add(head + "{ c = Conv(x, w) r = Relu(c) y = Add(r, x) }"));
  // Sub is not Add.
  CHECK(after(head + "{ c = Conv(x, w) y = Sub(x, c) }", kFuseResidual).find("kind=Sub") !=
        std::string::npos);
}

TEST_CASE("a convolution takes one residual") {
  CHECK(after(R"(
    g (float[1,2,3,3] x) => (float[1,2,3,3] y) <float[2,2,1,1] w>
    { c = Conv(x, w)
      s = Add(c, x)
      t = Tanh(x)
      y = Add(s, t) })",
              kFuseResidual) ==
        "input %x : f32[1,2,3,3]\n"
        "%s c = Conv2d(%x, %w, %c.bias, %x) {" +
            kParams +
            ", groups=1, has_residual=1} : f32[1,2,3,3]\n"
            "%t t = Unary(%x) {kind=Tanh} : f32[1,2,3,3]\n"
            "%y y = Binary(%s, %t) {kind=Add} : f32[1,2,3,3]\n"
            "output %y : f32[1,2,3,3]\n");
}

}  // namespace codl::test
