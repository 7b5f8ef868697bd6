// Imports operators of domain com.microsoft, which ONNX Runtime's optimiser leaves in a float model
// that it saves (SessionOptions.optimized_model_filepath). Each is a few operators of ONNX; ONNX
// Runtime's ContribOperators.md defines them.
#include <algorithm>

#include "compiler/frontend/graph/expect.h"
#include "compiler/frontend/graph/rewrite.h"
#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

using Names = Rewrite::Names;
using Attributes = Rewrite::Attributes;

// ---- an activation after a Conv or Gemm ----

// Holds ONNX's activations with float attributes, in the order of activation_params.
struct FusedActivation {
  llvm::StringRef op_type;
  std::initializer_list<llvm::StringRef> parameters;
};
const FusedActivation kFusedActivations[] = {
    {"Relu", {}},
    {"Tanh", {}},
    {"Sigmoid", {}},
    {"Softplus", {}},
    {"Softsign", {}},
    {"LeakyRelu", {"alpha"}},
    {"Elu", {"alpha"}},
    {"ThresholdedRelu", {"alpha"}},
    {"HardSigmoid", {"alpha", "beta"}},
    {"Selu", {"alpha", "gamma"}},
    {"Clip", {"min", "max"}},
};

llvm::Expected<const FusedActivation*> activation_of(const OnnxNode& node) {
  CODL_ASSIGN_OR_RETURN(name, node.string_or("activation", ""));
  for (const FusedActivation& activation : kFusedActivations)
    if (activation.op_type == name) return &activation;
  return unsupported_error(node.name, "expected an activation that codl knows, found '{0}'", name);
}

// Binds the output to the activation of `x`. `parameters` has at most as many as the activation
// takes.
llvm::Error bind_activation(Rewrite& r, const FusedActivation& activation, const std::string& x,
                            llvm::ArrayRef<std::pair<llvm::StringRef, float>> parameters) {
  if (activation.op_type != "Clip") {
    Attributes attributes;
    for (const auto& [name, value] : parameters)
      attributes.push_back(Rewrite::attribute(name, value));
    return r.bind(activation.op_type, {x}, std::move(attributes));
  }
  Names inputs = {x};  // its bounds are operands
  for (const auto& [name, value] : parameters) inputs.push_back(r.scalar(value));
  return r.bind("Clip", std::move(inputs));
}

Attributes conv_attributes(const OnnxNode& node) {
  return Rewrite::taken(node,
                        {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
}

// Imports activation(Conv(x, w, bias) + z).
llvm::Error import_conv_activation(const OnnxNode& node, Importer& importer, bool is_nhwc) {
  const FusedActivation* activation = nullptr;
  std::vector<std::pair<llvm::StringRef, float>> parameters;
  if (!is_nhwc || node.find("activation") != nullptr) {
    CODL_ASSIGN_OR_RETURN(found, activation_of(node));
    activation = found;
    if (const OnnxAttribute* given = node.find("activation_params")) {
      if (given->type != OnnxAttribute::Type::Floats ||
          given->floats.size() != activation->parameters.size())
        return input_error(node.name, "expected {0} activation_params of {1}, found others",
                           activation->parameters.size(), activation->op_type);
      for (size_t i = 0; i < given->floats.size(); ++i)
        parameters.push_back({activation->parameters.begin()[i], given->floats[i]});
    }
  }
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  Rewrite r(node, importer);
  const std::string x = is_nhwc ? with_channels_first(r, r.input(0), dims.size()) : r.input(0);
  std::string y = r.op("Conv", {x, r.input(1), r.input(2)}, conv_attributes(node));
  if (is_nhwc) y = with_channels_last(r, y, dims.size());
  if (node.has_input(3)) y = r.op("Add", {y, r.input(3)});
  if (activation == nullptr) return r.bind("Identity", {y});
  return bind_activation(r, *activation, y, parameters);
}

llvm::Error import_fused_conv(const OnnxNode& node, Importer& importer) {
  return import_conv_activation(node, importer, /*is_nhwc=*/false);
}

llvm::Error import_nhwc_fused_conv(const OnnxNode& node, Importer& importer) {
  return import_conv_activation(node, importer, /*is_nhwc=*/true);
}

// Has the channels last in x and in the weights, as ONNX Runtime's tool for diffusion models writes
// it.
llvm::Error import_nhwc_conv(const OnnxNode& node, Importer& importer) {
  for (size_t i = 0; i < 2; ++i)
    if (llvm::Error error = expect_rank(node, importer, i, 4)) return error;
  Rewrite r(node, importer);
  const std::string y = r.op(
      "Conv",
      {with_channels_first(r, r.input(0), 4), with_channels_first(r, r.input(1), 4), r.input(2)},
      conv_attributes(node));
  return r.bind("Transpose", {y}, {Rewrite::attribute("perm", std::vector<int64_t>{0, 2, 3, 1})});
}

llvm::Error import_fused_gemm(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(activation, activation_of(node));
  std::vector<std::pair<llvm::StringRef, float>> parameters;
  for (llvm::StringRef name : {"alpha", "beta", "gamma"}) {
    const std::string attribute = "activation_" + name.str();
    if (node.find(attribute) == nullptr) continue;
    CODL_ASSIGN_OR_RETURN(value, node.float_or(attribute, 0.0f));
    if (llvm::is_contained(activation->parameters, name)) parameters.push_back({name, value});
  }
  Rewrite r(node, importer);
  const std::string y = r.op("Gemm", {r.input(0), r.input(1), r.input(2)},
                             Rewrite::taken(node, {"alpha", "beta", "transA", "transB"}));
  return bind_activation(r, *activation, y, parameters);
}

// ---- matrices ----

struct FusedMatMul {
  float alpha = 1;
  bool is_transposed[2] = {};  // A, B: swaps the last two dims
  bool is_batch[2] = {};       // A, B: moves dim 0 before the last dim
};

llvm::Expected<FusedMatMul> read_fused_matmul(const OnnxNode& node) {
  FusedMatMul fused;
  CODL_ASSIGN_OR_RETURN(alpha, node.float_or("alpha", 1.0f));
  CODL_ASSIGN_OR_RETURN(is_a_transposed, node.int_or("transA", 0));
  CODL_ASSIGN_OR_RETURN(is_b_transposed, node.int_or("transB", 0));
  CODL_ASSIGN_OR_RETURN(is_a_batch, node.int_or("transBatchA", 0));
  CODL_ASSIGN_OR_RETURN(is_b_batch, node.int_or("transBatchB", 0));
  fused.alpha = alpha;
  fused.is_transposed[0] = is_a_transposed != 0;
  fused.is_transposed[1] = is_b_transposed != 0;
  fused.is_batch[0] = is_a_batch != 0;
  fused.is_batch[1] = is_b_batch != 0;
  return fused;
}

// Returns operand `i` as MatMul takes it. A vector is never transposed.
llvm::Expected<std::string> matmul_operand(const OnnxNode& node, Importer& importer, Rewrite& r,
                                           const FusedMatMul& fused, size_t i) {
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, i));
  const int64_t rank = static_cast<int64_t>(dims.size());
  if (rank < 2 || (!fused.is_transposed[i] && !fused.is_batch[i])) return r.input(i);
  std::vector<int64_t> perm;
  for (int64_t dim = 0; dim < rank; ++dim) perm.push_back(dim);
  if (fused.is_batch[i]) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (fused.is_transposed[i]) std::swap(perm[rank - 2], perm[rank - 1]);
  return r.op("Transpose", {r.input(i)}, {Rewrite::attribute("perm", std::move(perm))});
}

// Returns true if BatchMatMul transposes the operands itself. Constant weights are packed instead.
llvm::Expected<bool> is_batch_matmul(const OnnxNode& node, Importer& importer,
                                     const FusedMatMul& fused) {
  for (size_t i = 0; i < 2; ++i) {
    CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, i));
    if (fused.is_batch[i] || dims.size() < 2 || element_count(dims) == 0) return false;
  }
  return (fused.is_transposed[0] || fused.is_transposed[1]) && !importer.is_constant(node, 1);
}

// Computes alpha * A B, each possibly transposed before.
llvm::Error import_fused_matmul(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(fused, read_fused_matmul(node));
  CODL_ASSIGN_OR_RETURN(transposes_itself, is_batch_matmul(node, importer, fused));
  if (transposes_itself) {
    Compose c(node, importer);
    const BatchMatMulParams params = {fused.is_transposed[0] ? 1 : 0,
                                      fused.is_transposed[1] ? 1 : 0};
    const ir::ValueId a = c.operand(0);
    const ir::ValueId product = c.node(OpKind::BatchMatMul, params, {a, c.operand(1)});
    if (fused.alpha == 1) return c.bind(product);
    return c.bind(c.mul(product, c.scalar(DType::F32, fused.alpha)));
  }
  Rewrite r(node, importer);
  CODL_ASSIGN_OR_RETURN(a, matmul_operand(node, importer, r, fused, 0));
  CODL_ASSIGN_OR_RETURN(b, matmul_operand(node, importer, r, fused, 1));
  if (fused.alpha == 1) return r.bind("MatMul", {a, b});
  return r.bind("Mul", {r.op("MatMul", {a, b}), r.scalar(fused.alpha)});
}

// ---- functions ----

// Computes Gelu of x, or of x + bias.
llvm::Error bind_gelu(const OnnxNode& node, Importer& importer, llvm::StringRef approximate) {
  Rewrite r(node, importer);
  const std::string x = node.has_input(1) ? r.op("Add", {r.input(0), r.input(1)}) : r.input(0);
  return r.bind("Gelu", {x}, {Rewrite::attribute("approximate", approximate)});
}

llvm::Error import_contrib_gelu(const OnnxNode& node, Importer& importer) {
  return bind_gelu(node, importer, "none");
}

llvm::Error import_fast_gelu(const OnnxNode& node, Importer& importer) {
  return bind_gelu(node, importer, "tanh");
}

// Imports x * sigmoid(alpha * x).
llvm::Error import_quick_gelu(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(alpha, node.float_or("alpha", 1.702f));
  Rewrite r(node, importer);
  return r.bind("Swish", {r.input(0)}, {Rewrite::attribute("alpha", alpha)});
}

// Imports left * Gelu(right), the halves of x + bias.
llvm::Error import_bias_split_gelu(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  if (dims.empty() || dims.back() % 2 != 0)
    return input_error(node.name, "expected an even last dim, found dims [{0}]",
                       llvm::make_range(dims.begin(), dims.end()));
  Rewrite r(node, importer);
  const std::string x = r.op("Add", {r.input(0), r.input(1)});
  const std::string last = r.ints({-1});
  const std::string middle = r.ints({dims.back() / 2});
  const std::string left = r.op("Slice", {x, r.ints({0}), middle, last});
  const std::string right = r.op("Slice", {x, middle, r.ints({dims.back()}), last});
  return r.bind("Mul", {left, r.op("Gelu", {right})});
}

// Imports x + bias + skip.
llvm::Error import_bias_add(const OnnxNode& node, Importer& importer) {
  Rewrite r(node, importer);
  return r.bind("Add", {r.op("Add", {r.input(0), r.input(1)}), r.input(2)});
}

// Computes softmax(x + bias) over the axes from `axis` on. The bias's dims decide how it
// broadcasts.
llvm::Error import_bias_softmax(const OnnxNode& node, Importer& importer) {
  ignore_attributes(node, {"is_inner_broadcast"});
  CODL_ASSIGN_OR_RETURN(axis_attribute, node.int_or("axis", 1));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(axis, normalized_axis(node, axis_attribute, dims.size()));
  if (axis + 1 != static_cast<int64_t>(dims.size()))
    return unsupported_error(node.name, "expected the last axis, found {0}", axis_attribute);
  Rewrite r(node, importer);
  return r.bind("Softmax", {r.op("Add", {r.input(0), r.input(1)})},
                {Rewrite::attribute("axis", int64_t{-1})});
}

// ---- normalisation ----

bool has_output(const OnnxNode& node, size_t i) {
  return i < node.outputs.size() && !node.outputs[i].empty();
}

// Returns input + skip + bias, which is output 3.
llvm::Expected<std::string> skip_sum(const OnnxNode& node, Importer& importer, Rewrite& r,
                                     size_t bias) {
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(skip_dims, importer.dims_of(node, 1));
  if (skip_dims.size() > dims.size())
    return input_error(node.name, "expected a skip of rank {0} or less, found {1}", dims.size(),
                       skip_dims.size());
  std::string sum = r.op("Add", {r.input(0), r.input(1)});
  if (node.has_input(bias)) sum = r.op("Add", {sum, r.input(bias)});
  if (llvm::Error error = r.take_error()) return error;
  importer.bind_name(node, 3, sum);
  return sum;
}

// This is ONNX Runtime's kDefaultSkipLayerNormEpsilon.
constexpr float kSkipEpsilon = 1e-12f;

Attributes normalization(float epsilon) {
  return {Rewrite::attribute("axis", int64_t{-1}), Rewrite::attribute("epsilon", epsilon)};
}

// Imports SkipLayerNormalization(input, skip, gamma, beta, bias) -> y, mean, 1 / deviation, sum.
llvm::Error import_skip_layer_normalization(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(epsilon, node.float_or("epsilon", kSkipEpsilon));
  Rewrite r(node, importer);
  CODL_ASSIGN_OR_RETURN(sum, skip_sum(node, importer, r, 4));
  const Names results =
      r.ops("LayerNormalization", {sum, r.input(2), r.input(3)}, normalization(epsilon), 3);
  if (llvm::Error error = r.take_error()) return error;
  for (size_t i = 0; i < results.size(); ++i) importer.bind_name(node, i, results[i]);
  return llvm::Error::success();
}

// Imports SkipSimplifiedLayerNormalization(input, skip, gamma, bias) -> y, -, -, sum.
llvm::Error import_skip_rms_normalization(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(epsilon, node.float_or("epsilon", kSkipEpsilon));
  Rewrite r(node, importer);
  CODL_ASSIGN_OR_RETURN(sum, skip_sum(node, importer, r, 3));
  return r.bind("RMSNormalization", {sum, r.input(2)}, normalization(epsilon));
}

// ONNX Runtime writes it into ONNX's own domain, because it is older than RMSNormalization.
// SimplifiedLayerNormalization(x, scale) -> y, 1 / sqrt(mean(x^2) + epsilon)
llvm::Error import_simplified_layer_normalization(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(epsilon, node.float_or("epsilon", 1e-5f));
  CODL_ASSIGN_OR_RETURN(axis, node.int_or("axis", -1));
  ignore_attributes(node, {"stash_type"});
  Rewrite r(node, importer);
  if (has_output(node, 1)) {
    CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
    CODL_ASSIGN_OR_RETURN(first, normalized_axis(node, axis, dims.size()));
    std::vector<int64_t> axes;
    for (int64_t i = first; i < static_cast<int64_t>(dims.size()); ++i) axes.push_back(i);
    const std::string square = r.op("Mul", {r.input(0), r.input(0)});
    const std::string mean = r.op("ReduceMean", {square, r.ints(axes)});
    const std::string deviation = r.op("Sqrt", {r.op("Add", {mean, r.scalar(epsilon)})});
    if (llvm::Error error = r.bind("Reciprocal", {deviation}, {}, 1)) return error;
  }
  return r.bind("RMSNormalization", {r.input(0), r.input(1)},
                {Rewrite::attribute("axis", axis), Rewrite::attribute("epsilon", epsilon)});
}

// Imports EmbedLayerNormalization(words, segments, word table, position table, segment table,
// gamma, beta, mask, positions) -> y, number of words, sum.
llvm::Error import_embed_layer_normalization(const OnnxNode& node, Importer& importer) {
  ignore_attributes(node, {"mask_index_type"});  // says what output 1 is; the operands say it, too
  CODL_ASSIGN_OR_RETURN(epsilon, node.float_or("epsilon", kSkipEpsilon));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
  if (dims.size() != 2)
    return input_error(node.name, "expected words of rank 2, found {0}", dims.size());
  if (node.has_input(1) != node.has_input(4))
    return input_error(node.name, "expected segment_ids and segment_embedding together, found one");
  Rewrite r(node, importer);
  const std::string first = r.ints({0});
  const std::string positions = node.has_input(8)
                                    ? r.op("Gather", {r.input(3), r.input(8)})
                                    : r.op("Slice", {r.input(3), first, r.ints({dims[1]}), first});
  std::string sum = r.op("Add", {r.op("Gather", {r.input(2), r.input(0)}), positions});
  if (node.has_input(1)) sum = r.op("Add", {sum, r.op("Gather", {r.input(4), r.input(1)})});
  const std::string y =
      r.op("LayerNormalization", {sum, r.input(5), r.input(6)}, normalization(epsilon));
  if (llvm::Error error = r.take_error()) return error;
  importer.bind_name(node, 0, y);
  importer.bind_name(node, 2, sum);
  if (!has_output(node, 1)) return llvm::Error::success();
  if (node.has_input(7))
    return r.bind("ReduceSum", {r.input(7), r.ints({1})},
                  {Rewrite::attribute("keepdims", int64_t{0})}, 1);
  Compose c(node, importer);
  return c.bind(c.filled(dtype, 0, {dims[0]}), 1);
}

// Normalises groups of channels of x, which are last unless channels_last is 0; then applies Swish
// if `activation` is 1.
llvm::Error bind_group_norm(const OnnxNode& node, Importer& importer, Rewrite& r,
                            const std::string& x, bool is_last, size_t rank) {
  CODL_ASSIGN_OR_RETURN(epsilon, node.float_or("epsilon", 1e-5f));
  CODL_ASSIGN_OR_RETURN(groups, node.int_or("groups", 0));
  CODL_ASSIGN_OR_RETURN(activation, node.int_or("activation", 0));
  if (activation != 0 && activation != 1)
    return input_error(node.name, "expected activation 0 or 1, found {0}", activation);
  std::string y = r.op(
      "GroupNormalization", {is_last ? with_channels_first(r, x, rank) : x, r.input(1), r.input(2)},
      {Rewrite::attribute("epsilon", epsilon), Rewrite::attribute("num_groups", groups)});
  if (activation == 1) y = r.op("Swish", {y});
  if (is_last) y = with_channels_last(r, y, rank);
  if (llvm::Error error = r.take_error()) return error;
  importer.bind_name(node, 0, y);
  return llvm::Error::success();
}

llvm::Error import_group_norm(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(is_last, node.int_or("channels_last", 1));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  Rewrite r(node, importer);
  return bind_group_norm(node, importer, r, r.input(0), is_last != 0, dims.size());
}

// Imports SkipGroupNorm(x, gamma, beta, skip, bias) -> y, x + skip + bias. A skip of rank 2 has one
// element per channel.
llvm::Error import_skip_group_norm(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(channels_last, node.int_or("channels_last", 1));
  const bool is_last = channels_last != 0;
  if (llvm::Error error = expect_rank(node, importer, 0, 4)) return error;
  CODL_ASSIGN_OR_RETURN(skip, importer.dims_of(node, 3));
  Rewrite r(node, importer);
  const std::vector<int64_t> inner =
      is_last ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{2, 3};
  std::string added = r.input(3);
  if (skip.size() == 2) added = r.op("Unsqueeze", {added, r.ints(inner)});
  std::string sum = r.op("Add", {r.input(0), added});
  if (node.has_input(4)) {
    const std::string bias = r.input(4);
    sum = r.op("Add", {sum, is_last ? bias : r.op("Unsqueeze", {bias, r.ints({1, 2})})});
  }
  if (llvm::Error error = r.take_error()) return error;
  importer.bind_name(node, 1, sum);
  return bind_group_norm(node, importer, r, sum, is_last, 4);
}

}  // namespace

llvm::ArrayRef<ImportEntry> contrib_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"BiasAdd", kContribVersion, kContribVersion, import_bias_add, kContribDomain},
      {"BiasGelu", kContribVersion, kContribVersion, import_contrib_gelu, kContribDomain},
      {"BiasSoftmax", kContribVersion, kContribVersion, import_bias_softmax, kContribDomain},
      {"BiasSplitGelu", kContribVersion, kContribVersion, import_bias_split_gelu, kContribDomain},
      {"EmbedLayerNormalization", kContribVersion, kContribVersion,
       import_embed_layer_normalization, kContribDomain},
      {"FastGelu", kContribVersion, kContribVersion, import_fast_gelu, kContribDomain},
      {"FusedConv", kContribVersion, kContribVersion, import_fused_conv, kContribDomain},
      {"FusedGemm", kContribVersion, kContribVersion, import_fused_gemm, kContribDomain},
      {"FusedMatMul", kContribVersion, kContribVersion, import_fused_matmul, kContribDomain},
      {"Gelu", kContribVersion, kContribVersion, import_contrib_gelu, kContribDomain},
      {"GroupNorm", kContribVersion, kContribVersion, import_group_norm, kContribDomain},
      {"NhwcConv", kContribVersion, kContribVersion, import_nhwc_conv, kContribDomain},
      {"NhwcFusedConv", kContribVersion, kContribVersion, import_nhwc_fused_conv, kContribDomain},
      {"QuickGelu", kContribVersion, kContribVersion, import_quick_gelu, kContribDomain},
      {"SimplifiedLayerNormalization", 1, kNewestOpset, import_simplified_layer_normalization},
      {"SimplifiedLayerNormalization", kContribVersion, kContribVersion,
       import_simplified_layer_normalization, kContribDomain},
      {"SkipGroupNorm", kContribVersion, kContribVersion, import_skip_group_norm, kContribDomain},
      {"SkipLayerNormalization", kContribVersion, kContribVersion, import_skip_layer_normalization,
       kContribDomain},
      {"SkipSimplifiedLayerNormalization", kContribVersion, kContribVersion,
       import_skip_rms_normalization, kContribDomain},
      {"TransposeMatMul", kContribVersion, kContribVersion, import_fused_matmul, kContribDomain},
  };
  return kEntries;
}

}  // namespace codl::compiler
