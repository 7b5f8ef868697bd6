#include "test/passes/pass_text.h"

namespace codl::test {
namespace {

const compiler::Pass kFuseAttention[] = {{"fold_constants", compiler::fold_constants},
                                         {"merge_common", compiler::merge_common},
                                         {"fuse_attention", compiler::fuse_attention},
                                         {"eliminate_dead", compiler::eliminate_dead}};

// Returns the graph after the fusion, of queries, keys and values of 2 heads, 3 rows, 5 keys.
std::string attention_fused(const std::string& nodes,
                            const std::string& outputs = "float[1,2,3,12] y") {
  return after(
      "g (float[1,2,3,8] q, float[1,2,5,8] k, float[1,2,8,5] t, float[1,5,2,8] o, "
      "float[1,2,5,12] v, float[3,5] b, bool[1,1,3,5] c, float[1,2,3,5] w) => (" +
          outputs +
          ") <float s = {0.5}, float r = {4}, float z = {0}, float l = {-3e38}, "
          "float h = {-1}> { " +
          nodes + " }",
      kFuseAttention);
}

bool is_attention_fused(const std::string& nodes,
                        const std::string& outputs = "float[1,2,3,12] y") {
  return attention_fused(nodes, outputs).find(" = Attention(") != std::string::npos;
}

const std::string kTurnedKeys = "u = Transpose<perm = [0, 1, 3, 2]>(k) ";
const std::string kAttentionProduct = kTurnedKeys + "p = MatMul(q, u) ";
const std::string kAttentionRest = "a = Softmax<axis = -1>(m) y = MatMul(a, v)";

}  // namespace

TEST_CASE("attention is one node in the orders that exporters write") {
  CHECK(attention_fused(kAttentionProduct + "m = Div(p, r) " + kAttentionRest)
            .find("%y y = Attention(%q, %k, %v) {scale=0.25} : f32[1,2,3,12]\n") !=
        std::string::npos);
  // As PyTorch writes it: both factors are scaled.
  CHECK(attention_fused(kTurnedKeys + "e = Mul(q, s) f = Mul(u, s) m = MatMul(e, f) " +
                        kAttentionRest)
            .find("Attention(%q, %k, %v) {scale=0.25}") != std::string::npos);
  CHECK(attention_fused(kAttentionProduct + "n = Mul(p, s) m = Add(n, b) " + kAttentionRest)
            .find("has_bias=1") != std::string::npos);
  CHECK(is_attention_fused(kAttentionProduct + "m = Add(b, p) " + kAttentionRest));
  // Another order of k's dims stays a Transpose.
  CHECK(attention_fused("u = Transpose<perm = [0, 2, 3, 1]>(o) m = MatMul(q, u) " + kAttentionRest)
            .find("Transpose(%o) {perm_1=2, perm_2=1, perm_3=3} : f32[1,2,5,8]") !=
        std::string::npos);
}

TEST_CASE("attention: hidden scores are a bias") {
  const std::string text =
      attention_fused(kAttentionProduct + "m = Where(c, p, l) " + kAttentionRest);
  CHECK(text.find(" = Where(%c, ") != std::string::npos);
  CHECK(text.find("has_bias=1") != std::string::npos);
  CHECK(is_attention_fused(kAttentionProduct + "m = Where(c, l, p) " + kAttentionRest));
  // A score beside -1 would count.
  CHECK(!is_attention_fused(kAttentionProduct + "m = Where(c, p, h) " + kAttentionRest));
}

TEST_CASE("attention: rows without keys give zeros") {
  const std::string nodes =
      kAttentionProduct +
      "m = Add(p, b) a = Softmax<axis = -1>(m) "
      "i = Log(z) d = ReduceMax<axes = [-1]>(b) n = Equal(d, i) g = Where(n, z, a) "
      "y = MatMul(g, v)";
  CHECK(attention_fused(nodes).find("zero_if_hidden=1") != std::string::npos);
}

TEST_CASE("attention is left alone") {
  // The scores are seen by others.
  CHECK(!is_attention_fused(kAttentionProduct + "m = Mul(p, s) " + kAttentionRest,
                            "float[1,2,3,12] y, float[1,2,3,5] m"));
  // Softmax is not over the keys.
  CHECK(!is_attention_fused(kAttentionProduct + "a = Softmax<axis = 2>(p) y = MatMul(a, v)"));
  // Nobody has turned the keys.
  CHECK(!is_attention_fused("m = MatMul(q, t) " + kAttentionRest));
  // The kernels do not scale by such numbers.
  CHECK(!is_attention_fused(kAttentionProduct + "m = Mul(p, h) " + kAttentionRest));
}

}  // namespace codl::test
