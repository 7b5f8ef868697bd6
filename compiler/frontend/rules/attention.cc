// Imports Attention and related operators of language models: rotary embeddings, linear attention,
// causal convolutions with a state.
#include <cmath>

#include "compiler/frontend/graph/attend.h"
#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

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

// Says what the operands and output 3 are.
struct AttentionForm {
  int64_t scores_mode = 0;  // meaning of output 3
  int64_t query_heads = 0;  // set if operands have rank 3
  int64_t key_heads = 0;
  bool is_packed = false;  // true if the operands have rank 3
};

llvm::Expected<AttentionForm> read_attention(const OnnxNode& node, Attention& attention) {
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
  attention.scale = scale;
  attention.softcap = softcap;
  attention.is_causal = is_causal != 0;
  attention.left_window = left;
  attention.right_window = right;
  return AttentionForm{mode, query_heads, key_heads};
}

llvm::Error read_heads(const OnnxNode& node, Importer& importer, Compose& c, AttentionForm& form,
                       Attention& attention) {
  CODL_ASSIGN_OR_RETURN(query_dims, importer.dims_of(node, kQuery));
  form.is_packed = query_dims.size() == 3;
  ir::ValueId* const values[] = {&attention.query, &attention.key, &attention.value};
  for (size_t i = kQuery; i <= kValue; ++i) {
    const int64_t count = i == kQuery ? form.query_heads : form.key_heads;
    CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, i));
    if (form.is_packed) {
      if (llvm::Error error = expect_heads(node, importer, i, count)) return error;
    } else if (dims.size() != 4) {
      return input_error(node.name, "expected '{0}' of rank {1}, found {2}", node.inputs[i],
                         query_dims.size() == 3 ? 3 : 4, dims.size());
    }
    *values[i] = form.is_packed ? split_heads(c, c.operand(i), count) : c.operand(i);
  }
  if (node.has_input(kPastKey) != node.has_input(kPastValue))
    return input_error(node.name, "expected past_key and past_value together, found one");
  if (is_given(node, importer, kPastKey)) {
    const ir::ValueId past = c.operand(kPastKey);
    if (c.rank(past) == 4) attention.past_length = c.dims(past)[2];
    attention.key = c.concat({past, attention.key}, 2);
    attention.value = c.concat({c.operand(kPastValue), attention.value}, 2);
  }
  return c.take_error();
}

// Returns the mask operand as floats to add.
ir::ValueId mask_bias(Compose& c) {
  const ir::ValueId mask = c.operand(kMask);
  if (c.type(mask).dtype != DType::Bool) return mask;
  return c.where(mask, c.scalar(DType::F32, 0), minus_infinity(c));
}

llvm::Error import_attention(const OnnxNode& node, Importer& importer) {
  Attention attention;
  CODL_ASSIGN_OR_RETURN(form, read_attention(node, attention));
  Compose c(node, importer);
  if (llvm::Error error = read_heads(node, importer, c, form, attention)) return error;
  if (c.has_output(1))
    if (llvm::Error error = c.bind(attention.key, 1)) return error;
  if (c.has_output(2))
    if (llvm::Error error = c.bind(attention.value, 2)) return error;

  if (node.has_input(kMask)) attention.bias = mask_bias(c);
  if (node.has_input(kValidKeys)) {
    attention.valid_keys = along(c, c.operand(kValidKeys), 0, 4);
    if (attention.past_length == 0)
      attention.first_query =
          c.sub(attention.valid_keys, int_scalar(c, c.dims(attention.query)[2]));
  }
  // Causal and right windows leave every query the first key.
  attention.may_hide_all =
      node.has_input(kMask) || node.has_input(kValidKeys) || attention.left_window >= 0;
  CODL_ASSIGN_OR_RETURN(attended, attend(node, c, attention));
  const ir::ValueId y = form.is_packed ? join_heads(c, attended.y) : attended.y;
  if (llvm::Error error = c.bind(y)) return error;
  if (!c.has_output(3)) return llvm::Error::success();
  const ir::ValueId shown[] = {attended.raw, attended.capped, attended.scores, attended.weights};
  return c.bind(shown[form.scores_mode], 3);
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
