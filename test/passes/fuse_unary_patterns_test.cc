#include "test/passes/pass_text.h"

namespace codl::test {
namespace {

const compiler::Pass kFuseUnaryPatterns[] = {
    {"fold_constants", compiler::fold_constants},
    {"eliminate_dead", compiler::eliminate_dead},
    {"fuse_unary_patterns", compiler::fuse_unary_patterns}};

// Returns the single node that remains of a formula from x to y, without its name and type.
std::string patterns_fused(const std::string& body) {
  const std::string text =
      after("g (float[2,3] x) => (float[2,3] y) {" + body + "}", kFuseUnaryPatterns);
  const size_t begin = text.find(" = ");
  const size_t end = text.find("} : f32[2,3]\noutput %y : f32[2,3]\n");
  if (begin == std::string::npos || end == std::string::npos) return text;
  return text.substr(begin + 3, end + 1 - begin - 3);
}

}  // namespace

TEST_CASE("a value times its sigmoid is a swish") {
  CHECK(patterns_fused("s = Sigmoid(x) y = Mul(x, s)") == "Unary(%x) {kind=Swish, alpha=1}");
  CHECK(patterns_fused("s = Sigmoid(x) y = Mul(s, x)") == "Unary(%x) {kind=Swish, alpha=1}");
  CHECK(patterns_fused(R"(c = Constant<value_float = 1.75>()
                 t = Mul(x, c) s = Sigmoid(t) y = Mul(x, s))") ==
        "Unary(%x) {kind=Swish, alpha=1.75}");
}

TEST_CASE("hard swish has three spellings") {
  const std::string hard_swish = "Unary(%x) {kind=HardSwish}";
  CHECK(patterns_fused("s = HardSigmoid<alpha = 0.16666667, beta = 0.5>(x) y = Mul(x, s)") ==
        hard_swish);
  const std::string clip = R"(three = Constant<value_float = 3.0>()
                              zero = Constant<value_float = 0.0>()
                              six = Constant<value_float = 6.0>()
                              a = Add(x, three) c = Clip(a, zero, six))";
  CHECK(patterns_fused(clip + "m = Mul(x, c) y = Div(m, six)") == hard_swish);
  CHECK(patterns_fused(clip + "d = Div(c, six) y = Mul(x, d)") == hard_swish);
  CHECK(patterns_fused("s = HardSigmoid(x) y = Mul(x, s)").find("HardSwish") == std::string::npos);
}

TEST_CASE("a value times the tanh of its softplus is a mish") {
  CHECK(patterns_fused("p = Softplus(x) t = Tanh(p) y = Mul(x, t)") == "Unary(%x) {kind=Mish}");
}

TEST_CASE("gelu in the orders that exporters write") {
  const std::string gelu = "Unary(%x) {kind=Gelu}";
  const std::string gate = R"(root = Constant<value_float = 1.4142135>()
                              one = Constant<value_float = 1.0>()
                              half = Constant<value_float = 0.5>()
                              d = Div(x, root) e = Erf(d) a = Add(e, one))";
  CHECK(patterns_fused(gate + "m = Mul(x, a) y = Mul(m, half)") == gelu);
  CHECK(patterns_fused(gate + "m = Mul(x, half) y = Mul(m, a)") == gelu);
  CHECK(patterns_fused(gate + "m = Mul(half, a) y = Mul(x, m)") == gelu);
  CHECK(patterns_fused(R"(c = Constant<value_float = 0.70710677>()
                 one = Constant<value_float = 1.0>()
                 half = Constant<value_float = 0.5>()
                 h = Mul(half, x) d = Mul(x, c) e = Erf(d) a = Add(one, e) y = Mul(h, a))") ==
        gelu);
  CHECK(patterns_fused(gate + "y = Mul(x, a)").find("Gelu") == std::string::npos);
}

TEST_CASE("gelu by tanh, with a power or a product") {
  const std::string gelu = "Unary(%x) {kind=GeluTanh}";
  const std::string constants = R"(three = Constant<value_float = 3.0>()
                                   c = Constant<value_float = 0.044715>()
                                   r = Constant<value_float = 0.7978846>()
                                   one = Constant<value_float = 1.0>()
                                   half = Constant<value_float = 0.5>())";
  const std::string rest = R"(m = Mul(q, c) s = Add(x, m) u = Mul(s, r) t = Tanh(u)
                              a = Add(t, one) h = Mul(x, half) y = Mul(h, a))";
  CHECK(patterns_fused(constants + "q = Pow(x, three)" + rest) == gelu);
  CHECK(patterns_fused(constants + "p = Mul(x, x) q = Mul(p, x)" + rest) == gelu);
}

TEST_CASE("a formula stays where somebody reads its inside, or the dims grow") {
  CHECK(after("g (float[2,3] x) => (float[2,3] y, float[2,3] s) { s = Sigmoid(x) y = Mul(x, s) }",
              kFuseUnaryPatterns)
            .find("Swish") == std::string::npos);
  CHECK(after("g (float[2,3] x) => (float[2,3] y, float[2,3] z) "
              "{ s = Sigmoid(x) y = Mul(x, s) z = Tanh(s) }",
              kFuseUnaryPatterns)
            .find("Swish") == std::string::npos);
  CHECK(after("g (float[2,3] x, float[2,3] w) => (float[2,3] y) { s = Sigmoid(w) y = Mul(x, s) }",
              kFuseUnaryPatterns)
            .find("Swish") == std::string::npos);
  CHECK(after(R"(g (float[2,3] x) => (float[1,2,3] y) <float[1,1,1] c = {1.0}>
                 { t = Mul(x, c) s = Sigmoid(t) y = Mul(x, s) })",
              kFuseUnaryPatterns)
            .find("Swish") == std::string::npos);
}

TEST_CASE("formulas in a row become one Unary each") {
  CHECK(after(R"(
    g (float[2,3] x) => (float[2,3] y)
    { s = Sigmoid(x)
      b = Mul(x, s)
      t = Sigmoid(b)
      y = Mul(b, t) })",
              kFuseUnaryPatterns) ==
        "input %x : f32[2,3]\n"
        "%b b = Unary(%x) {kind=Swish, alpha=1} : f32[2,3]\n"
        "%y y = Unary(%b) {kind=Swish, alpha=1} : f32[2,3]\n"
        "output %y : f32[2,3]\n");
}

}  // namespace codl::test
