// Imports Attention and related operators of language models: rotary embeddings, linear attention,
// causal convolutions with a state.
#include <cmath>
#include <limits>

#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

// Turns [batch, length, heads * size] into [batch, heads, length, size].
ir::ValueId split_heads(Compose& c, ir::ValueId x, int64_t heads) {
  const Dims64 dims(c.dims(x).begin(), c.dims(x).end());
  if (dims.size() != 3) return ir::kNoId;
  return c.transpose(c.reshape(x, {dims[0], dims[1], heads, dims[2] / heads}), {0, 2, 1, 3});
}

// Turns it back.
ir::ValueId join_heads(Compose& c, ir::ValueId x) {
  const Dims64 dims(c.dims(x).begin(), c.dims(x).end());
  if (dims.size() != 4) return ir::kNoId;
  return c.reshape(c.transpose(x, {0, 2, 1, 3}), {dims[0], dims[2], dims[1] * dims[3]});
}

// Returns an Input error unless operand `i` is [batch, length, heads * size] with a size of at
// least 1.
llvm::Error expect_heads(const OnnxNode& node, Importer& importer, size_t i, int64_t heads) {
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, i));
  if (dims.size() != 3)
    return input_error(node.name, "expected '{0}' of rank 3, found {1}", node.inputs[i],
                       dims.size());
  if (heads < 1 || dims[2] % heads != 0)
    return input_error(node.name, "expected a number of heads that divides {0}, found {1}", dims[2],
                       heads);
  return llvm::Error::success();
}

// ---- Attention ----

// Numbers the operands of ONNX's Attention.
enum : size_t { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kValidKeys };

struct Attention {
  float scale = 0;    // 0: 1 / sqrt(size of a head)
  float softcap = 0;  // 0: none
  bool is_causal = false;
  int64_t left_window = -1;  // -1: no bound
  int64_t right_window = -1;
  int64_t scores_mode = 0;  // meaning of output 3
  int64_t query_heads = 0;  // set if operands have rank 3
  int64_t key_heads = 0;
};

llvm::Expected<Attention> read_attention(const OnnxNode& node) {
  // It is the precision of softmax, which is f32 here.
  ignore_attributes(node, {"softmax_precision"});
  CODL_ASSIGN_OR_RETURN(scale, node.float_or("scale", 0.0f));
  CODL_ASSIGN_OR_RETURN(softcap, node.float_or("softcap", 0.0f));
  CODL_ASSIGN_OR_RETURN(is_causal, node.int_or("is_causal", 0));
  CODL_ASSIGN_OR_RETURN(left, node.int_or("left_window_size", -1, IntegerUse::Bound));
  CODL_ASSIGN_OR_RETURN(right, node.int_or("right_window_size", -1, IntegerUse::Bound));
  CODL_ASSIGN_OR_RETURN(mode, node.int_or("qk_matmul_output_mode", 0));
  CODL_ASSIGN_OR_RETURN(query_heads, node.int_or("q_num_heads", 0));
  CODL_ASSIGN_OR_RETURN(key_heads, node.int_or("kv_num_heads", 0));
  if (mode < 0 || mode > 3)
    return input_error(node.name, "expected qk_matmul_output_mode 0 to 3, found {0}", mode);
  if (left < -1 || right < -1)
    return input_error(node.name, "expected window sizes >= -1, found {0} and {1}", left, right);
  return Attention{scale, softcap, is_causal != 0, left, right, mode, query_heads, key_heads};
}

// Holds Q, K and V as [batch, heads, length, size]; K and V begin with the past ones.
struct Heads {
  ir::ValueId query = ir::kNoId;
  ir::ValueId key = ir::kNoId;
  ir::ValueId value = ir::kNoId;
  bool is_packed = false;  // true if the operands have rank 3
  int64_t batch = 0;
  int64_t query_heads = 0;
  int64_t key_heads = 0;
  int64_t query_length = 0;
  int64_t key_length = 0;
  int64_t past_length = 0;
};

llvm::Expected<Heads> read_heads(const OnnxNode& node, Importer& importer, Compose& c,
                                 const Attention& attention) {
  Heads heads;
  CODL_ASSIGN_OR_RETURN(query_dims, importer.dims_of(node, kQuery));
  heads.is_packed = query_dims.size() == 3;
  ir::ValueId* const values[] = {&heads.query, &heads.key, &heads.value};
  for (size_t i = kQuery; i <= kValue; ++i) {
    const int64_t count = i == kQuery ? attention.query_heads : attention.key_heads;
    CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, i));
    if (heads.is_packed) {
      if (llvm::Error error = expect_heads(node, importer, i, count)) return error;
    } else if (dims.size() != 4) {
      return input_error(node.name, "expected '{0}' of rank {1}, found {2}", node.inputs[i],
                         query_dims.size() == 3 ? 3 : 4, dims.size());
    }
    *values[i] = heads.is_packed ? split_heads(c, c.operand(i), count) : c.operand(i);
  }
  if (node.has_input(kPastKey) != node.has_input(kPastValue))
    return input_error(node.name, "expected past_key and past_value together, found one");
  if (is_given(node, importer, kPastKey)) {
    const ir::ValueId past = c.operand(kPastKey);
    if (c.rank(past) == 4) heads.past_length = c.dims(past)[2];
    heads.key = c.concat({past, heads.key}, 2);
    heads.value = c.concat({c.operand(kPastValue), heads.value}, 2);
  }
  if (llvm::Error error = c.take_error()) return error;
  const auto query = c.dims(heads.query);
  const auto key = c.dims(heads.key);
  const auto value = c.dims(heads.value);
  if (key[0] != query[0] || value[0] != query[0] || key[3] != query[3] || key[1] != value[1] ||
      key[2] != value[2] || query[1] % key[1] != 0)
    return input_error(node.name, "expected Q, K and V that fit, found {0}, {1} and {2}",
                       ir::to_string(c.type(heads.query)), ir::to_string(c.type(heads.key)),
                       ir::to_string(c.type(heads.value)));
  heads.batch = query[0];
  heads.query_heads = query[1];
  heads.key_heads = key[1];
  heads.query_length = query[2];
  heads.key_length = key[2];
  return heads;
}

// Puts the heads of Q that share one of K and V one below the other, so that no head of K is
// repeated.
ir::ValueId grouped(Compose& c, const Heads& heads, ir::ValueId x) {
  if (heads.query_heads == heads.key_heads || x == ir::kNoId) return x;
  const int64_t group = heads.query_heads / heads.key_heads;
  return c.reshape(x, {heads.batch, heads.key_heads, group * heads.query_length, c.dims(x)[3]});
}

ir::ValueId ungrouped(Compose& c, const Heads& heads, ir::ValueId x) {
  if (heads.query_heads == heads.key_heads || x == ir::kNoId) return x;
  return c.reshape(x, {heads.batch, heads.query_heads, heads.query_length, c.dims(x)[3]});
}

ir::ValueId minus_infinity(Compose& c) {
  return c.scalar(DType::F32, -std::numeric_limits<double>::infinity());
}

ir::ValueId any_of(Compose& c, ir::ValueId a, ir::ValueId b) {
  return a == ir::kNoId ? b : c.binary(kBinaryOr, a, b);
}

// Returns true where a query must not see a key because of its position, as [batch or 1, 1, query
// length or 1, key length]; kNoId if every query may see every key.
ir::ValueId hidden_keys(const OnnxNode& node, Compose& c, const Attention& attention,
                        const Heads& heads) {
  const bool has_window = attention.left_window >= 0 || attention.right_window >= 0;
  const bool counts_keys = node.has_input(kValidKeys);
  ir::ValueId hidden = ir::kNoId;
  if (!attention.is_causal && !has_window && !counts_keys) return hidden;

  const ir::ValueId key = along(c, iota(c, heads.key_length), 3, 4);
  // Computes the position of the first query among the keys.
  ir::ValueId first = int_scalar(c, heads.past_length);
  if (counts_keys) {
    const ir::ValueId valid = along(c, c.operand(kValidKeys), 0, 4);
    hidden = c.binary(kBinaryGreaterOrEqual, key, valid);
    if (heads.past_length == 0) first = c.sub(valid, int_scalar(c, heads.query_length));
  }
  if (!attention.is_causal && !has_window) return hidden;
  const ir::ValueId query = c.add(along(c, iota(c, heads.query_length), 2, 4), first);
  if (attention.is_causal) hidden = any_of(c, hidden, c.binary(kBinaryGreater, key, query));
  if (attention.left_window >= 0)
    hidden =
        any_of(c, hidden,
               c.binary(kBinaryGreater, c.sub(query, key), int_scalar(c, attention.left_window)));
  if (attention.right_window >= 0)
    hidden =
        any_of(c, hidden,
               c.binary(kBinaryGreater, c.sub(key, query), int_scalar(c, attention.right_window)));
  return hidden;
}

// Returns the mask operand as floats to add; a short mask hides the keys after its end.
ir::ValueId mask_bias(Compose& c, const Heads& heads) {
  ir::ValueId mask = c.operand(kMask);
  if (c.type(mask).dtype == DType::Bool)
    mask = c.where(mask, c.scalar(DType::F32, 0), minus_infinity(c));
  Dims64 missing(c.dims(mask).begin(), c.dims(mask).end());
  if (missing.empty() || missing.back() == 1 || missing.back() >= heads.key_length) return mask;
  missing.back() = heads.key_length - missing.back();
  const double infinity = std::numeric_limits<double>::infinity();
  return c.concat({mask, c.filled(DType::F32, -infinity, missing)}, -1);
}

// Holds the addend of the scores; kNoId if there is none. If `may_hide_all`, it may leave a query
// without keys.
struct Bias {
  ir::ValueId value = ir::kNoId;
  bool may_hide_all = false;
};

Bias attention_bias(const OnnxNode& node, Compose& c, const Attention& attention,
                    const Heads& heads) {
  const bool has_mask = node.has_input(kMask);
  Bias bias;
  bias.value = has_mask ? mask_bias(c, heads) : ir::kNoId;
  // Causal and right windows leave every query the first key.
  bias.may_hide_all = has_mask || node.has_input(kValidKeys) || attention.left_window >= 0;
  const ir::ValueId hidden = hidden_keys(node, c, attention, heads);
  if (hidden == ir::kNoId) return bias;
  const ir::ValueId shown = has_mask ? bias.value : c.scalar(DType::F32, 0);
  bias.value = c.where(hidden, minus_infinity(c), shown);
  return bias;
}

// Computes softmax over the keys. Queries without keys get zeros, which softmax itself would not
// give.
ir::ValueId probabilities(Compose& c, ir::ValueId scores, const Bias& bias) {
  const ir::ValueId softmax = c.softmax(scores, -1);
  if (!bias.may_hide_all) return softmax;
  const ir::ValueId best = c.reduce(kReduceMax, bias.value, {-1});
  const ir::ValueId hides_all = c.binary(kBinaryEqual, best, minus_infinity(c));
  return c.where(hides_all, c.scalar(DType::F32, 0), softmax);
}

llvm::Error import_attention(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(attention, read_attention(node));
  Compose c(node, importer);
  CODL_ASSIGN_OR_RETURN(heads, read_heads(node, importer, c, attention));
  if (c.has_output(1))
    if (llvm::Error error = c.bind(heads.key, 1)) return error;
  if (c.has_output(2))
    if (llvm::Error error = c.bind(heads.value, 2)) return error;

  const double head_size = c.dims(heads.query)[3];
  const double scale = attention.scale != 0 ? attention.scale : 1 / std::sqrt(head_size);
  const ir::ValueId query = c.mul(grouped(c, heads, heads.query), c.scalar(DType::F32, scale));
  const ir::ValueId products =
      c.node(OpKind::BatchMatMul, BatchMatMulParams{0, /*is_b_transposed=*/1}, {query, heads.key});
  const ir::ValueId raw = ungrouped(c, heads, products);
  ir::ValueId capped = raw;
  if (attention.softcap != 0) {
    const ir::ValueId cap = c.scalar(DType::F32, attention.softcap);
    capped = c.mul(c.unary(kUnaryTanh, c.div(raw, cap)), cap);
  }
  const Bias bias = attention_bias(node, c, attention, heads);
  const ir::ValueId scores = bias.value == ir::kNoId ? capped : c.add(capped, bias.value);
  if (c.dims(scores) != c.dims(raw))
    c.fail(input_error(node.name, "expected a mask that broadcasts to {0}, found {1}",
                       ir::to_string(c.type(raw)), ir::to_string(c.type(scores))));
  const ir::ValueId weights = probabilities(c, scores, bias);
  ir::ValueId y = c.matmul(grouped(c, heads, weights), heads.value);
  y = ungrouped(c, heads, y);
  if (llvm::Error error = c.bind(heads.is_packed ? join_heads(c, y) : y)) return error;
  if (!c.has_output(3)) return llvm::Error::success();
  const ir::ValueId shown[] = {raw, capped, scores, weights};
  return c.bind(shown[attention.scores_mode], 3);
}

// ---- RotaryEmbedding ----

// Rotates pairs of elements (x1, x2) of the last dim of [batch, length, heads, size] by the angles.
ir::ValueId rotated(Compose& c, ir::ValueId x, ir::ValueId cosines, ir::ValueId sines,
                    bool is_interleaved) {
  if (x == ir::kNoId) return x;
  const Dims64 dims(c.dims(x).begin(), c.dims(x).end());
  const int64_t half = dims.back() / 2;
  const int64_t step = is_interleaved ? 2 : 1;
  const ir::ValueId x1 = c.slice(x, -1, 0, half, step);
  const ir::ValueId x2 = c.slice(x, -1, is_interleaved ? 1 : half, half, step);
  ir::ValueId real = c.sub(c.mul(cosines, x1), c.mul(sines, x2));
  ir::ValueId imaginary = c.add(c.mul(sines, x1), c.mul(cosines, x2));
  if (!is_interleaved) return c.concat({real, imaginary}, -1);
  Dims64 column = dims;
  column.back() = half;
  column.push_back(1);
  real = c.reshape(real, column);
  imaginary = c.reshape(imaginary, column);
  return c.reshape(c.concat({real, imaginary}, -1), dims);
}

// Returns the cosines or sines of operand `i` as [batch, length, 1, half].
ir::ValueId angles(const OnnxNode& node, Compose& c, size_t i, int64_t half) {
  ir::ValueId cache = c.operand(i);
  if (node.has_input(3)) cache = c.gather(cache, c.operand_as(3, DType::I64), 0);
  const Dims64 dims(c.dims(cache).begin(), c.dims(cache).end());
  if (dims.size() != 3 || dims[2] != half) {
    c.fail(input_error(node.name, "expected a cache of {0} angles per position, found {1}", half,
                       ir::to_string(c.type(cache))));
    return ir::kNoId;
  }
  return c.reshape(cache, {dims[0], dims[1], 1, half});
}

llvm::Error import_rotary_embedding(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(interleaved, node.int_or("interleaved", 0));
  CODL_ASSIGN_OR_RETURN(heads, node.int_or("num_heads", 0));
  CODL_ASSIGN_OR_RETURN(rotary_dim, node.int_or("rotary_embedding_dim", 0));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  if (dims.size() != 3 && dims.size() != 4)
    return input_error(node.name, "expected rank 3 or 4, found {0}", dims.size());
  if (node.has_input(3)) {
    CODL_ASSIGN_OR_RETURN(cache_dims, importer.dims_of(node, 1));
    if (cache_dims.empty()) return input_error(node.name, "expected a cache, found a scalar");
    if (llvm::Error error = expect_indices(node, importer, 3, {cache_dims[0]})) return error;
  }
  Compose c(node, importer);
  ir::ValueId x = c.operand(0);
  if (dims.size() == 3) {
    if (llvm::Error error = expect_heads(node, importer, 0, heads)) return error;
    x = c.reshape(x, {dims[0], dims[1], heads, dims[2] / heads});
  } else {
    x = c.transpose(x, {0, 2, 1, 3});
  }
  if (llvm::Error error = c.take_error()) return error;
  const int64_t size = c.dims(x)[3];
  const int64_t turned = rotary_dim == 0 ? size : rotary_dim;
  if (turned < 2 || turned > size || turned % 2 != 0)
    return input_error(node.name,
                       "expected an even number of at most {0} elements to rotate, "
                       "found {1}",
                       size, turned);
  const ir::ValueId cosines = angles(node, c, 1, turned / 2);
  const ir::ValueId sines = angles(node, c, 2, turned / 2);
  ir::ValueId y = rotated(c, c.slice(x, 3, 0, turned), cosines, sines, interleaved != 0);
  if (turned < size) y = c.concat({y, c.slice(x, 3, turned, size - turned)}, 3);
  if (dims.size() == 4) return c.bind(c.transpose(y, {0, 2, 1, 3}));
  return c.bind(c.reshape(y, dims));
}

// ---- LinearAttention ----

// Limits the steps, which are unrolled; longer sequences would make graphs that no one can run.
constexpr int64_t kMaxLinearSteps = 64;

struct LinearAttention {
  int64_t query_heads = 0;
  int64_t key_heads = 0;
  float scale = 0;
  bool has_decay = false;  // the state fades
  bool has_delta = false;  // the part that the state knows already is subtracted
};

llvm::Expected<LinearAttention> read_linear_attention(const OnnxNode& node) {
  ignore_attributes(node, {"chunk_size"});
  CODL_ASSIGN_OR_RETURN(query_heads, node.int_or("q_num_heads", 0));
  CODL_ASSIGN_OR_RETURN(key_heads, node.int_or("kv_num_heads", 0));
  CODL_ASSIGN_OR_RETURN(scale, node.float_or("scale", 0.0f));
  CODL_ASSIGN_OR_RETURN(rule, node.string_or("update_rule", "gated_delta"));
  const bool has_decay = rule == "gated" || rule == "gated_delta";
  const bool has_delta = rule == "delta" || rule == "gated_delta";
  if (!has_decay && !has_delta && rule != "linear")
    return input_error(node.name, "expected a known update_rule, found '{0}'", rule);
  if (key_heads < 1 || query_heads % key_heads != 0)
    return input_error(node.name, "expected q_num_heads a multiple of kv_num_heads, found {0}, {1}",
                       query_heads, key_heads);
  return LinearAttention{query_heads, key_heads, scale, has_decay, has_delta};
}

// Unrolls the steps. q[b,hq,T,dk], k[b,hk,T,dk], v[b,hk,T,dv], state[b,hk,dk,dv]; decay[b,hk,T,dk
// or 1] and rate[b,hk or 1,T,1] may be kNoId. Returns the output of each step; `state` becomes the
// last one.
std::vector<ir::ValueId> linear_steps(Compose& c, const LinearAttention& attention,
                                      const ir::ValueId (&operands)[5], int64_t steps,
                                      ir::ValueId& state) {
  const auto [query, key, value, decay, rate] = operands;
  const int64_t group = attention.query_heads / attention.key_heads;
  std::vector<ir::ValueId> outputs;
  for (int64_t step = 0; step < steps && query != ir::kNoId; ++step) {
    const auto at = [&, step](ir::ValueId x) { return c.slice(x, 2, step, 1); };
    if (decay != ir::kNoId)
      state = c.mul(c.transpose(c.unary(kUnaryExp, at(decay)), {0, 1, 3, 2}), state);
    ir::ValueId added = at(value);
    if (attention.has_delta) added = c.sub(added, c.matmul(at(key), state));
    if (rate != ir::kNoId) added = c.mul(at(rate), added);
    state = c.add(state, c.matmul(c.transpose(at(key), {0, 1, 3, 2}), added));
    // The queries that share a head of the state become its rows.
    const Dims64 dims(c.dims(query).begin(), c.dims(query).end());
    const ir::ValueId rows = c.reshape(at(query), {dims[0], attention.key_heads, group, dims[3]});
    const ir::ValueId seen = c.matmul(rows, state);
    if (seen == ir::kNoId) break;
    outputs.push_back(
        c.reshape(seen, {dims[0], attention.query_heads, 1, int64_t{c.dims(seen)[3]}}));
  }
  return outputs;
}

llvm::Error import_linear_attention(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(attention, read_linear_attention(node));
  for (size_t i = 0; i < 3; ++i) {
    const int64_t heads = i == 0 ? attention.query_heads : attention.key_heads;
    if (llvm::Error error = expect_heads(node, importer, i, heads)) return error;
  }
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(value_dims, importer.dims_of(node, 2));
  if (dims[1] > kMaxLinearSteps)
    return unsupported_error(node.name, "expected at most {0} steps, found {1}", kMaxLinearSteps,
                             dims[1]);
  if (attention.has_decay != node.has_input(4) || attention.has_delta != node.has_input(5))
    return input_error(node.name, "expected the operands of its update_rule, found others");
  Compose c(node, importer);
  const int64_t key_size = dims[2] / attention.query_heads;
  const double scale =
      attention.scale != 0 ? attention.scale : 1 / std::sqrt(static_cast<double>(key_size));
  const ir::ValueId query =
      c.mul(split_heads(c, c.operand(0), attention.query_heads), c.scalar(DType::F32, scale));
  const ir::ValueId key = split_heads(c, c.operand(1), attention.key_heads);
  const ir::ValueId value = split_heads(c, c.operand(2), attention.key_heads);
  ir::ValueId decay = ir::kNoId;
  ir::ValueId rate = ir::kNoId;
  if (attention.has_decay) {
    if (llvm::Error error = expect_heads(node, importer, 4, attention.key_heads)) return error;
    decay = split_heads(c, c.operand(4), attention.key_heads);
  }
  if (attention.has_delta) {
    CODL_ASSIGN_OR_RETURN(rate_dims, importer.dims_of(node, 5));
    const int64_t rate_heads = rate_dims.empty() ? 0 : rate_dims.back();
    if (llvm::Error error = expect_heads(node, importer, 5, rate_heads)) return error;
    rate = split_heads(c, c.operand(5), rate_heads);
  }
  ir::ValueId state =
      is_given(node, importer, 3)
          ? c.operand(3)
          : c.filled(DType::F32, 0,
                     {dims[0], attention.key_heads, key_size, value_dims[2] / attention.key_heads});
  const ir::ValueId operands[] = {query, key, value, decay, rate};
  const std::vector<ir::ValueId> outputs = linear_steps(c, attention, operands, dims[1], state);
  if (llvm::Error error = c.take_error()) return error;
  if (llvm::Error error = c.bind(join_heads(c, c.concat(outputs, 2)))) return error;
  return c.has_output(1) ? c.bind(state, 1) : llvm::Error::success();
}

// ---- CausalConvWithState ----

// Imports x[b,c,l], w[c,1,k] -> y[b,c,l]: the last of the k taps is the element itself; the state
// comes before x.
llvm::Error import_causal_conv(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(activation, node.string_or("activation", "none"));
  const bool is_swish = activation == "silu" || activation == "swish";
  if (!is_swish && activation != "none")
    return input_error(node.name, "expected activation none, silu or swish, found '{0}'",
                       activation);
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(w_dims, importer.dims_of(node, 1));
  if (dims.size() != 3 || w_dims.size() != 3 || w_dims[0] != dims[1] || w_dims[1] != 1)
    return input_error(node.name, "expected x and w of rank 3 that fit, found rank {0} and {1}",
                       dims.size(), w_dims.size());
  Compose c(node, importer);
  const int64_t taps = w_dims[2];
  const int64_t length = dims[2];
  ir::ValueId x = c.operand(0);
  if (taps > 1) {
    const ir::ValueId past = is_given(node, importer, 3)
                                 ? c.operand(3)
                                 : c.filled(DType::F32, 0, {dims[0], dims[1], taps - 1});
    x = c.concat({past, x}, 2);
  }
  const ir::ValueId w = c.reshape(c.operand(1), {1, dims[1], taps});
  ir::ValueId y = ir::kNoId;
  for (int64_t tap = 0; tap < taps; ++tap) {
    const ir::ValueId term = c.mul(c.slice(x, 2, tap, length), c.slice(w, 2, tap, 1));
    y = tap == 0 ? term : c.add(y, term);
  }
  if (node.has_input(2)) y = c.add(y, along(c, c.operand(2), 1, 3));
  if (is_swish) y = c.unary(kUnarySwish, y, 1);
  if (llvm::Error error = c.bind(y)) return error;
  if (!c.has_output(1)) return llvm::Error::success();
  if (taps == 1) return bind_empty(node, importer, DType::F32, {dims[0], dims[1], 0}, 1);
  return c.bind(c.slice(x, 2, length, taps - 1), 1);
}

}  // namespace

llvm::ArrayRef<ImportEntry> attention_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"Attention", 23, kNewestOpset, import_attention},
      {"CausalConvWithState", 27, kNewestOpset, import_causal_conv},
      {"LinearAttention", 27, kNewestOpset, import_linear_attention},
      {"RotaryEmbedding", 23, kNewestOpset, import_rotary_embedding},
  };
  return kEntries;
}

}  // namespace codl::compiler
