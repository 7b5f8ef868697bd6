#include "test/passes/pass_text.h"

namespace codl::test {
namespace {

const compiler::Pass kFuseNormalize[] = {{"fold_constants", compiler::fold_constants},
                                         {"merge_common", compiler::merge_common},
                                         {"eliminate_dead", compiler::eliminate_dead},
                                         {"fuse_normalize", compiler::fuse_normalize}};

// Returns the graph after the fusion of nodes of x and other constants of the same dims, of rank 3.
std::string norms_fused(const std::string& nodes, const std::string& outputs = "float[2,3,4] y") {
  return after(
      "g (float[2,3,4] x, float[2,3,4] z) => (" + outputs +
          ") <float e = {0.001}, float half = {0.5}, float minus_half = {-0.5}, float one = {1}, "
          "float two = {2}, float three = {3}, float[4] s = {1, 2, 3, 4}, "
          "float[4] b = {5, 6, 7, 8}, float[3,1] t = {1, 2, 3}, float[1,1,1,1] u = {2}> { " +
          nodes + " }",
      kFuseNormalize);
}

// The nodes alone, without names; a constant that got the rank of x is %c.
std::string norm_nodes(const std::string& text) {
  std::string nodes;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line[0] == '%') nodes += line.substr(line.find(" = ") + 3) + "\n";
  for (size_t at = nodes.find(".operand_"); at != std::string::npos; at = nodes.find(".operand_")) {
    const size_t begin = nodes.rfind('%', at) + 1;
    nodes.replace(begin, at + std::string(".operand_1").size() - begin, "c");
  }
  return nodes;
}

const std::string kNormMean = "m = ReduceMean<axes = [-1]>(x) ";
const std::string kNormCentred = kNormMean + "d = Sub(x, m) ";
const std::string kNormVariance = kNormCentred + "q = Mul(d, d) v = ReduceMean<axes = [-1]>(q) ";
const std::string kNormDeviation = kNormVariance + "w = Add(v, e) r = Sqrt(w) ";
const std::string kNormScaleAndBias =
    "Normalize(%x, %c, %c) {axes_mask=4, has_scale=1, has_bias=1, epsilon=0.00100000005} : "
    "f32[2,3,4]\n";

bool is_norm_fused(const std::string& nodes) {
  return norms_fused(nodes).find("Normalize") != std::string::npos;
}

}  // namespace

TEST_CASE("a layer norm is one Normalize in the orders that exporters write") {
  for (const std::string& nodes : {
           kNormDeviation + "n = Div(d, r) p = Mul(n, s) y = Add(p, b)",
           kNormDeviation + "n = Div(d, r) p = Mul(s, n) y = Add(b, p)",
           kNormCentred + "q = Pow(d, two) v = ReduceMean<axes = [2]>(q) w = Add(e, v) "
                          "r = Pow(w, half) n = Div(d, r) p = Mul(n, s) y = Add(p, b)",
           kNormDeviation + "i = Reciprocal(r) n = Mul(d, i) p = Mul(n, s) y = Add(p, b)",
           kNormDeviation + "i = Div(one, r) n = Mul(i, d) p = Mul(n, s) y = Add(p, b)",
           kNormDeviation + "i = Reciprocal(r) g = Mul(i, s) p = Mul(d, g) y = Add(p, b)",
           kNormDeviation + "g = Div(s, r) p = Mul(d, g) y = Add(p, b)",
           kNormVariance + "w = Add(v, e) i = Pow(w, minus_half) n = Mul(d, i) p = Mul(n, s) "
                           "y = Add(p, b)",
           // x - mean(x) twice
           kNormDeviation + "d2 = Sub(x, m) n = Div(d2, r) p = Mul(n, s) y = Add(p, b)",
           // TensorFlow
           kNormDeviation + "i = Reciprocal(r) g = Mul(i, s) p = Mul(x, g) h = Mul(m, g) "
                            "k = Sub(b, h) y = Add(p, k)",
           kNormDeviation + "i = Reciprocal(r) g = Mul(s, i) p = Mul(g, x) h = Mul(g, m) "
                            "k = Sub(b, h) y = Add(k, p)",
       })
    CHECK(norm_nodes(norms_fused(nodes)) == kNormScaleAndBias);
}

TEST_CASE("a layer norm has scale and bias or not") {
  CHECK(norm_nodes(norms_fused(kNormDeviation + "y = Div(d, r)")) ==
        "Normalize(%x) {axes_mask=4, epsilon=0.00100000005} : f32[2,3,4]\n");
  CHECK(norm_nodes(norms_fused(kNormDeviation + "n = Div(d, r) y = Mul(n, s)")) ==
        "Normalize(%x, %c) {axes_mask=4, has_scale=1, epsilon=0.00100000005} : f32[2,3,4]\n");
  CHECK(norm_nodes(norms_fused(kNormDeviation + "n = Div(d, r) y = Add(n, b)")) ==
        "Normalize(%x, %c) {axes_mask=4, has_bias=1, epsilon=0.00100000005} : f32[2,3,4]\n");
}

TEST_CASE("a layer norm is over any axes") {
  const std::string channels =
      "m = ReduceMean<axes = [1]>(x) d = Sub(x, m) q = Mul(d, d) v = ReduceMean<axes = [1]>(q) "
      "w = Add(v, e) r = Sqrt(w) n = Div(d, r) y = Mul(n, t)";
  CHECK(norm_nodes(norms_fused(channels)) ==
        "Normalize(%x, %c) {axes_mask=2, has_scale=1, epsilon=0.00100000005} : f32[2,3,4]\n");
}

TEST_CASE("a root mean square norm is one Normalize") {
  const std::string squares =
      "q = Pow(x, two) v = ReduceMean<axes = [-1]>(q) w = Add(v, e) r = Sqrt(w) ";
  const std::string norm =
      "Normalize(%x, %c) {axes_mask=4, is_rms=1, has_scale=1, epsilon=0.00100000005} : "
      "f32[2,3,4]\n";
  CHECK(norm_nodes(norms_fused(squares + "n = Div(x, r) y = Mul(s, n)")) == norm);
  CHECK(norm_nodes(norms_fused(squares + "i = Reciprocal(r) n = Mul(x, i) y = Mul(n, s)")) == norm);
}

TEST_CASE("of a difference from the mean that has other readers, the root mean square is taken") {
  const std::string text = norm_nodes(norms_fused(kNormDeviation + "y = Div(d, r) a = Mul(d, z)",
                                                  "float[2,3,4] y, float[2,3,4] a"));
  CHECK(text.find("Normalize(%d) {axes_mask=4, is_rms=1, epsilon") != std::string::npos);
  CHECK(text.find("Binary(%x, %m) {kind=Sub}") != std::string::npos);
}

TEST_CASE("what is no norm, or is read elsewhere, stays") {
  for (const std::string& nodes : {
           // means over different axes
           kNormCentred + "q = Mul(d, d) v = ReduceMean<axes = [1]>(q) w = Add(v, e) r = Sqrt(w) "
                          "y = Div(z, r)",
           // a different value is divided
           kNormDeviation + "y = Div(z, r)",
           // no square
           kNormCentred +
               "q = Pow(d, three) v = ReduceMean<axes = [-1]>(q) w = Add(v, e) r = Sqrt(w) "
               "y = Div(d, r)",
           kNormCentred + "q = Mul(d, z) v = ReduceMean<axes = [-1]>(q) w = Add(v, e) r = Sqrt(w) "
                          "y = Div(d, r)",
           // epsilon is computed, or one of many
           kNormVariance + "k = ReduceMean<axes = [-1]>(z) w = Add(v, k) r = Sqrt(w) y = Div(d, r)",
           kNormVariance + "w = Add(v, t) r = Sqrt(w) y = Div(d, r)",
           // no epsilon
           kNormVariance + "r = Sqrt(v) y = Div(d, r)",
           // a sum in place of the mean
           kNormCentred + "q = Mul(d, d) v = ReduceSum<keepdims = 1>(q) w = Add(v, e) r = Sqrt(w) "
                          "y = Div(d, r)",
       }) {
    INFO(nodes);
    CHECK(!is_norm_fused(nodes));
  }
  // Somebody else reads the deviation, or the mean that is in no difference.
  CHECK(
      norms_fused(kNormDeviation + "y = Div(d, r) a = Add(r, z)", "float[2,3,4] y, float[2,3,4] a")
          .find("Normalize") == std::string::npos);
  CHECK(norms_fused(kNormDeviation + "y = Div(d, r)", "float[2,3,4] y, float[2,3,1] v")
            .find("Normalize") == std::string::npos);
}

TEST_CASE("a scale that is computed, or makes the result larger, stays a product") {
  CHECK(norm_nodes(norms_fused(kNormDeviation + "n = Div(d, r) y = Mul(n, z)")) ==
        "Normalize(%x) {axes_mask=4, epsilon=0.00100000005} : f32[2,3,4]\n"
        "Binary(%n, %z) {kind=Mul} : f32[2,3,4]\n");
  CHECK(
      norm_nodes(norms_fused(kNormDeviation + "n = Div(d, r) y = Mul(n, u)", "float[1,2,3,4] y")) ==
      "Normalize(%x) {axes_mask=4, epsilon=0.00100000005} : f32[2,3,4]\n"
      "Reshape(%n) : f32[1,2,3,4]\n"
      "Binary(%c, %u) {kind=Mul} : f32[1,2,3,4]\n");
}

}  // namespace codl::test
