// Unary and binary functions, element by element; Softmax.
#include <algorithm>
#include <limits>

#include "compiler/frontend/rules.h"
#include "compiler/support/error.h"
#include "schema/tables.h"

namespace codl::compiler {
namespace {

llvm::Error import_unary(const OnnxNode& node, Importer& importer, const UnaryParams& params) {
  CODL_ASSIGN_OR_RETURN(x, importer.operand(node, 0));
  CODL_ASSIGN_OR_RETURN(output, importer.append(node, "", OpKind::Unary, params, {x}));
  importer.bind(node, output);
  return llvm::Error::success();
}

// The operand with dims of 1 in front until it has `rank` dims, so that kernels and layouts see
// operands of one rank. A constant gets them in place of a node.
llvm::Expected<ir::ValueId> operand_of_rank(const OnnxNode& node, Importer& importer, size_t i,
                                            size_t rank) {
  CODL_ASSIGN_OR_RETURN(value, importer.operand(node, i));
  const ir::TensorType& type = importer.type(value);
  if (type.dims.size() == rank) return value;
  llvm::SmallVector<int64_t, 4> dims(rank - type.dims.size(), 1);
  dims.append(type.dims.begin(), type.dims.end());
  const std::string suffix = "operand_" + std::to_string(i);
  const ir::Value& source = importer.graph().value(value);
  if (source.is_constant) return importer.add_floats(node, suffix, dims, source.as<float>());
  return importer.append_reshape(node, suffix, value, dims);
}

llvm::Error import_binary(const OnnxNode& node, Importer& importer, int32_t kind) {
  CODL_ASSIGN_OR_RETURN(dims_a, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(dims_b, importer.dims_of(node, 1));
  const size_t rank = std::max(dims_a.size(), dims_b.size());
  CODL_ASSIGN_OR_RETURN(a, operand_of_rank(node, importer, 0, rank));
  CODL_ASSIGN_OR_RETURN(b, operand_of_rank(node, importer, 1, rank));
  CODL_ASSIGN_OR_RETURN(
      output, importer.append(node, "", OpKind::Binary, BinaryParams{.kind = kind}, {a, b}));
  importer.bind(node, output);
  return llvm::Error::success();
}

// A bound of Clip that is an input: one float, or absent.
llvm::Expected<float> bound_or(const OnnxNode& node, Importer& importer, size_t i, float fallback) {
  if (!node.has_input(i)) return fallback;
  CODL_ASSIGN_OR_RETURN(bound, importer.float_constant(node, i));
  if (bound.size() != 1)
    return input_error(node.name, "expected one element in '{0}', found {1}", node.inputs[i],
                       bound.size());
  return bound[0];
}

llvm::Error import_relu(const OnnxNode& node, Importer& importer) {
  return import_unary(node, importer, {.kind = kUnaryRelu});
}
llvm::Error import_sigmoid(const OnnxNode& node, Importer& importer) {
  return import_unary(node, importer, {.kind = kUnarySigmoid});
}
llvm::Error import_tanh(const OnnxNode& node, Importer& importer) {
  return import_unary(node, importer, {.kind = kUnaryTanh});
}

llvm::Error import_leaky_relu(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(slope, node.float_or("alpha", 0.01f));
  return import_unary(node, importer, {.kind = kUnaryLeakyRelu, .alpha = slope});
}

llvm::Error import_clip_7(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(low, node.float_or("min", std::numeric_limits<float>::lowest()));
  CODL_ASSIGN_OR_RETURN(high, node.float_or("max", std::numeric_limits<float>::max()));
  return import_unary(node, importer, {.kind = kUnaryClip, .alpha = low, .beta = high});
}

llvm::Error import_clip_11(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(low, bound_or(node, importer, 1, std::numeric_limits<float>::lowest()));
  CODL_ASSIGN_OR_RETURN(high, bound_or(node, importer, 2, std::numeric_limits<float>::max()));
  return import_unary(node, importer, {.kind = kUnaryClip, .alpha = low, .beta = high});
}

llvm::Error import_add(const OnnxNode& node, Importer& importer) {
  return import_binary(node, importer, kBinaryAdd);
}
llvm::Error import_sub(const OnnxNode& node, Importer& importer) {
  return import_binary(node, importer, kBinarySub);
}
llvm::Error import_mul(const OnnxNode& node, Importer& importer) {
  return import_binary(node, importer, kBinaryMul);
}
llvm::Error import_div(const OnnxNode& node, Importer& importer) {
  return import_binary(node, importer, kBinaryDiv);
}

// Before opset 13: over all dims from `axis` on, taken together.
llvm::Error import_softmax_7(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(axis_attribute, node.int_or("axis", 1));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(axis, normalized_axis(node, axis_attribute, dims.size()));
  CODL_ASSIGN_OR_RETURN(x, importer.operand(node, 0));
  int64_t outer = 1;
  int64_t inner = 1;
  for (size_t i = 0; i < dims.size(); ++i)
    (static_cast<int32_t>(i) < axis ? outer : inner) *= dims[i];
  if (inner == dims[axis]) {
    CODL_ASSIGN_OR_RETURN(
        output, importer.append(node, "", OpKind::Softmax, SoftmaxParams{.axis = axis}, {x}));
    importer.bind(node, output);
    return llvm::Error::success();
  }
  CODL_ASSIGN_OR_RETURN(rows, importer.append_reshape(node, "rows", x, {outer, inner}));
  CODL_ASSIGN_OR_RETURN(normalized, importer.append(node, "softmax", OpKind::Softmax,
                                                    SoftmaxParams{.axis = 1}, {rows}));
  CODL_ASSIGN_OR_RETURN(output, importer.append_reshape(node, "", normalized, dims));
  importer.bind(node, output);
  return llvm::Error::success();
}

llvm::Error import_softmax_13(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(axis_attribute, node.int_or("axis", -1));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(axis, normalized_axis(node, axis_attribute, dims.size()));
  CODL_ASSIGN_OR_RETURN(x, importer.operand(node, 0));
  CODL_ASSIGN_OR_RETURN(
      output, importer.append(node, "", OpKind::Softmax, SoftmaxParams{.axis = axis}, {x}));
  importer.bind(node, output);
  return llvm::Error::success();
}

constexpr ImportRow kRows[] = {
    {"Add", 7, kNewestOpset, import_add},
    {"Clip", 7, 10, import_clip_7},
    {"Clip", 11, kNewestOpset, import_clip_11},
    {"Div", 7, kNewestOpset, import_div},
    {"LeakyRelu", 7, kNewestOpset, import_leaky_relu},
    {"Mul", 7, kNewestOpset, import_mul},
    {"Relu", 7, kNewestOpset, import_relu},
    {"Sigmoid", 7, kNewestOpset, import_sigmoid},
    {"Softmax", 7, 12, import_softmax_7},
    {"Softmax", 13, kNewestOpset, import_softmax_13},
    {"Sub", 7, kNewestOpset, import_sub},
    {"Tanh", 7, kNewestOpset, import_tanh},
};

}  // namespace

llvm::ArrayRef<ImportRow> elementwise_rows() { return kRows; }

}  // namespace codl::compiler
