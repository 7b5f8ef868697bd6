#include "test/passes/pass_text.h"

namespace codl::test {
namespace {

const compiler::Pass kDropSilentNoise[] = {{"fold_constants", compiler::fold_constants},
                                           {"drop_silent_noise", compiler::drop_silent_noise},
                                           {"eliminate_dead", compiler::eliminate_dead}};

// Returns true if random numbers are left.
bool has_noise(const std::string& nodes) {
  const std::string text = after(
      "g (float[2,4] x) => (float[] y) <float zero = {0}, float small = {0.5}, float[2,4] zeros = "
      "{0, 0, 0, 0, 0, 0, 0, 0}, float[2,4] nearly = {0, 0, 0, 0, 0, 0, 0, 1}> { " +
          nodes + " }",
      kDropSilentNoise);
  INFO(text);
  return text.find("= Random(") != std::string::npos;
}

}  // namespace

TEST_CASE("noise that is multiplied by zero is gone") {
  CHECK_FALSE(has_noise("n = RandomNormalLike(x) s = Mul(n, zero) y = Add(x, s)"));
  CHECK_FALSE(has_noise("n = RandomNormalLike(x) s = Mul(zeros, n) y = Add(s, x)"));
  CHECK_FALSE(has_noise(
      "n = RandomUniformLike(x) e = Exp(x) p = Mul(n, e) s = Mul(p, zero) y = Add(x, s)"));
  CHECK_FALSE(
      has_noise("n = RandomNormalLike<scale = 0.0>(x) e = Exp(x) s = Mul(e, n) y = Add(x, s)"));
}

TEST_CASE("noise that is heard stays, and so do products of other values with zero") {
  CHECK(has_noise("n = RandomNormalLike(x) s = Mul(n, small) y = Add(x, s)"));
  CHECK(has_noise("n = RandomNormalLike(x) s = Mul(n, nearly) y = Add(x, s)"));
  CHECK(has_noise(
      "n = RandomNormalLike(x) s = Mul(n, zero) t = Mul(x, zero) u = Add(n, t) y = Add(u, s)"));
  CHECK(after("g (float[2] x) => (float[] y) <float zero = {0}> { s = Mul(x, zero) y = Add(x, s) }",
              kDropSilentNoise)
            .find("kind=Mul") != std::string::npos);
}

}  // namespace codl::test
