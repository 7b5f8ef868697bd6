#include "test/passes/pass_text.h"

namespace codl::test {
namespace {

const compiler::Pass kNestConcats[] = {{"nest_concats", compiler::nest_concats}};

// Has lists of two, three and four operands, each of which begins with the one before.
constexpr const char* kNested =
    "input %a : f32[1,2,3,3]\n"
    "input %b : f32[1,4,3,3]\n"
    "input %c : f32[1,2,3,3]\n"
    "input %d : f32[1,2,3,3]\n"
    "%x x = Concat(%a, %b) {axis=1} : f32[1,6,3,3]\n"
    "%y y = Concat(%x, %c) {axis=1} : f32[1,8,3,3]\n"
    "%z z = Concat(%y, %d) {axis=1} : f32[1,10,3,3]\n"
    "output %x : f32[1,6,3,3]\n"
    "output %y : f32[1,8,3,3]\n"
    "output %z : f32[1,10,3,3]\n";

}  // namespace

TEST_CASE("a list that begins with one joined before begins with its result") {
  CHECK(after(R"(
    g (float[1, 2, 3, 3] a, float[1, 4, 3, 3] b, float[1, 2, 3, 3] c, float[1, 2, 3, 3] d)
    => (float[1, 6, 3, 3] x, float[1, 8, 3, 3] y, float[1, 10, 3, 3] z)
    { x = Concat<axis = 1>(a, b)
      y = Concat<axis = 1>(a, b, c)
      z = Concat<axis = 1>(a, b, c, d) })",
              kNestConcats) == kNested);
}

// Lists of more operands than a step can have are imported so.
TEST_CASE("a result that stands for its list is that list") {
  CHECK(after(R"(
    g (float[1, 2, 3, 3] a, float[1, 4, 3, 3] b, float[1, 2, 3, 3] c, float[1, 2, 3, 3] d)
    => (float[1, 6, 3, 3] x, float[1, 8, 3, 3] y, float[1, 10, 3, 3] z)
    { x = Concat<axis = 1>(a, b)
      y = Concat<axis = 1>(x, c)
      z = Concat<axis = 1>(x, c, d) })",
              kNestConcats) == kNested);
}

TEST_CASE("another axis, another order and the whole list stay") {
  const char* untouched =
      "input %a : f32[1,2,3,3]\n"
      "input %b : f32[1,2,3,3]\n"
      "%x x = Concat(%a, %b) {axis=1} : f32[1,4,3,3]\n"
      "%y y = Concat(%a, %b, %a) {axis=2} : f32[1,2,9,3]\n"
      "%z z = Concat(%b, %a, %b) {axis=1} : f32[1,6,3,3]\n"
      "%w w = Concat(%a, %b) {axis=1} : f32[1,4,3,3]\n"
      "output %x : f32[1,4,3,3]\n"
      "output %y : f32[1,2,9,3]\n"
      "output %z : f32[1,6,3,3]\n"
      "output %w : f32[1,4,3,3]\n";
  CHECK(after(R"(
    g (float[1, 2, 3, 3] a, float[1, 2, 3, 3] b)
    => (float[1, 4, 3, 3] x, float[1, 2, 9, 3] y, float[1, 6, 3, 3] z, float[1, 4, 3, 3] w)
    { x = Concat<axis = 1>(a, b)
      y = Concat<axis = 2>(a, b, a)
      z = Concat<axis = 1>(b, a, b)
      w = Concat<axis = 1>(a, b) })",
              kNestConcats) == untouched);
}

}  // namespace codl::test
