// Imports GroupQueryAttention and RotaryEmbedding of domain com.microsoft: attention of language
// models, with a cache of the past keys and values. ONNX Runtime's ContribOperators.md defines
// them.
#include <algorithm>

#include "compiler/frontend/graph/attend.h"
#include "compiler/frontend/graph/expect.h"
#include "compiler/frontend/graph/rewrite.h"
#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

// ---- RotaryEmbedding ----

// Returns x[batch, length, heads * size] with its pairs turned. Positions are [batch, length].
std::string rotated(Rewrite& r, std::string x, std::string positions, std::string cosines,
                    std::string sines, int64_t heads, int64_t turned, bool is_interleaved) {
  return r.op(
      "RotaryEmbedding", {std::move(x), std::move(cosines), std::move(sines), std::move(positions)},
      {Rewrite::attribute("interleaved", int64_t{is_interleaved}),
       Rewrite::attribute("num_heads", heads), Rewrite::attribute("rotary_embedding_dim", turned)});
}

// Returns positions as [batch, length]: the operand's, or counted from the one that it has.
llvm::Expected<std::string> positions_of(const OnnxNode& node, Importer& importer, size_t i,
                                         int64_t batch, int64_t length) {
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, i));
  if (dims.size() == 2 && dims[0] == batch && dims[1] == length) return node.inputs[i];
  if (element_count(dims) != 1 || dims.size() != 1)
    return input_error(node.name, "expected positions of dims [1] or [{0}, {1}], found [{2}]",
                       batch, length, llvm::make_range(dims.begin(), dims.end()));
  Compose c(node, importer);
  const ir::ValueId counted = c.add(c.operand_as(i, DType::I64), iota(c, length));
  const ir::ValueId positions = c.expand(c.reshape(counted, {1, length}), {batch, length});
  if (llvm::Error error = c.take_error()) return error;
  return importer.define_value(node, "positions", positions);
}

// Imports RotaryEmbedding(x, positions, cosines, sines). ONNX Runtime does not use `scale`.
llvm::Error import_contrib_rotary_embedding(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(interleaved, node.int_or("interleaved", 0));
  CODL_ASSIGN_OR_RETURN(given_heads, node.int_or("num_heads", 0));
  CODL_ASSIGN_OR_RETURN(rotary_dim, node.int_or("rotary_embedding_dim", 0));
  CODL_ASSIGN_OR_RETURN(scale, node.float_or("scale", 1.0f));
  if (scale != 1)
    return unsupported_error(node.name, "expected scale 1, found {0}: its use is not documented",
                             scale);
  if (llvm::Error error = expect_zero(node, "is_packed_batching", "lengths differ in a batch"))
    return error;
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(cache, importer.dims_of(node, 2));
  if ((dims.size() != 3 && dims.size() != 4) || cache.size() != 2)
    return input_error(node.name, "expected x of rank 3 or 4 and cosines of rank 2, found {0}, {1}",
                       dims.size(), cache.size());
  const bool has_heads = dims.size() == 4;
  const int64_t length = has_heads ? dims[2] : dims[1];
  CODL_ASSIGN_OR_RETURN(positions, positions_of(node, importer, 1, dims[0], length));
  const int64_t turned = rotary_dim != 0 ? rotary_dim : 2 * cache[1];
  int64_t heads = given_heads;
  if (!has_heads && heads == 0 && turned > 0) heads = dims[2] / turned;
  Rewrite r(node, importer);
  return r.bind(
      "RotaryEmbedding", {r.input(0), r.input(2), r.input(3), positions},
      {Rewrite::attribute("interleaved", interleaved), Rewrite::attribute("num_heads", heads),
       Rewrite::attribute("rotary_embedding_dim", turned)});
}

// ---- GroupQueryAttention ----

namespace gqa {
enum : size_t {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kLastKeys,
  kTotal,
  kCosines,
  kSines,
  kPositions,
  kAttentionBias,
  kSink,
  kKeyScale,
  kValueScale,
  kQueryNorm,
  kKeyNorm,
  kQueryLengths
};
}

struct QueryGroups {
  int64_t heads = 0;
  int64_t key_heads = 0;
  int64_t batch = 0;
  int64_t length = 0;        // counts what is new
  int64_t past_length = 0;   // counts the keys of the cache that is given
  int64_t cache_length = 0;  // counts those of the one that is returned
  // True if nothing is past, whatever the cache holds.
  bool is_first = false;
  // Has the count of past keys if it is the same for the batch and known now.
  std::optional<int64_t> known_past;
};

llvm::Error refuse_other_caches(const OnnxNode& node) {
  ignore_attributes(node, {"kv_cache_bit_width", "qk_output"});
  if (llvm::Error error = expect_zero(node, "sliding_window_cache", "the cache moves"))
    return error;
  for (llvm::StringRef attribute : {"k_quant_type", "v_quant_type"}) {
    CODL_ASSIGN_OR_RETURN(kind, node.string_or(attribute, "NONE"));
    if (kind != "NONE")
      return unsupported_error(node.name, "expected {0} NONE, found '{1}'", attribute, kind);
  }
  for (const auto& [i, what] :
       {std::make_pair(gqa::kKeyScale, "k_scale"), std::make_pair(gqa::kValueScale, "v_scale"),
        std::make_pair(gqa::kQueryLengths, "query_seqlens")})
    if (llvm::Error error = expect_absent(node, i, what)) return error;
  return llvm::Error::success();
}

// Finds the lengths. The total length says how long the cache is that is returned: the larger of it
// and of what is given.
llvm::Error read_lengths(const OnnxNode& node, Importer& importer, QueryGroups& groups) {
  CODL_ASSIGN_OR_RETURN(last_keys, importer.dims_of(node, gqa::kLastKeys));
  if (element_count(last_keys) != groups.batch)
    return input_error(node.name, "expected {0} lengths in seqlens_k, found {1}", groups.batch,
                       element_count(last_keys));
  CODL_ASSIGN_OR_RETURN(total, known_ints(node, importer, gqa::kTotal));
  const auto declared = importer.declared_dims(node, 1);
  if (total && total->size() != 1)
    return input_error(node.name, "expected one total_sequence_length, found {0}", total->size());
  if (groups.past_length == 0) {
    groups.is_first = true;
    groups.cache_length = groups.length;
    if (total && (*total)[0] != groups.length)
      return input_error(node.name, "expected total_sequence_length {0} without past, found {1}",
                         groups.length, (*total)[0]);
  } else if (total) {
    groups.is_first = (*total)[0] == groups.length;
    groups.cache_length = std::max((*total)[0], groups.past_length);
  } else if (declared && declared->size() == 4 && (*declared)[2] >= groups.past_length) {
    groups.cache_length = (*declared)[2];
  } else {
    return needs_constant(node, importer, gqa::kTotal, "total_sequence_length");
  }
  if (groups.cache_length < groups.length || groups.cache_length > kMaxDim)
    return input_error(node.name, "expected a cache of {0} to {1} keys, found {2}", groups.length,
                       kMaxDim, groups.cache_length);
  if (groups.is_first) {
    groups.known_past = 0;
    return llvm::Error::success();
  }
  CODL_ASSIGN_OR_RETURN(known, known_ints(node, importer, gqa::kLastKeys));
  if (known && llvm::all_of(*known, [&](int64_t keys) { return keys == known->front(); }))
    groups.known_past = std::max<int64_t>((*known)[0] + 1 - groups.length, 0);
  if (groups.known_past && *groups.known_past > groups.past_length)
    return input_error(node.name, "expected at most {0} past keys, found {1}", groups.past_length,
                       *groups.known_past);
  return llvm::Error::success();
}

// Returns the number of past keys per element of the batch, [batch or 1, 1, 1, 1].
ir::ValueId past_keys(Compose& c, const QueryGroups& groups) {
  if (groups.known_past) return c.ints({*groups.known_past}, {1, 1, 1, 1});
  const ir::ValueId last = along(c, c.operand_as(gqa::kLastKeys, DType::I64), 0, 4);
  const ir::ValueId past = c.sub(last, int_scalar(c, groups.length - 1));
  return c.binary(kBinaryMax, past, int_scalar(c, 0));
}

// Sets Q, K and V as [batch, length, heads * size].
llvm::Error read_parts(const OnnxNode& node, Importer& importer, Compose& c,
                       const QueryGroups& groups, ir::ValueId (&parts)[3]) {
  const ir::ValueId query = c.operand(gqa::kQuery);
  if (node.has_input(gqa::kKey) != node.has_input(gqa::kValue))
    return input_error(node.name, "expected key and value together, found one");
  if (node.has_input(gqa::kKey)) {
    for (size_t i = 0; i < 3; ++i) {
      if (llvm::Error error = expect_rank(node, importer, i, 3)) return error;
      parts[i] = c.operand(i);
    }
    if (llvm::Error error = c.take_error()) return error;
    if (llvm::Error error = expect_multiple(node, c.dims(query)[2], groups.heads)) return error;
    for (size_t i = 1; i < 3; ++i)
      if (c.dims(parts[i])[2] * groups.heads != c.dims(query)[2] * groups.key_heads ||
          c.dims(parts[i])[1] != groups.length)
        return input_error(node.name, "expected K and V of {0} heads that fit Q, found {1}",
                           groups.key_heads, ir::to_string(c.type(parts[i])));
    return llvm::Error::success();
  }
  if (llvm::Error error = c.take_error()) return error;
  const int64_t heads = groups.heads + 2 * groups.key_heads;
  if (llvm::Error error = expect_multiple(node, c.dims(query)[2], heads)) return error;
  const int64_t size = c.dims(query)[2] / heads;
  const int64_t widths[] = {groups.heads * size, groups.key_heads * size, groups.key_heads * size};
  int64_t begin = 0;
  for (size_t i = 0; i < 3; ++i) {
    parts[i] = c.slice(query, 2, begin, widths[i]);
    begin += widths[i];
  }
  return c.take_error();
}

// Normalises every head of Q and K.
llvm::Error normalize_heads(const OnnxNode& node, Importer& importer, Compose& c,
                            const QueryGroups& groups, ir::ValueId (&parts)[3]) {
  CODL_ASSIGN_OR_RETURN(shared, node.float_or("qk_norm_epsilon", 1e-6f));
  CODL_ASSIGN_OR_RETURN(query_epsilon, node.float_or("q_norm_epsilon", shared));
  CODL_ASSIGN_OR_RETURN(key_epsilon, node.float_or("k_norm_epsilon", shared));
  for (size_t i = 0; i < 2; ++i) {
    if (!node.has_input(gqa::kQueryNorm + i)) continue;
    const int64_t heads = i == 0 ? groups.heads : groups.key_heads;
    const Dims64 dims(c.dims(parts[i]).begin(), c.dims(parts[i]).end());
    const ir::ValueId split = c.reshape(parts[i], {dims[0], dims[1], heads, dims[2] / heads});
    if (llvm::Error error = c.take_error()) return error;
    Rewrite r(node, importer);
    const std::string y =
        r.op("RMSNormalization",
             {importer.define_value(node, "head", split), r.input(gqa::kQueryNorm + i)},
             {Rewrite::attribute("axis", int64_t{-1}),
              Rewrite::attribute("epsilon", i == 0 ? query_epsilon : key_epsilon)});
    if (llvm::Error error = r.take_error()) return error;
    parts[i] = c.reshape(c.named(y), dims);
  }
  return c.take_error();
}

// Turns Q and K by their positions, those of the operand or the places in the cache.
llvm::Error rotate_heads(const OnnxNode& node, Importer& importer, Compose& c,
                         const QueryGroups& groups, ir::ValueId past, ir::ValueId (&parts)[3]) {
  CODL_ASSIGN_OR_RETURN(do_rotary, node.int_or("do_rotary", 0));
  CODL_ASSIGN_OR_RETURN(interleaved, node.int_or("rotary_interleaved", 0));
  if (do_rotary == 0) return llvm::Error::success();
  if (!node.has_input(gqa::kCosines) || !node.has_input(gqa::kSines))
    return input_error(node.name, "expected cosines and sines with do_rotary, found none");
  if (llvm::Error error = expect_rank(node, importer, gqa::kCosines, 2)) return error;
  CODL_ASSIGN_OR_RETURN(cache, importer.dims_of(node, gqa::kCosines));
  std::string positions;
  if (node.has_input(gqa::kPositions)) {
    CODL_ASSIGN_OR_RETURN(
        given, positions_of(node, importer, gqa::kPositions, groups.batch, groups.length));
    positions = given;
  } else {
    const ir::ValueId counted =
        c.add(c.reshape(past, {c.dims(past)[0], 1}), along(c, iota(c, groups.length), 1, 2));
    const ir::ValueId all = c.expand(counted, {groups.batch, groups.length});
    if (llvm::Error error = c.take_error()) return error;
    positions = importer.define_value(node, "positions", all);
  }
  Rewrite r(node, importer);
  for (size_t i = 0; i < 2; ++i) {
    const std::string y =
        rotated(r, importer.define_value(node, "part", parts[i]), positions, r.input(gqa::kCosines),
                r.input(gqa::kSines), i == 0 ? groups.heads : groups.key_heads, 2 * cache[1],
                interleaved != 0);
    if (llvm::Error error = r.take_error()) return error;
    parts[i] = c.named(y);
  }
  return c.take_error();
}

// Returns the cache with the new keys (or values) written behind the past ones.
llvm::Expected<ir::ValueId> written_cache(const OnnxNode& node, Importer& importer, Compose& c,
                                          const QueryGroups& groups, size_t operand,
                                          ir::ValueId past, ir::ValueId added) {
  if (groups.past_length == 0) return added;
  ir::ValueId cache = c.operand(operand);
  if (c.rank(cache) != 4)
    return input_error(node.name, "expected a cache of rank 4, found {0}", c.rank(cache));
  if (groups.known_past) {
    const int64_t behind = *groups.known_past + groups.length;
    llvm::SmallVector<ir::ValueId, 3> parts;
    if (*groups.known_past > 0) parts.push_back(c.slice(cache, 2, 0, *groups.known_past));
    parts.push_back(added);
    if (behind < groups.past_length)
      parts.push_back(c.slice(cache, 2, behind, groups.past_length - behind));
    ir::ValueId all = parts.size() == 1 ? added : c.concat(parts, 2);
    const int64_t missing = groups.cache_length - c.dims(all)[2];
    return missing <= 0 ? all : c.pad(all, {0, 0, 0, 0}, {0, 0, missing, 0});
  }
  if (groups.cache_length > groups.past_length)
    cache = c.pad(cache, {0, 0, 0, 0}, {0, 0, groups.cache_length - groups.past_length, 0});
  const ir::ValueId index = c.reshape(past, {groups.batch});
  if (llvm::Error error = c.take_error()) return error;
  Rewrite r(node, importer);
  const std::string y = r.op(
      "TensorScatter",
      {importer.define_value(node, "cache", cache), importer.define_value(node, "added", added),
       importer.define_value(node, "index", index)},
      {Rewrite::attribute("axis", int64_t{2})});
  if (llvm::Error error = r.take_error()) return error;
  return c.named(y);
}

llvm::Error read_group_attributes(const OnnxNode& node, Compose& c, const QueryGroups& groups,
                                  Attention& attention) {
  CODL_ASSIGN_OR_RETURN(scale, node.float_or("scale", 0.0f));
  CODL_ASSIGN_OR_RETURN(softcap, node.float_or("softcap", 0.0f));
  CODL_ASSIGN_OR_RETURN(is_causal, node.int_or("causal", 1));
  CODL_ASSIGN_OR_RETURN(window, node.int_or("local_window_size", -1, IntegerUse::Bound));
  CODL_ASSIGN_OR_RETURN(is_smooth, node.int_or("smooth_softmax", 0));
  if (window == 0 || window < -1)
    return input_error(node.name, "expected a local_window_size of 1 or more, found {0}", window);
  attention.scale = scale;
  attention.softcap = softcap;
  attention.is_causal = is_causal != 0;
  attention.left_window = window < 0 ? -1 : window - 1;  // it counts the query's own key
  if (node.has_input(gqa::kSink))
    attention.sink = c.operand(gqa::kSink);
  else if (is_smooth != 0)
    attention.sink = c.filled(DType::F32, 0, {groups.heads});
  return llvm::Error::success();
}

llvm::Error import_group_query_attention(const OnnxNode& node, Importer& importer) {
  if (llvm::Error error = refuse_other_caches(node)) return error;
  QueryGroups groups;
  CODL_ASSIGN_OR_RETURN(heads, read_count(node, "num_heads"));
  CODL_ASSIGN_OR_RETURN(key_heads, read_count(node, "kv_num_heads"));
  if (llvm::Error error = expect_rank(node, importer, gqa::kQuery, 3)) return error;
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, gqa::kQuery));
  groups.heads = heads;
  groups.key_heads = key_heads;
  groups.batch = dims[0];
  groups.length = dims[1];
  if (node.has_input(gqa::kPastKey) != node.has_input(gqa::kPastValue))
    return input_error(node.name, "expected past_key and past_value together, found one");
  if (node.has_input(gqa::kPastKey)) {
    if (llvm::Error error = expect_rank(node, importer, gqa::kPastKey, 4)) return error;
    CODL_ASSIGN_OR_RETURN(past_dims, importer.dims_of(node, gqa::kPastKey));
    groups.past_length = past_dims[2];
  }
  if (llvm::Error error = read_lengths(node, importer, groups)) return error;

  Compose c(node, importer);
  if (llvm::Error error = expect_no_output(node, c, 3, "products")) return error;
  ir::ValueId parts[3] = {};
  if (llvm::Error error = read_parts(node, importer, c, groups, parts)) return error;
  if (llvm::Error error = normalize_heads(node, importer, c, groups, parts)) return error;
  const ir::ValueId past = past_keys(c, groups);
  if (llvm::Error error = rotate_heads(node, importer, c, groups, past, parts)) return error;

  Attention attention;
  if (llvm::Error error = read_group_attributes(node, c, groups, attention)) return error;
  attention.query = split_heads(c, parts[0], groups.heads);
  attention.key = split_heads(c, parts[1], groups.key_heads);
  attention.value = split_heads(c, parts[2], groups.key_heads);
  CODL_ASSIGN_OR_RETURN(
      keys, written_cache(node, importer, c, groups, gqa::kPastKey, past, attention.key));
  CODL_ASSIGN_OR_RETURN(
      all_values, written_cache(node, importer, c, groups, gqa::kPastValue, past, attention.value));
  if (c.has_output(1))
    if (llvm::Error error = c.bind(keys, 1)) return error;
  if (c.has_output(2))
    if (llvm::Error error = c.bind(all_values, 2)) return error;
  if (!groups.is_first) {
    attention.key = keys;
    attention.value = all_values;
    attention.first_query = past;
  }
  // No query of causal attention sees what the cache has behind it.
  if (!attention.is_causal)
    attention.valid_keys =
        c.add(along(c, c.operand_as(gqa::kLastKeys, DType::I64), 0, 4), int_scalar(c, 1));
  if (node.has_input(gqa::kAttentionBias)) {
    if (llvm::Error error = expect_rank(node, importer, gqa::kAttentionBias, 4)) return error;
    attention.bias = c.operand(gqa::kAttentionBias);
  }
  CODL_ASSIGN_OR_RETURN(attended, attend(node, c, attention));
  return c.bind(join_heads(c, attended.y));
}

}  // namespace

llvm::ArrayRef<ImportEntry> contrib_query_group_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"GroupQueryAttention", kContribVersion, kContribVersion, import_group_query_attention,
       kContribDomain},
      {"RotaryEmbedding", kContribVersion, kContribVersion, import_contrib_rotary_embedding,
       kContribDomain},
  };
  return kEntries;
}

}  // namespace codl::compiler
