#include "test/passes/pass_text.h"

namespace codl::test {
namespace {

const compiler::Pass kFuseAffine[] = {{"fuse_affine", compiler::fuse_affine}};

std::string fused(const std::string& nodes) {
  return after(
      "g (float[1,2,3,3] x, float[1,2,3,3] z) => (float[1,2,3,3] y) "
      "<float a = {2}, float b = {3}, float[2,1,1] c = {1, 2}> { " +
          nodes + " }",
      kFuseAffine);
}

}  // namespace

TEST_CASE("a product and a sum with one number each are one Unary") {
  const std::string inputs = "input %x : f32[1,2,3,3]\ninput %z : f32[1,2,3,3]\n";
  const std::string end = " : f32[1,2,3,3]\noutput %y : f32[1,2,3,3]\n";
  for (const char* nodes : {"m = Mul(x, a) y = Add(m, b)", "m = Mul(a, x) y = Add(b, m)"})
    CHECK(fused(nodes) == inputs + "%y y = Unary(%x) {kind=Affine, alpha=2, beta=3}" + end);
  CHECK(fused("m = Mul(x, a) y = Sub(m, b)") ==
        inputs + "%y y = Unary(%x) {kind=Affine, alpha=2, beta=-3}" + end);
}

TEST_CASE("with a hard swish in front, a product and a sum are one Unary of all three") {
  const compiler::Pass passes[] = {{"fuse_unary_patterns", compiler::fuse_unary_patterns},
                                   {"fuse_affine", compiler::fuse_affine}};
  const auto curve_and = [&](const std::string& nodes) {
    return after(
        "g (float[1,2,3,3] x) => (float[1,2,3,3] y) <float a = {2}, float b = {3}> { "
        "s = HardSigmoid<alpha = 0.16666667, beta = 0.5>(x) h = Mul(x, s) " +
            nodes + " }",
        passes);
  };
  const std::string found = curve_and("m = Mul(h, a) y = Add(m, b)");
  CHECK(found.find("Unary(%x) {kind=AffineHardSwish, alpha=2, beta=3}") != std::string::npos);
  CHECK(found.find("kind=HardSwish") == std::string::npos);
  // Somebody else reads it.
  CHECK(curve_and("m = Mul(h, a) n = Add(m, b) y = Add(n, h)").find("kind=Affine,") !=
        std::string::npos);
}

TEST_CASE("what is no product and sum of one number each stays") {
  for (const char* nodes : {
           "m = Mul(x, z) y = Add(m, b)",                // no number
           "m = Mul(x, c) y = Add(m, b)",                // a number for each channel
           "m = Add(x, b) y = Mul(m, a)",                // the sum comes first
           "m = Mul(x, a) y = Sub(b, m)",                // the number comes first
           "m = Mul(x, a) n = Add(m, b) y = Add(n, m)",  // the product has another reader
       })
    CHECK(fused(nodes).find("Affine") == std::string::npos);
}

}  // namespace codl::test
