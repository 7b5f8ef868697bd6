#include "test/passes/pass_text.h"

namespace codl::test {
namespace {

const compiler::Pass kSinkReshapes[] = {{"fold_constants", compiler::fold_constants},
                                        {"sink_reshapes", compiler::sink_reshapes},
                                        {"eliminate_dead", compiler::eliminate_dead},
                                        {"fold_batch_norm", compiler::fold_batch_norm},
                                        {"fuse_activation", compiler::fuse_activation}};
const compiler::Pass kSink[] = {{"sink_reshapes", compiler::sink_reshapes}};

}  // namespace

TEST_CASE("bias and activation behind a MatMul of rank 3 become its own") {
  CHECK(after(R"(
    g (float[2,3,4] x) => (float[2,3,5] y) <float[4,5] w, float[5] b>
    { m = MatMul(x, w)
      s = Add(m, b)
      y = Relu(s) })",
              kSinkReshapes) ==
        "input %x : f32[2,3,4]\n"
        "%m.reshape m.reshape = Reshape(%x) : f32[6,4]\n"
        "%s m.matmul = MatMul(%m.reshape, %w, %m.bias.shifted) {activation=Relu} : f32[6,5]\n"
        "%y m = Reshape(%s) : f32[2,3,5]\n"
        "output %y : f32[2,3,5]\n");
}

TEST_CASE("no Reshape is left between two MatMuls") {
  const std::string text = after(R"(
    g (float[2,3,4] x) => (float[2,3,6] y) <float[4,5] w, float[5] b, float[5,6] v>
    { m = MatMul(x, w)
      s = Add(b, m)
      r = Relu(s)
      y = MatMul(r, v) })",
                                 kSinkReshapes);
  CHECK(text.find("Binary") == std::string::npos);
  CHECK(text.find("Unary") == std::string::npos);
  size_t reshapes = 0;
  for (size_t at = text.find("Reshape("); at != std::string::npos;
       at = text.find("Reshape(", at + 1))
    ++reshapes;
  CHECK(reshapes == 2);
}

TEST_CASE("a Reshape stays in front of what sees the dims") {
  const auto is_unchanged = [](const std::string& model) {
    return after(model, kSink) == after(model, {});
  };
  // The constant varies along another dim than the last, or has rank 2 or more.
  CHECK(
      is_unchanged("g (float[6,4] x) => (float[2,3,4] y) "
                   "<int64[3] d = {2, 3, 4}, float[3,1] c> { r = Reshape(x, d) y = Add(r, c) }"));
  CHECK(
      is_unchanged("g (float[6,4] x) => (float[2,3,4] y) "
                   "<int64[3] d = {2, 3, 4}, float[3,4] c> { r = Reshape(x, d) y = Add(r, c) }"));
  // Two operands are computed; the Reshape has another user; a Reshape cuts the last dim.
  CHECK(
      is_unchanged("g (float[6,4] x, float[2,3,4] z) => (float[2,3,4] y) "
                   "<int64[3] d = {2, 3, 4}> { r = Reshape(x, d) y = Add(r, z) }"));
  CHECK(
      is_unchanged("g (float[6,4] x) => (float[2,3,4] y, float[2,3,4] z) "
                   "<int64[3] d = {2, 3, 4}> { r = Reshape(x, d) y = Relu(r) z = Tanh(r) }"));
  CHECK(
      is_unchanged("g (float[6,4] x) => (float[4,6] y) "
                   "<int64[2] d = {4, 6}> { r = Reshape(x, d) y = Relu(r) }"));
}

}  // namespace codl::test
