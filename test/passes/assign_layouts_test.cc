#include "test/passes/pass_text.h"

namespace codl::test {
namespace {
const compiler::Pass kAssignLayouts[] = {{"assign_layouts", compiler::assign_layouts}};
}

TEST_CASE("maps are nhwc, everything else plain, and Converts stand between") {
  CHECK(after(R"(
    g (float[1,3,4,4] x) => (float[1,5] y) <float[2,3,1,1] w, float[2,5] m>
    { c = Conv(x, w)
      p = GlobalAveragePool(c)
      f = Flatten(p)
      y = MatMul(f, m) })",
              kAssignLayouts) ==
        "input %x : f32[1,3,4,4]\n"
        "%x.nhwc x.nhwc = Convert(%x) : f32[1,3,4,4] nhwc\n"
        "%c c = Conv2d(%x.nhwc, %w, %c.bias) {stride_h=1, stride_w=1, dilation_h=1, dilation_w=1, "
        "groups=1} : f32[1,2,4,4] nhwc\n"
        "%p p = Pool2d(%c) {kind=Average, kernel_h=4, kernel_w=4, stride_h=1, stride_w=1, "
        "dilation_h=1, dilation_w=1} : f32[1,2,1,1] nhwc\n"
        "%p.plain p.plain = Convert(%p) : f32[1,2,1,1]\n"
        "%f f = Reshape(%p.plain) : f32[1,2]\n"
        "%y.computed y = MatMul(%f, %m, %y.bias) : f32[1,5]\n"
        "%y y = Convert(%y.computed) : f32[1,5]\n"
        "output %y : f32[1,5]\n");
}

TEST_CASE("a value is converted once per layout") {
  CHECK(after(R"(
    g (float[1,3,4,4] x) => (float[1,3,4,4] y, float[4,4,3,1] t, float[1,48] f)
    { y = Relu(x)
      t = Transpose(y)
      f = Flatten(y) })",
              kAssignLayouts) ==
        "input %x : f32[1,3,4,4]\n"
        "%x.nhwc x.nhwc = Convert(%x) : f32[1,3,4,4] nhwc\n"
        "%y.computed y = Unary(%x.nhwc) {kind=Relu} : f32[1,3,4,4] nhwc\n"
        "%y.plain y.plain = Convert(%y.computed) : f32[1,3,4,4]\n"
        "%t.computed t = Transpose(%y.plain) {perm_0=3, perm_1=2, perm_2=1} : f32[4,4,3,1]\n"
        "%f.computed f = Reshape(%y.plain) : f32[1,48]\n"
        "%y y = Convert(%y.computed) : f32[1,3,4,4]\n"
        "%t t = Convert(%t.computed) : f32[4,4,3,1]\n"
        "%f f = Convert(%f.computed) : f32[1,48]\n"
        "output %y : f32[1,3,4,4]\n"
        "output %t : f32[4,4,3,1]\n"
        "output %f : f32[1,48]\n");
}

TEST_CASE("channels are added to a map where it lies") {
  const auto pads = [](const std::string& nodes) {
    const std::string text = after(
        "g (float[1,3,4,4] x) => (float[1,5,4,4] y) <float[3,3,1,1] w, "
        "int64[8] p = {0, 0, 0, 0, 0, 2, 0, 0}> { " +
            nodes + " y = Pad(c, p) }",
        kAssignLayouts);
    const size_t at = text.find(" = Pad(");
    return text.substr(at, text.find('\n', at) - at);
  };
  CHECK(pads("c = Conv(x, w)") == " = Pad(%c) {kind=Constant, end_1=2} : f32[1,5,4,4] nhwc");
  CHECK(pads("c = Transpose<perm = [0, 1, 3, 2]>(x)") ==
        " = Pad(%c) {kind=Constant, end_1=2} : f32[1,5,4,4]");
}

TEST_CASE("an input read in both layouts is converted to both") {
  CHECK(after(R"(
    g (float[1,3,4,4] x) => (float[1,3,4,4] y, float[1,48] f)
    { y = Relu(x)
      f = Flatten(x) })",
              kAssignLayouts) ==
        "input %x : f32[1,3,4,4]\n"
        "%x.nhwc x.nhwc = Convert(%x) : f32[1,3,4,4] nhwc\n"
        "%y.computed y = Unary(%x.nhwc) {kind=Relu} : f32[1,3,4,4] nhwc\n"
        "%x.plain x.plain = Convert(%x) : f32[1,3,4,4]\n"
        "%f.computed f = Reshape(%x.plain) : f32[1,48]\n"
        "%y y = Convert(%y.computed) : f32[1,3,4,4]\n"
        "%f f = Convert(%f.computed) : f32[1,48]\n"
        "output %y : f32[1,3,4,4]\n"
        "output %f : f32[1,48]\n");
}

TEST_CASE("constants stay plain, but for Concat, which gets a converted one") {
  CHECK(after(R"(
    g (float[1,2,1,2] x) => (float[1,4,1,2] y) <float[1,2,1,2] k, float[2,1,1] s>
    { a = Mul(x, s)
      y = Concat<axis = 1>(a, k) })",
              kAssignLayouts) ==
        "input %x : f32[1,2,1,2]\n"
        "%x.nhwc x.nhwc = Convert(%x) : f32[1,2,1,2] nhwc\n"
        "%a a = Binary(%x.nhwc, %a.operand_1) {kind=Mul} : f32[1,2,1,2] nhwc\n"
        "%k.nhwc k.nhwc = Convert(%k) : f32[1,2,1,2] nhwc\n"
        "%y.computed y = Concat(%a, %k.nhwc) {axis=1} : f32[1,4,1,2] nhwc\n"
        "%y y = Convert(%y.computed) : f32[1,4,1,2]\n"
        "output %y : f32[1,4,1,2]\n");
}

TEST_CASE("a Concat that does not join channels is plain") {
  CHECK(after("g (float[1,2,1,2] x) => (float[1,2,2,2] y) { y = Concat<axis = 2>(x, x) }",
              kAssignLayouts) ==
        "input %x : f32[1,2,1,2]\n"
        "%x.plain x.plain = Convert(%x) : f32[1,2,1,2]\n"
        "%y.computed y = Concat(%x.plain, %x.plain) {axis=2} : f32[1,2,2,2]\n"
        "%y y = Convert(%y.computed) : f32[1,2,2,2]\n"
        "output %y : f32[1,2,2,2]\n");
}

TEST_CASE("what follows its operands stays plain between plain ones") {
  CHECK(after(R"(
    g (float[2,4,3] x) => (float[1,2,4,3] y) <int64[4] d = {1, 2, 4, 3}>
    { r = Reshape(x, d)
      s = Softmax<axis = 3>(r)
      y = Add(s, r) })",
              kAssignLayouts) ==
        "input %x : f32[2,4,3]\n"
        "%x.plain x.plain = Convert(%x) : f32[2,4,3]\n"
        "%r r = Reshape(%x.plain) : f32[1,2,4,3]\n"
        "%s s = Softmax(%r) {axis=3} : f32[1,2,4,3]\n"
        "%y.computed y = Binary(%s, %r) {kind=Add} : f32[1,2,4,3]\n"
        "%y y = Convert(%y.computed) : f32[1,2,4,3]\n"
        "output %y : f32[1,2,4,3]\n");
}

TEST_CASE("one operand in nhwc is enough to follow it") {
  CHECK(after(R"(
    g (float[1,2,4,3] x, float[2,4,3] z) => (float[1,2,4,3] y) <int64[4] d = {1, 2, 4, 3}>
    { p = Relu(x)
      r = Reshape(z, d)
      y = Add(p, r) })",
              kAssignLayouts)
            .find("Binary(%p, %r.nhwc) {kind=Add} : f32[1,2,4,3] nhwc") != std::string::npos);
}

}  // namespace codl::test
