#include "test/passes/pass_text.h"

namespace codl::test {
namespace {
const compiler::Pass kEliminateDead[] = {{"eliminate_dead", compiler::eliminate_dead}};
}

TEST_CASE("copies, dead nodes and dead constants go") {
  CHECK(after(R"(
    g (float[2,3] x) => (float[2,3] y) <float[3] c = {1, 2, 3}>
    { same = Reshape(x, shape)
      shape = Constant<value = int64[2] {2, 3}>()
      kept = Transpose<perm = [0, 1]>(same)
      unused = Add(kept, c)
      unused_too = Relu(unused)
      y = Relu(kept) })",
              kEliminateDead) ==
        "input %x : f32[2,3]\n"
        "%y y = Unary(%x) {kind=Relu} : f32[2,3]\n"
        "output %y : f32[2,3]\n");
}

TEST_CASE("a copy gives its output's name to what it copies") {
  CHECK(after(R"(
    g (float[2,3] x) => (float[2,3] y)
    { shape = Constant<value = int64[2] {2, 3}>()
      r = Relu(x)
      y = Reshape(r, shape) })",
              kEliminateDead) ==
        "input %x : f32[2,3]\n"
        "%y r = Unary(%x) {kind=Relu} : f32[2,3]\n"
        "output %y : f32[2,3]\n");
}

TEST_CASE("a copy stays where both ends are the application's") {
  const char* expected =
      "input %x : f32[2]\n"
      "%y y = Unary(%x) : f32[2]\n"
      "%z z = Unary(%x) : f32[2]\n"
      "output %y : f32[2]\n"
      "output %z : f32[2]\n";
  CHECK(after("g (float[2] x) => (float[2] y, float[2] z) { y = Identity(x) z = Dropout(x) }",
              kEliminateDead) == expected);
  // Two outputs have one value, so one of them is copied.
  CHECK(after("g (float[2] x) => (float[2] y, float[2] z) { y = Relu(x) z = Identity(y) }",
              kEliminateDead) ==
        "input %x : f32[2]\n"
        "%y y = Unary(%x) {kind=Relu} : f32[2]\n"
        "%z z = Unary(%y) : f32[2]\n"
        "output %y : f32[2]\n"
        "output %z : f32[2]\n");
}

TEST_CASE("of a row of Reshapes the last is left") {
  CHECK(after(R"(
    g (float[2,3,4] x) => (float[2,12] y)
    { a = Flatten<axis = 2>(x)
      b = Flatten<axis = 0>(a)
      s = Constant<value = int64[2] {2, -1}>()
      y = Reshape(b, s) })",
              kEliminateDead) ==
        "input %x : f32[2,3,4]\n"
        "%y y = Reshape(%x) : f32[2,12]\n"
        "output %y : f32[2,12]\n");
}

TEST_CASE("Converts at the border stay, others to the same layout go") {
  const compiler::Pass passes[] = {{"assign_layouts", compiler::assign_layouts},
                                   {"eliminate_dead", compiler::eliminate_dead}};
  CHECK(after("g (float[2] x) => (float[2] y) { y = Relu(x) }", passes) ==
        "input %x : f32[2]\n"
        "%x.plain x.plain = Convert(%x) : f32[2]\n"
        "%y.computed y = Unary(%x.plain) {kind=Relu} : f32[2]\n"
        "%y y = Convert(%y.computed) : f32[2]\n"
        "output %y : f32[2]\n");
}

}  // namespace codl::test
