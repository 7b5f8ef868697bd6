#include "test/passes/pass_text.h"

namespace codl::test {
namespace {

const compiler::Pass kDropExactCasts[] = {{"fold_constants", compiler::fold_constants},
                                          {"drop_exact_casts", compiler::drop_exact_casts},
                                          {"eliminate_dead", compiler::eliminate_dead}};

size_t casts_left(const std::string& nodes, const std::string& input = "uint8[4,4] x") {
  const std::string text = after(
      "g (" + input +
          ") => (float[] y) <float low = {0}, float high = {255}, float half = {0.5}, float w = "
          "{3}, float large = {1e9}> { " +
          nodes + " }",
      kDropExactCasts);
  size_t count = 0;
  for (size_t at = text.find("Cast"); at != std::string::npos; at = text.find("Cast", at + 1))
    ++count;
  return count;
}

const std::string kFloats = "f = Cast<to = 1>(x) ";

}  // namespace

TEST_CASE("integers in floats need no cast to integers and back") {
  for (const char* nodes :
       {"r = Round(x) c = Clip(r, low, high) i = Cast<to = 2>(c) y = Cast<to = 1>(i)",
        "r = Clip(x, low, high) c = Floor(r) i = Cast<to = 6>(c) y = Cast<to = 1>(i)"}) {
    INFO(nodes);
    CHECK(casts_left(nodes, "float[4] x") == 0);
  }
  CHECK(casts_left(kFloats + "p = Mul(f, f) i = Cast<to = 6>(p) y = Cast<to = 1>(i)") == 1);
  // The sum of two is rounded once, either way.
  CHECK(casts_left(kFloats +
                   "p = Mul(f, w) i = Cast<to = 6>(p) j = Cast<to = 6>(f) k = Add(i, j) y = "
                   "Cast<to = 1>(k)") == 1);
}

TEST_CASE("what was clamped to 8 bits is on their grid") {
  const std::string text = after(
      "g (float[4] x) => (float[] y) <float low = {0}, float high = {255}> { r = Round(x) c = "
      "Clip(r, low, high) i = Cast<to = 2>(c) y = Cast<to = 1>(i) }",
      kDropExactCasts);
  CHECK(text.find("kind=Quantize8") != std::string::npos);
  CHECK(text.find("kind=Clip") == std::string::npos);
}

TEST_CASE("casts that change something stay") {
  // The second of two casts is dropped nowhere here; the first is that of the input.
  for (const char* nodes : {"h = Mul(f, half) i = Cast<to = 6>(h) y = Cast<to = 1>(i)",
                            "h = Mul(f, w) i = Cast<to = 2>(h) y = Cast<to = 1>(i)",
                            "h = Mul(f, large) i = Cast<to = 6>(h) y = Cast<to = 1>(i)",
                            "h = Sub(f, w) i = Cast<to = 2>(h) y = Cast<to = 1>(i)"}) {
    INFO(nodes);
    CHECK(casts_left(kFloats + nodes) == 3);
  }
  CHECK(casts_left("r = Round(x) i = Cast<to = 6>(r) y = Cast<to = 1>(i)", "float[4] x") == 2);
}

}  // namespace codl::test
