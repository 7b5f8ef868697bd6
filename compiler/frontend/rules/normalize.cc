// Imports normalisations, by the operand's own statistics or by those of the training set.
#include <algorithm>
#include <cmath>

#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/support/error.h"
#include "schema/plan_layout.h"

namespace codl::compiler {
namespace {

// Returns [1, count, 1 ...]: one element per channel of an operand of `rank` dims.
Dims64 per_channel(int64_t count, size_t rank) {
  Dims64 dims(rank, 1);
  dims[1] = count;
  return dims;
}

// Returns a bit for every axis from `first` on.
int32_t mask_from(int32_t first, int32_t rank) { return ((1 << rank) - 1) & ~((1 << first) - 1); }

Dims64 axes_from(int64_t first, int64_t rank) {
  Dims64 axes;
  for (int64_t axis = first; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

// Computes (x - mean) / sqrt(variance + epsilon) * scale + bias; scale or bias may be kNoId.
ir::ValueId normalized(Compose& c, ir::ValueId x, int32_t axes_mask, float epsilon,
                       ir::ValueId scale, ir::ValueId bias, bool is_rms = false) {
  NormalizeParams params = {};
  params.axes_mask = axes_mask;
  params.is_rms = is_rms ? 1 : 0;
  params.has_scale = scale != ir::kNoId ? 1 : 0;
  params.has_bias = bias != ir::kNoId ? 1 : 0;
  params.epsilon = epsilon;
  llvm::SmallVector<ir::ValueId, 4> inputs = {x};
  if (scale != ir::kNoId) inputs.push_back(scale);
  if (bias != ir::kNoId) inputs.push_back(bias);
  return c.node(OpKind::Normalize, params, inputs);
}

// Returns an Input error unless operand `i` has `count` elements in one dim.
llvm::Error expect_vector(const OnnxNode& node, Importer& importer, size_t i, int64_t count) {
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, i));
  if (dims.size() == 1 && dims[0] == count) return llvm::Error::success();
  return input_error(node.name, "expected {0} elements in '{1}', found dims [{2}]", count,
                     node.inputs[i], llvm::make_range(dims.begin(), dims.end()));
}

// ---- BatchNormalization ----

struct BatchNorm {
  float epsilon = 0;
  float momentum = 0;
  bool is_training = false;
};

llvm::Expected<BatchNorm> read_batch_norm(const OnnxNode& node) {
  CODL_ASSIGN_OR_RETURN(epsilon, node.float_or("epsilon", 1e-5f));
  CODL_ASSIGN_OR_RETURN(momentum, node.float_or("momentum", 0.9f));
  CODL_ASSIGN_OR_RETURN(training, node.int_or("training_mode", 0));
  CODL_ASSIGN_OR_RETURN(spatial, node.int_or("spatial", 1));
  if (llvm::Error error = expect_inference(node)) return error;
  if (spatial != 1) return unsupported_error(node.name, "expected spatial 1, found {0}", spatial);
  return BatchNorm{epsilon, momentum, training != 0};
}

// Applies one scale and shift per channel: for maps a depthwise convolution with a 1x1 filter, for
// other ranks Mul and Add. fold_batch_norm merges either into a convolution or MatMul before it.
llvm::Error scale_and_shift(const OnnxNode& node, Importer& importer, float epsilon,
                            llvm::ArrayRef<int64_t> x_dims) {
  const int64_t channels = x_dims[1];
  CODL_ASSIGN_OR_RETURN(scale, importer.float_constant(node, 1));
  CODL_ASSIGN_OR_RETURN(shift, importer.float_constant(node, 2));
  CODL_ASSIGN_OR_RETURN(mean, importer.float_constant(node, 3));
  CODL_ASSIGN_OR_RETURN(variance, importer.float_constant(node, 4));
  std::vector<float> weights(channels);
  std::vector<float> bias(channels);
  for (int64_t i = 0; i < channels; ++i) {
    // This is computed in double, because folding must not add an error of its own to the
    // network's.
    const double factor = scale[i] / std::sqrt(double{variance[i]} + epsilon);
    weights[i] = static_cast<float>(factor);
    bias[i] = static_cast<float>(shift[i] - mean[i] * factor);
  }

  CODL_ASSIGN_OR_RETURN(x, importer.operand(node, 0));
  if (x_dims.size() == 4) {
    CODL_ASSIGN_OR_RETURN(w, importer.add_floats(node, "scale", {channels, 1, 1, 1}, weights));
    CODL_ASSIGN_OR_RETURN(b, importer.add_floats(node, "shift", {channels}, bias));
    DepthwiseConv2dParams params;
    params.stride_h = params.stride_w = 1;
    params.dilation_h = params.dilation_w = 1;
    CODL_ASSIGN_OR_RETURN(output,
                          importer.append(node, "", OpKind::DepthwiseConv2d, params, {x, w, b}));
    importer.bind(node, output);
    return llvm::Error::success();
  }
  const Dims64 dims = per_channel(channels, x_dims.size());
  CODL_ASSIGN_OR_RETURN(w, importer.add_floats(node, "scale", dims, weights));
  CODL_ASSIGN_OR_RETURN(b, importer.add_floats(node, "shift", dims, bias));
  CODL_ASSIGN_OR_RETURN(scaled, importer.append(node, "scaled", OpKind::Binary,
                                                BinaryParams{.kind = kBinaryMul}, {x, w}));
  CODL_ASSIGN_OR_RETURN(shifted, importer.append(node, "", OpKind::Binary,
                                                 BinaryParams{.kind = kBinaryAdd}, {scaled, b}));
  importer.bind(node, shifted);
  return llvm::Error::success();
}

// The parameters are data.
llvm::Error batch_norm_formula(const OnnxNode& node, Importer& importer, float epsilon,
                               size_t rank) {
  Compose c(node, importer);
  const ir::ValueId x = c.operand(0);
  const ir::ValueId deviation =
      c.unary(kUnarySqrt, c.add(c.operand(4), c.scalar(DType::F32, epsilon)));
  const ir::ValueId scale = c.div(c.operand(1), deviation);
  const ir::ValueId shift = c.sub(c.operand(2), c.mul(c.operand(3), scale));
  return c.bind(c.add(c.mul(x, along(c, scale, 1, rank)), along(c, shift, 1, rank)));
}

// Normalizes with the operand's statistics and moves the running ones towards them.
llvm::Error batch_norm_training(const OnnxNode& node, Importer& importer,
                                const BatchNorm& attributes, llvm::ArrayRef<int64_t> x_dims) {
  Compose c(node, importer);
  const ir::ValueId x = c.operand(0);
  const int32_t rank = static_cast<int32_t>(x_dims.size());
  const int32_t mask = mask_from(0, rank) & ~2;
  const ir::ValueId y = normalized(c, x, mask, attributes.epsilon, along(c, c.operand(1), 1, rank),
                                   along(c, c.operand(2), 1, rank));
  if (llvm::Error error = c.bind(y)) return error;
  Dims64 axes = axes_from(2, rank);
  axes.insert(axes.begin(), 0);
  const ir::ValueId mean = c.reduce(kReduceMean, x, axes);
  const ir::ValueId distance = c.sub(x, mean);
  const ir::ValueId current[] = {mean, c.reduce(kReduceMean, c.mul(distance, distance), axes)};
  const ir::ValueId momentum = c.scalar(DType::F32, attributes.momentum);
  const ir::ValueId rest = c.scalar(DType::F32, 1.0 - double{attributes.momentum});
  for (size_t i = 0; i < 2; ++i) {
    const ir::ValueId running = c.operand(3 + i);
    const ir::ValueId moved =
        c.add(c.mul(running, momentum), c.mul(c.reshape(current[i], {x_dims[1]}), rest));
    if (llvm::Error error = c.bind(moved, 1 + i)) return error;
  }
  return llvm::Error::success();
}

llvm::Error import_batch_normalization(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(attributes, read_batch_norm(node));
  CODL_ASSIGN_OR_RETURN(x_dims, importer.dims_of(node, 0));
  if (llvm::Error error = check_dims(node, x_dims)) return error;
  if (x_dims.size() < 2)
    return input_error(node.name, "expected rank >= 2, found {0}", x_dims.size());
  bool is_constant = true;
  for (size_t i = 1; i < 5; ++i) {
    if (llvm::Error error = expect_vector(node, importer, i, x_dims[1])) return error;
    is_constant = is_constant && importer.is_constant(node, i);
  }
  if (attributes.is_training) return batch_norm_training(node, importer, attributes, x_dims);
  if (is_constant) return scale_and_shift(node, importer, attributes.epsilon, x_dims);
  return batch_norm_formula(node, importer, attributes.epsilon, x_dims.size());
}

// ---- by the operand's own statistics ----

// Normalizes each channel of each element of the batch.
llvm::Error import_instance_normalization(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(epsilon, node.float_or("epsilon", 1e-5f));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  if (llvm::Error error = check_dims(node, dims)) return error;
  if (dims.size() < 3) return input_error(node.name, "expected rank >= 3, found {0}", dims.size());
  for (size_t i = 1; i < 3; ++i)
    if (llvm::Error error = expect_vector(node, importer, i, dims[1])) return error;
  Compose c(node, importer);
  const ir::ValueId x = c.operand(0);
  const ir::ValueId scale = along(c, c.operand(1), 1, dims.size());
  const ir::ValueId bias = along(c, c.operand(2), 1, dims.size());
  return c.bind(normalized(c, x, mask_from(2, c.rank(x)), epsilon, scale, bias));
}

// Binds the mean over the axes and 1 / sqrt(variance + epsilon), outputs 1 and 2 of
// LayerNormalization.
llvm::Error bind_statistics(Compose& c, ir::ValueId x, llvm::ArrayRef<int64_t> axes,
                            float epsilon) {
  if (!c.has_output(1) && !c.has_output(2)) return llvm::Error::success();
  const ir::ValueId mean = c.reduce(kReduceMean, x, axes);
  if (llvm::Error error = c.bind(mean, 1)) return error;
  const ir::ValueId distance = c.sub(x, mean);
  const ir::ValueId variance = c.reduce(kReduceMean, c.mul(distance, distance), axes);
  const ir::ValueId deviation = c.unary(kUnarySqrt, c.add(variance, c.scalar(DType::F32, epsilon)));
  return c.bind(c.unary(kUnaryReciprocal, deviation), 2);
}

// ONNX has it since opset 17; ONNX Runtime's optimiser writes the same into older models.
// stash_type is the type of the arithmetic, which is f32 here.
llvm::Error import_layer_normalization(const OnnxNode& node, Importer& importer) {
  ignore_attributes(node, {"stash_type"});
  CODL_ASSIGN_OR_RETURN(epsilon, node.float_or("epsilon", 1e-5f));
  CODL_ASSIGN_OR_RETURN(axis_attribute, node.int_or("axis", -1));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  if (llvm::Error error = check_dims(node, dims)) return error;
  CODL_ASSIGN_OR_RETURN(axis, normalized_axis(node, axis_attribute, dims.size()));
  Compose c(node, importer);
  const ir::ValueId x = c.operand(0);
  const ir::ValueId scale = c.operand(1);
  const ir::ValueId bias = node.has_input(2) ? c.operand(2) : ir::kNoId;
  if (llvm::Error error =
          c.bind(normalized(c, x, mask_from(axis, c.rank(x)), epsilon, scale, bias)))
    return error;
  return bind_statistics(c, x, axes_from(axis, c.rank(x)), epsilon);
}

llvm::Error import_rms_normalization(const OnnxNode& node, Importer& importer) {
  ignore_attributes(node, {"stash_type"});
  CODL_ASSIGN_OR_RETURN(epsilon, node.float_or("epsilon", 1e-5f));
  CODL_ASSIGN_OR_RETURN(axis_attribute, node.int_or("axis", -1));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  if (llvm::Error error = check_dims(node, dims)) return error;
  CODL_ASSIGN_OR_RETURN(axis, normalized_axis(node, axis_attribute, dims.size()));
  Compose c(node, importer);
  const ir::ValueId x = c.operand(0);
  return c.bind(normalized(c, x, mask_from(axis, c.rank(x)), epsilon, c.operand(1), ir::kNoId,
                           /*is_rms=*/true));
}

// Normalizes groups of neighbouring channels. Scale and bias have one element per channel, or
// (opset 18 to 20) per group.
llvm::Error import_group_normalization(const OnnxNode& node, Importer& importer) {
  ignore_attributes(node, {"stash_type"});
  CODL_ASSIGN_OR_RETURN(epsilon, node.float_or("epsilon", 1e-5f));
  CODL_ASSIGN_OR_RETURN(groups, node.int_or("num_groups", 0));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  if (llvm::Error error = check_dims(node, dims)) return error;
  if (dims.size() < 2) return input_error(node.name, "expected rank >= 2, found {0}", dims.size());
  if (groups < 1 || dims[1] % groups != 0)
    return input_error(node.name, "expected num_groups to divide {0} channels, found {1}", dims[1],
                       groups);
  const int64_t count = node.opset < 21 ? groups : dims[1];
  for (size_t i = 1; i < 3; ++i)
    if (llvm::Error error = expect_vector(node, importer, i, count)) return error;
  Compose c(node, importer);
  const int64_t inner = element_count(llvm::makeArrayRef(dims).drop_front(2));
  const ir::ValueId x = c.reshape(c.operand(0), {dims[0], groups, dims[1] / groups, inner});
  const Dims64 parameters = {1, groups, count / groups, 1};
  const ir::ValueId scale = c.reshape(c.operand(1), parameters);
  const ir::ValueId bias = c.reshape(c.operand(2), parameters);
  return c.bind(c.reshape(normalized(c, x, mask_from(2, 4), epsilon, scale, bias), dims));
}

// ONNX divides by the deviation + 1e-9, so that values without variance give 0.
llvm::Error import_mean_variance_normalization(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(axes, node.ints_or("axes", {0, 2, 3}));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  if (llvm::Error error = check_dims(node, dims)) return error;
  int32_t mask = 0;
  for (int64_t axis : axes) {
    CODL_ASSIGN_OR_RETURN(positive, normalized_axis(node, axis, dims.size()));
    mask |= 1 << positive;
  }
  Compose c(node, importer);
  return c.bind(normalized(c, c.operand(0), mask, 1e-18f, ir::kNoId, ir::kNoId));
}

// If the norm is zero, so is the result.
llvm::Error import_lp_normalization(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(axis, node.int_or("axis", -1));
  CODL_ASSIGN_OR_RETURN(p, node.int_or("p", 2));
  if (p != 1 && p != 2) return input_error(node.name, "expected p 1 or 2, found {0}", p);
  Compose c(node, importer);
  const ir::ValueId x = c.operand(0);
  const ir::ValueId norm = c.reduce(p == 1 ? kReduceL1 : kReduceL2, x, {axis});
  const ir::ValueId is_zero = c.binary(kBinaryEqual, norm, c.scalar(DType::F32, 0));
  return c.bind(c.div(x, c.where(is_zero, c.scalar(DType::F32, 1), norm)));
}

// Computes x / (bias + alpha / size * (sum of squares of `size` neighbouring channels))^beta.
llvm::Error import_lrn(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(size, node.int_or("size", 0));
  CODL_ASSIGN_OR_RETURN(alpha, node.float_or("alpha", 1e-4f));
  CODL_ASSIGN_OR_RETURN(beta, node.float_or("beta", 0.75f));
  CODL_ASSIGN_OR_RETURN(bias, node.float_or("bias", 1.0f));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  if (llvm::Error error = check_dims(node, dims)) return error;
  if (size < 1 || size > kMaxDim)
    return input_error(node.name, "expected a size of 1 to {0}, found {1}", kMaxDim, size);
  if (dims.size() < 2) return input_error(node.name, "expected rank >= 2, found {0}", dims.size());
  const LrnParams params = {static_cast<int32_t>(size), alpha, beta, bias};
  Compose c(node, importer);
  const int64_t inner = element_count(llvm::makeArrayRef(dims).drop_front(2));
  ir::ValueId x = c.operand(0);
  if (dims.size() != 4) x = c.reshape(x, {dims[0], dims[1], inner, 1});
  return c.bind(c.reshape(c.node(OpKind::Lrn, params, {x}), dims));
}

}  // namespace

llvm::ArrayRef<ImportEntry> normalize_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"BatchNormalization", 6, kNewestOpset, import_batch_normalization},
      {"GroupNormalization", 18, kNewestOpset, import_group_normalization},
      {"InstanceNormalization", 6, kNewestOpset, import_instance_normalization},
      {"LRN", 1, kNewestOpset, import_lrn},
      {"LayerNormalization", 1, kNewestOpset, import_layer_normalization},
      {"LpNormalization", 1, kNewestOpset, import_lp_normalization},
      {"MeanVarianceNormalization", 9, kNewestOpset, import_mean_variance_normalization},
      {"RMSNormalization", 23, kNewestOpset, import_rms_normalization},
  };
  return kEntries;
}

}  // namespace codl::compiler
