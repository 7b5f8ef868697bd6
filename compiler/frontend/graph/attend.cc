#include "compiler/frontend/graph/attend.h"

#include <cmath>
#include <limits>

#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

struct Extents {
  int64_t batch = 0;
  int64_t query_heads = 0;
  int64_t key_heads = 0;
  int64_t query_length = 0;
  int64_t key_length = 0;
};

llvm::Expected<Extents> extents_of(const OnnxNode& node, const Compose& c, const Attention& a) {
  const auto query = c.dims(a.query);
  const auto key = c.dims(a.key);
  const auto value = c.dims(a.value);
  if (query.size() != 4 || key.size() != 4 || value.size() != 4 || key[0] != query[0] ||
      value[0] != query[0] || key[3] != query[3] || key[1] != value[1] || key[2] != value[2] ||
      query[1] % key[1] != 0)
    return input_error(node.name, "expected Q, K and V that fit, found {0}, {1} and {2}",
                       ir::to_string(c.type(a.query)), ir::to_string(c.type(a.key)),
                       ir::to_string(c.type(a.value)));
  return Extents{query[0], query[1], key[1], query[2], key[2]};
}

// Puts the heads of Q that share one of K and V one below the other, so that no head of K is
// repeated.
ir::ValueId grouped(Compose& c, const Extents& e, ir::ValueId x) {
  if (e.query_heads == e.key_heads || x == ir::kNoId) return x;
  const int64_t group = e.query_heads / e.key_heads;
  return c.reshape(x, {e.batch, e.key_heads, group * e.query_length, c.dims(x)[3]});
}

ir::ValueId ungrouped(Compose& c, const Extents& e, ir::ValueId x) {
  if (e.query_heads == e.key_heads || x == ir::kNoId) return x;
  return c.reshape(x, {e.batch, e.query_heads, e.query_length, c.dims(x)[3]});
}

ir::ValueId any_of(Compose& c, ir::ValueId a, ir::ValueId b) {
  return a == ir::kNoId ? b : c.binary(kBinaryOr, a, b);
}

// Returns true where a query must not see a key because of its position, as [batch or 1, 1, query
// length or 1, key length]; kNoId if every query may see every key.
ir::ValueId hidden_keys(Compose& c, const Attention& a, const Extents& e) {
  const bool has_window = a.left_window >= 0 || a.right_window >= 0;
  const bool counts_keys = a.valid_keys != ir::kNoId;
  ir::ValueId hidden = ir::kNoId;
  if (!a.is_causal && !has_window && !counts_keys) return hidden;

  const ir::ValueId key = along(c, iota(c, e.key_length), 3, 4);
  const ir::ValueId first =
      a.first_query != ir::kNoId ? a.first_query : int_scalar(c, a.past_length);
  if (counts_keys) hidden = c.binary(kBinaryGreaterOrEqual, key, a.valid_keys);
  if (!a.is_causal && !has_window) return hidden;
  const ir::ValueId query = c.add(along(c, iota(c, e.query_length), 2, 4), first);
  if (a.is_causal) hidden = any_of(c, hidden, c.binary(kBinaryGreater, key, query));
  if (a.left_window >= 0)
    hidden = any_of(c, hidden,
                    c.binary(kBinaryGreater, c.sub(query, key), int_scalar(c, a.left_window)));
  if (a.right_window >= 0)
    hidden = any_of(c, hidden,
                    c.binary(kBinaryGreater, c.sub(key, query), int_scalar(c, a.right_window)));
  return hidden;
}

ir::ValueId extended_bias(Compose& c, ir::ValueId bias, int64_t key_length) {
  if (bias == ir::kNoId) return bias;
  Dims64 missing(c.dims(bias).begin(), c.dims(bias).end());
  if (missing.empty() || missing.back() == 1 || missing.back() >= key_length) return bias;
  missing.back() = key_length - missing.back();
  const double infinity = std::numeric_limits<double>::infinity();
  return c.concat({bias, c.filled(DType::F32, -infinity, missing)}, -1);
}

// Returns the addend of the scores; kNoId if there is none.
ir::ValueId added_scores(Compose& c, const Attention& a, const Extents& e) {
  const ir::ValueId bias = extended_bias(c, a.bias, e.key_length);
  const ir::ValueId hidden = hidden_keys(c, a, e);
  if (hidden == ir::kNoId) return bias;
  const ir::ValueId shown = bias != ir::kNoId ? bias : c.scalar(DType::F32, 0);
  return c.where(hidden, minus_infinity(c), shown);
}

// Computes softmax over the keys and the sink, which is left out of the result.
ir::ValueId softmax_with_sink(Compose& c, const Extents& e, ir::ValueId scores, ir::ValueId sink) {
  if (sink == ir::kNoId) return c.softmax(scores, -1);
  const ir::ValueId column = c.expand(c.reshape(sink, {1, e.query_heads, 1, 1}),
                                      {e.batch, e.query_heads, e.query_length, 1});
  return c.slice(c.softmax(c.concat({scores, column}, -1), -1), -1, 0, e.key_length);
}

// Computes softmax over the keys. Queries without keys get zeros, which softmax itself would not
// give.
ir::ValueId probabilities(Compose& c, const Attention& a, const Extents& e, ir::ValueId scores,
                          ir::ValueId bias) {
  const ir::ValueId softmax = softmax_with_sink(c, e, scores, a.sink);
  if (!a.may_hide_all) return softmax;
  const ir::ValueId best = c.reduce(kReduceMax, bias, {-1});
  const ir::ValueId hides_all = c.binary(kBinaryEqual, best, minus_infinity(c));
  return c.where(hides_all, c.scalar(DType::F32, 0), softmax);
}

}  // namespace

ir::ValueId split_heads(Compose& c, ir::ValueId x, int64_t heads) {
  const Dims64 dims(c.dims(x).begin(), c.dims(x).end());
  if (dims.size() != 3) return ir::kNoId;
  return c.transpose(c.reshape(x, {dims[0], dims[1], heads, dims[2] / heads}), {0, 2, 1, 3});
}

ir::ValueId join_heads(Compose& c, ir::ValueId x) {
  const Dims64 dims(c.dims(x).begin(), c.dims(x).end());
  if (dims.size() != 4) return ir::kNoId;
  return c.reshape(c.transpose(x, {0, 2, 1, 3}), {dims[0], dims[2], dims[1] * dims[3]});
}

ir::ValueId minus_infinity(Compose& c) {
  return c.scalar(DType::F32, -std::numeric_limits<double>::infinity());
}

llvm::Expected<Attended> attend(const OnnxNode& node, Compose& c, const Attention& attention) {
  if (llvm::Error error = c.take_error()) return error;
  CODL_ASSIGN_OR_RETURN(e, extents_of(node, c, attention));
  const double head_size = c.dims(attention.query)[3];
  const double scale = attention.scale != 0 ? attention.scale : 1 / std::sqrt(head_size);
  const ir::ValueId query = c.mul(grouped(c, e, attention.query), c.scalar(DType::F32, scale));
  const ir::ValueId products = c.node(
      OpKind::BatchMatMul, BatchMatMulParams{0, /*is_b_transposed=*/1}, {query, attention.key});
  Attended result;
  result.raw = ungrouped(c, e, products);
  result.capped = result.raw;
  if (attention.softcap != 0) {
    const ir::ValueId cap = c.scalar(DType::F32, attention.softcap);
    result.capped = c.mul(c.unary(kUnaryTanh, c.div(result.raw, cap)), cap);
  }
  const ir::ValueId bias = added_scores(c, attention, e);
  result.scores = bias == ir::kNoId ? result.capped : c.add(result.capped, bias);
  if (c.dims(result.scores) != c.dims(result.raw))
    c.fail(input_error(node.name, "expected a mask that broadcasts to {0}, found {1}",
                       ir::to_string(c.type(result.raw)), ir::to_string(c.type(result.scores))));
  result.weights = probabilities(c, attention, e, result.scores, bias);
  result.y = ungrouped(c, e, c.matmul(grouped(c, e, result.weights), attention.value));
  if (llvm::Error error = c.take_error()) return error;
  return result;
}

}  // namespace codl::compiler
