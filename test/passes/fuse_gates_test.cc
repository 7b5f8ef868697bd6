#include "test/passes/pass_text.h"

namespace codl::test {
namespace {

const compiler::Pass kFuseGates[] = {{"fuse_gates", compiler::fuse_gates}};

std::string gated(const std::string& nodes, const std::string& outputs = "float[1,4,3,3] y") {
  return after("g (float[1,4,3,3] x, float[1,4,1,1] g, float[1,4,3,3] z) => (" + outputs +
                   ") <float[4,1,1] c = {1, 2, 3, 4}> { " + nodes + " }",
               kFuseGates);
}

}  // namespace

TEST_CASE("a map and its product with a gate are one product") {
  const std::string expected =
      "input %x : f32[1,4,3,3]\ninput %g : f32[1,4,1,1]\ninput %z : f32[1,4,3,3]\n"
      "%m m = Unary(%g) {kind=Affine, alpha=1, beta=1} : f32[1,4,1,1]\n"
      "%y y = Binary(%x, %m) {kind=Mul} : f32[1,4,3,3]\noutput %y : f32[1,4,3,3]\n";
  for (const char* nodes : {"m = Mul(x, g) y = Add(x, m)", "m = Mul(g, x) y = Add(x, m)",
                            "m = Mul(x, g) y = Add(m, x)", "m = Mul(g, x) y = Add(m, x)"})
    CHECK(gated(nodes) == expected);
}

TEST_CASE("what is no map and its product with a computed gate stays") {
  for (const char* nodes : {
           "m = Mul(z, g) y = Add(x, m)",                // the product of another map
           "m = Mul(x, z) y = Add(x, m)",                // as many elements
           "m = Mul(x, c) y = Add(x, m)",                // a constant
           "m = Mul(x, g) y = Sub(x, m)",                // a difference
           "m = Mul(x, g) n = Add(x, m) y = Add(n, m)",  // the product has another reader
       }) {
    INFO(nodes);
    CHECK(gated(nodes).find("Affine") == std::string::npos);
  }
  CHECK(gated("m = Mul(x, g) y = Add(x, m)", "float[1,4,3,3] y, float[1,4,3,3] m").find("Affine") ==
        std::string::npos);
}

}  // namespace codl::test
