#include "test/passes/pass_text.h"

namespace codl::test {
namespace {

const compiler::Pass kMergeCommon[] = {{"merge_common", compiler::merge_common}};

}  // namespace

TEST_CASE("what is computed twice is computed once, and what reads it, too") {
  CHECK(after(R"(
    g (float[2] x) => (float[2] y)
    { a = Relu(x)
      b = Relu(x)
      c = Tanh(a)
      d = Tanh(b)
      y = Add(c, d) })",
              kMergeCommon) ==
        "input %x : f32[2]\n"
        "%a a = Unary(%x) {kind=Relu} : f32[2]\n"
        "%c c = Unary(%a) {kind=Tanh} : f32[2]\n"
        "%y y = Binary(%c, %c) {kind=Add} : f32[2]\n"
        "output %y : f32[2]\n");
}

TEST_CASE("constants are the same if they hold the same") {
  CHECK(after(R"(
    g (float[2] x) => (float[2] y) <float[2] p = {1, 2}, float[2] q = {1, 2}, float[2] r = {1, 3}>
    { a = Mul(x, p)
      b = Mul(x, q)
      c = Mul(x, r)
      d = Add(a, b)
      y = Add(d, c) })",
              kMergeCommon) ==
        "input %x : f32[2]\n"
        "%a a = Binary(%x, %p) {kind=Mul} : f32[2]\n"
        "%c c = Binary(%x, %r) {kind=Mul} : f32[2]\n"
        "%d d = Binary(%a, %a) {kind=Add} : f32[2]\n"
        "%y y = Binary(%d, %c) {kind=Add} : f32[2]\n"
        "output %y : f32[2]\n");
}

TEST_CASE("other parameters and other outputs stay") {
  CHECK(after(R"(
    g (float[2] x) => (float[2] y, float[2] z, float[2] e)
    { y = LeakyRelu<alpha = 0.5>(x)
      z = LeakyRelu<alpha = 0.25>(x)
      e = LeakyRelu<alpha = 0.5>(x) })",
              kMergeCommon) ==
        "input %x : f32[2]\n"
        "%y y = Unary(%x) {kind=LeakyRelu, alpha=0.5} : f32[2]\n"
        "%z z = Unary(%x) {kind=LeakyRelu, alpha=0.25} : f32[2]\n"
        "%e e = Unary(%x) {kind=LeakyRelu, alpha=0.5} : f32[2]\n"
        "output %y : f32[2]\n"
        "output %z : f32[2]\n"
        "output %e : f32[2]\n");
}

}  // namespace codl::test
