// Imports Attention and MultiHeadAttention of domain com.microsoft. They differ from ONNX's by the
// forms of their operands. ONNX Runtime's ContribOperators.md defines them.
#include <algorithm>

#include "compiler/frontend/graph/attend.h"
#include "compiler/frontend/graph/expect.h"
#include "compiler/frontend/graph/rewrite.h"
#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

// Reads the attributes that Attention and MultiHeadAttention share.
llvm::Expected<float> read_attributes(const OnnxNode& node, Attention& attention) {
  CODL_ASSIGN_OR_RETURN(scale, node.float_or("scale", 0.0f));
  CODL_ASSIGN_OR_RETURN(is_causal, node.int_or("unidirectional", 0));
  CODL_ASSIGN_OR_RETURN(filter, node.float_or("mask_filter_value", -10000.0f));
  attention.scale = scale;
  attention.is_causal = is_causal != 0;
  return filter;
}

// Returns what is added to the scores because of mask operand `i`, of integers: `filter` where a
// key is hidden. The lengths of Q, K and V are those of `attention`.
llvm::Expected<ir::ValueId> mask_bias(const OnnxNode& node, Importer& importer, Compose& c,
                                      size_t i, float filter, const Attention& attention) {
  if (llvm::Error error = c.take_error()) return error;
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, i));
  const int64_t batch = c.dims(attention.query)[0];
  const int64_t rows = c.dims(attention.query)[2];
  const int64_t keys = c.dims(attention.key)[2];
  const auto has_dims = [&](std::initializer_list<int64_t> wanted) {
    return std::equal(dims.begin(), dims.end(), wanted.begin(), wanted.end());
  };
  const ir::ValueId mask = c.operand(i);
  ir::ValueId shown = ir::kNoId;
  if (has_dims({batch}) || has_dims({2 * batch})) {
    // Has the end of each sequence of keys, then perhaps its beginning.
    const ir::ValueId limits = c.cast(mask, DType::I64);
    const ir::ValueId key = along(c, iota(c, keys), 3, 4);
    shown = c.binary(kBinaryLess, key, along(c, c.slice(limits, 0, 0, batch), 0, 4));
    if (dims[0] == 2 * batch)
      shown = c.binary(
          kBinaryAnd, shown,
          c.binary(kBinaryGreaterOrEqual, key, along(c, c.slice(limits, 0, batch, batch), 0, 4)));
  } else {
    ir::ValueId places = ir::kNoId;
    if (has_dims({batch, keys})) {
      places = c.reshape(mask, {batch, 1, 1, keys});
    } else if (has_dims({batch, rows, keys})) {
      places = c.reshape(mask, {batch, 1, rows, keys});
    } else if (dims.size() == 4 && dims[0] == batch && dims[1] == 1 && dims[2] == dims[3] &&
               dims[3] >= keys && dims[2] >= attention.past_length + rows) {
      places = c.slice(c.slice(mask, 2, attention.past_length, rows), 3, 0, keys);
    } else {
      return unsupported_error(node.name,
                               "expected a mask of {0} or {1} lengths, or with dims that end in "
                               "{2} or {3}x{2}, found dims [{4}]",
                               batch, 2 * batch, keys, rows,
                               llvm::make_range(dims.begin(), dims.end()));
    }
    shown = c.binary(kBinaryGreater, places, c.scalar(c.type(mask).dtype, 0));
  }
  return c.where(shown, c.scalar(DType::F32, 0), c.scalar(DType::F32, filter));
}

// Sets the addend of the scores: operand `mask` as mask_bias() has it, and operand `bias`.
llvm::Error add_biases(const OnnxNode& node, Importer& importer, Compose& c, size_t mask,
                       size_t bias, float filter, Attention& attention) {
  if (node.has_input(mask)) {
    CODL_ASSIGN_OR_RETURN(hidden, mask_bias(node, importer, c, mask, filter, attention));
    attention.bias = hidden;
  }
  if (!node.has_input(bias)) return llvm::Error::success();
  if (llvm::Error error = expect_rank(node, importer, bias, 4)) return error;
  const ir::ValueId added = c.operand(bias);
  attention.bias = attention.bias == ir::kNoId ? added : c.add(attention.bias, added);
  return llvm::Error::success();
}

// Puts the past keys and values in front.
void prepend_past(Compose& c, ir::ValueId past_key, ir::ValueId past_value, Attention& attention) {
  if (c.rank(past_key) == 4) attention.past_length = c.dims(past_key)[2];
  attention.key = c.concat({past_key, attention.key}, 2);
  attention.value = c.concat({past_value, attention.value}, 2);
}

// Binds output 0 to the result, [batch, length, heads * size].
llvm::Error bind_attended(const OnnxNode& node, Compose& c, const Attention& attention) {
  if (llvm::Error error = c.take_error()) return error;
  const int64_t rows = c.dims(attention.query)[2];
  const int64_t added = c.dims(attention.key)[2] - attention.past_length;
  if (attention.is_causal && added != rows)
    return unsupported_error(
        node.name,
        "expected a new key per query with unidirectional, found {0} keys and {1} queries", added,
        rows);
  CODL_ASSIGN_OR_RETURN(attended, attend(node, c, attention));
  return c.bind(join_heads(c, attended.y));
}

// ---- Attention ----

namespace attention_inputs {
enum : size_t { kInput, kWeights, kBias, kMask, kPast, kAttentionBias, kPastLength };
}

// Returns the widths of Q, K and V in what the weights give.
llvm::Expected<Dims64> read_widths(const OnnxNode& node, int64_t width) {
  CODL_ASSIGN_OR_RETURN(sizes, node.ints_or("qkv_hidden_sizes", {}));
  Dims64 widths(sizes.begin(), sizes.end());
  if (widths.empty()) widths = {width / 3, width / 3, width / 3};
  if (widths.size() == 3 && widths[0] == widths[1] && widths[0] > 0 && widths[2] > 0 &&
      widths[0] <= width && widths[2] <= width && 2 * widths[0] + widths[2] == width)
    return widths;
  return input_error(node.name, "expected sizes of Q, K and V that add up to {0}, found [{1}]",
                     width, llvm::make_range(widths.begin(), widths.end()));
}

// Multiplies the input with the weights of Q, K and V at once.
llvm::Error read_packed_heads(const OnnxNode& node, Importer& importer, Compose& c, int64_t heads,
                              Attention& attention) {
  CODL_ASSIGN_OR_RETURN(weights, importer.dims_of(node, attention_inputs::kWeights));
  CODL_ASSIGN_OR_RETURN(widths, read_widths(node, weights.back()));
  if (llvm::Error error = expect_multiple(node, widths[0], heads)) return error;
  if (llvm::Error error = expect_multiple(node, widths[2], heads)) return error;
  Rewrite r(node, importer);
  std::string product =
      r.op("MatMul", {r.input(attention_inputs::kInput), r.input(attention_inputs::kWeights)});
  if (node.has_input(attention_inputs::kBias))
    product = r.op("Add", {product, r.input(attention_inputs::kBias)});
  if (llvm::Error error = r.take_error()) return error;
  const ir::ValueId all = c.named(product);
  ir::ValueId* const values[] = {&attention.query, &attention.key, &attention.value};
  int64_t begin = 0;
  for (size_t i = 0; i < 3; ++i) {
    *values[i] = split_heads(c, c.slice(all, 2, begin, widths[i]), heads);
    begin += widths[i];
  }
  return c.take_error();
}

llvm::Error import_contrib_attention(const OnnxNode& node, Importer& importer) {
  ignore_attributes(node, {"rotary_embedding_dim"});  // says something if do_rotary is 1
  CODL_ASSIGN_OR_RETURN(heads, read_count(node, "num_heads"));
  if (llvm::Error error = expect_zero(node, "do_rotary", "its angles are not documented"))
    return error;
  if (llvm::Error error = expect_zero(node, "past_present_share_buffer", "past and present differ"))
    return error;
  if (llvm::Error error =
          expect_absent(node, attention_inputs::kPastLength, "past_sequence_length"))
    return error;
  if (llvm::Error error = expect_rank(node, importer, attention_inputs::kInput, 3)) return error;
  if (llvm::Error error = expect_rank(node, importer, attention_inputs::kWeights, 2)) return error;
  Attention attention;
  CODL_ASSIGN_OR_RETURN(filter, read_attributes(node, attention));
  Compose c(node, importer);
  if (llvm::Error error = read_packed_heads(node, importer, c, heads, attention)) return error;
  if (is_given(node, importer, attention_inputs::kPast)) {
    if (llvm::Error error = expect_rank(node, importer, attention_inputs::kPast, 5)) return error;
    const ir::ValueId past = c.operand(attention_inputs::kPast);
    const Dims64 dims(c.dims(past).begin() + 1, c.dims(past).end());
    prepend_past(c, c.reshape(c.slice(past, 0, 0, 1), dims),
                 c.reshape(c.slice(past, 0, 1, 1), dims), attention);
  }
  if (llvm::Error error = c.take_error()) return error;
  if (c.has_output(1)) {
    Dims64 dims(c.dims(attention.key).begin(), c.dims(attention.key).end());
    dims.insert(dims.begin(), 1);
    const ir::ValueId present =
        c.concat({c.reshape(attention.key, dims), c.reshape(attention.value, dims)}, 0);
    if (llvm::Error error = c.bind(present, 1)) return error;
  }
  if (llvm::Error error = add_biases(node, importer, c, attention_inputs::kMask,
                                     attention_inputs::kAttentionBias, filter, attention))
    return error;
  return bind_attended(node, c, attention);
}

// ---- MultiHeadAttention ----

namespace multi_head_inputs {
enum : size_t {
  kQuery,
  kKey,
  kValue,
  kBias,
  kMask,
  kAttentionBias,
  kPastKey,
  kPastValue,
  kPastLength,
  kCacheIndirection
};
}

// Takes matrix `place` of x[batch, length, heads, places, size]: [batch, length, heads * size].
ir::ValueId unpacked(Compose& c, ir::ValueId x, int64_t place) {
  const Dims64 dims(c.dims(x).begin(), c.dims(x).end());
  return c.reshape(c.slice(x, 3, place, 1), {dims[0], dims[1], dims[2] * dims[4]});
}

// Sets Q, K and V. Each is [batch, length, heads * size] in the model, or a part of a packed
// operand; K and V may be as attend() takes them.
llvm::Error read_multi_heads(const OnnxNode& node, Importer& importer, Compose& c, int64_t heads,
                             Attention& attention) {
  ir::ValueId parts[3] = {};
  CODL_ASSIGN_OR_RETURN(query, importer.dims_of(node, multi_head_inputs::kQuery));
  const bool has_key = node.has_input(multi_head_inputs::kKey);
  const bool has_value = node.has_input(multi_head_inputs::kValue);
  Dims64 key;
  if (has_key) {
    CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, multi_head_inputs::kKey));
    key.assign(dims.begin(), dims.end());
  }
  bool has_heads = false;  // true if K and V are [batch, heads, length, size]
  if (!has_key && !has_value && query.size() == 5 && query[2] == heads && query[3] == 3) {
    const ir::ValueId all = c.operand(multi_head_inputs::kQuery);
    for (int64_t i = 0; i < 3; ++i) parts[i] = unpacked(c, all, i);
  } else if (query.size() == 3 && !has_value && key.size() == 5 && key[2] == heads && key[3] == 2) {
    parts[0] = c.operand(multi_head_inputs::kQuery);
    const ir::ValueId all = c.operand(multi_head_inputs::kKey);
    for (int64_t i = 0; i < 2; ++i) parts[1 + i] = unpacked(c, all, i);
  } else if (query.size() == 3 && has_value && (key.size() == 3 || key.size() == 4)) {
    if (llvm::Error error = expect_rank(node, importer, multi_head_inputs::kValue, key.size()))
      return error;
    for (size_t i = 0; i < 3; ++i) parts[i] = c.operand(i);
    has_heads = key.size() == 4;
  } else {
    return unsupported_error(node.name,
                             "expected Q, K and V of rank 3, K and V of rank 4, or packed ones of "
                             "rank 5, found others");
  }
  if (llvm::Error error = c.take_error()) return error;
  ir::ValueId* const values[] = {&attention.query, &attention.key, &attention.value};
  const ir::ValueId bias =
      node.has_input(multi_head_inputs::kBias) ? c.operand(multi_head_inputs::kBias) : ir::kNoId;
  int64_t begin = 0;
  for (size_t i = 0; i < 3; ++i) {
    ir::ValueId x = parts[i];
    if (i > 0 && has_heads) {
      if (bias != ir::kNoId)
        return input_error(node.name, "expected no bias with K of rank 4, found '{0}'",
                           node.inputs[multi_head_inputs::kBias]);
      *values[i] = x;
      continue;
    }
    const int64_t width = c.dims(x)[2];
    if (llvm::Error error = expect_multiple(node, width, heads)) return error;
    if (bias != ir::kNoId && !has_heads) x = c.add(x, c.slice(bias, 0, begin, width));
    begin += width;
    *values[i] = split_heads(c, x, heads);
  }
  return c.take_error();
}

llvm::Error import_multi_head_attention(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(heads, read_count(node, "num_heads"));
  for (const auto& [i, what] :
       {std::make_pair(multi_head_inputs::kPastLength, "past_sequence_length"),
        std::make_pair(multi_head_inputs::kCacheIndirection, "cache_indirection")})
    if (llvm::Error error = expect_absent(node, i, what)) return error;
  Attention attention;
  CODL_ASSIGN_OR_RETURN(filter, read_attributes(node, attention));
  Compose c(node, importer);
  if (llvm::Error error = expect_no_output(node, c, 3, "products")) return error;
  if (llvm::Error error = read_multi_heads(node, importer, c, heads, attention)) return error;
  if (node.has_input(multi_head_inputs::kPastKey) != node.has_input(multi_head_inputs::kPastValue))
    return input_error(node.name, "expected past_key and past_value together, found one");
  if (is_given(node, importer, multi_head_inputs::kPastKey))
    prepend_past(c, c.operand(multi_head_inputs::kPastKey),
                 c.operand(multi_head_inputs::kPastValue), attention);
  if (c.has_output(1))
    if (llvm::Error error = c.bind(attention.key, 1)) return error;
  if (c.has_output(2))
    if (llvm::Error error = c.bind(attention.value, 2)) return error;
  if (llvm::Error error = add_biases(node, importer, c, multi_head_inputs::kMask,
                                     multi_head_inputs::kAttentionBias, filter, attention))
    return error;
  return bind_attended(node, c, attention);
}

}  // namespace

llvm::ArrayRef<ImportEntry> contrib_attention_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"Attention", kContribVersion, kContribVersion, import_contrib_attention, kContribDomain},
      {"MultiHeadAttention", kContribVersion, kContribVersion, import_multi_head_attention,
       kContribDomain},
  };
  return kEntries;
}

}  // namespace codl::compiler
