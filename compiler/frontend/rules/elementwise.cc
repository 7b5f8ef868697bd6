// Imports element-wise functions of one, two or more operands, with numpy's broadcasting.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/support/error.h"
#include "kernels/common/activation/activation.h"

namespace codl::compiler {
namespace {

// ---- of one operand ----

// Imports an element-wise formula of operand 0, whose dims it keeps. `dtype` is the output's; Any
// stands for the operand's.
template <typename Formula>
llvm::Error import_map(const OnnxNode& node, Importer& importer, DType dtype, Formula formula) {
  CODL_ASSIGN_OR_RETURN(dims, planned_dims(node, importer, 0));
  if (element_count(dims) == 0) {
    CODL_ASSIGN_OR_RETURN(x_dtype, importer.dtype_of(node, 0));
    return bind_empty(node, importer, dtype == DType::Any ? x_dtype : dtype, dims);
  }
  CODL_ASSIGN_OR_RETURN(x, importer.extent_operand(node, 0));
  Compose c(node, importer);
  if (llvm::Error error = c.bind(formula(c, x))) return error;
  return keep_extents(node, importer, 0, [](int32_t dim) { return dim; });
}

llvm::Error import_unary(const OnnxNode& node, Importer& importer, int32_t kind, float alpha = 0,
                         float beta = 0, DType dtype = DType::Any) {
  return import_map(node, importer, dtype,
                    [&](Compose& c, ir::ValueId x) { return c.unary(kind, x, alpha, beta); });
}

// Imports functions of Unary without attributes that have ONNX's name.
template <int32_t kKind>
llvm::Error import_function(const OnnxNode& node, Importer& importer) {
  static_assert(kernels::activation_parameters(kKind) == 0);
  return import_unary(node, importer, kKind);
}

llvm::Error import_leaky_relu(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(alpha, node.float_or("alpha", 0.01f));
  return import_unary(node, importer, kUnaryLeakyRelu, alpha);
}

llvm::Error import_elu(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(alpha, node.float_or("alpha", 1.0f));
  return import_unary(node, importer, kUnaryElu, alpha);
}

llvm::Error import_selu(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(alpha, node.float_or("alpha", 1.67326319217681884765625f));
  CODL_ASSIGN_OR_RETURN(gamma, node.float_or("gamma", 1.05070102214813232421875f));
  return import_unary(node, importer, kUnarySelu, alpha, gamma);
}

llvm::Error import_celu(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(alpha, node.float_or("alpha", 1.0f));
  if (alpha == 0) return input_error(node.name, "expected an alpha other than 0, found 0");
  return import_unary(node, importer, kUnaryCelu, alpha);
}

llvm::Error import_thresholded_relu(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(alpha, node.float_or("alpha", 1.0f));
  return import_unary(node, importer, kUnaryThresholdedRelu, alpha);
}

llvm::Error import_hard_sigmoid(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(alpha, node.float_or("alpha", 0.2f));
  CODL_ASSIGN_OR_RETURN(beta, node.float_or("beta", 0.5f));
  return import_unary(node, importer, kUnaryHardSigmoid, alpha, beta);
}

llvm::Error import_swish(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(alpha, node.float_or("alpha", 1.0f));
  return import_unary(node, importer, kUnarySwish, alpha);
}

llvm::Error import_gelu(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(approximate, node.string_or("approximate", "none"));
  if (approximate != "none" && approximate != "tanh")
    return input_error(node.name, "expected approximate none or tanh, found '{0}'", approximate);
  return import_unary(node, importer, approximate == "tanh" ? kUnaryGeluTanh : kUnaryGelu);
}

// Computes integers, too, in double: most of them are exact there.
llvm::Error import_shrink(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(bias, node.float_or("bias", 0.0f));
  CODL_ASSIGN_OR_RETURN(threshold, node.float_or("lambd", 0.5f));
  return import_map(node, importer, DType::Any,
                    [&, b = bias, t = threshold](Compose& c, ir::ValueId x) {
                      const DType dtype = c.type(x).dtype;
                      const DType wide = is_integer(dtype) ? DType::F64 : dtype;
                      return c.cast(c.unary(kUnaryShrink, c.cast(x, wide), b, t), dtype);
                    });
}

llvm::Error import_is_nan(const OnnxNode& node, Importer& importer) {
  return import_unary(node, importer, kUnaryIsNan, 0, 0, DType::Bool);
}

llvm::Error import_is_inf(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(negative, node.int_or("detect_negative", 1));
  CODL_ASSIGN_OR_RETURN(positive, node.int_or("detect_positive", 1));
  return import_unary(node, importer, kUnaryIsInf, negative != 0 ? 1.0f : 0.0f,
                      positive != 0 ? 1.0f : 0.0f, DType::Bool);
}

// At inference nothing is dropped, and the mask is true throughout (before opset 10: 1).
llvm::Error import_dropout(const OnnxNode& node, Importer& importer) {
  ignore_attributes(node, {"ratio", "seed"});
  if (llvm::Error error = expect_inference(node)) return error;
  if (node.has_input(2)) {
    CODL_ASSIGN_OR_RETURN(training, importer.int_constant(node, 2));
    if (llvm::any_of(training, [](int64_t flag) { return flag != 0; }))
      return unsupported_error(node.name, "expected training_mode false, found true");
  }
  if (llvm::Error error = importer.bind_operand(node, 0)) return error;
  if (node.outputs.size() < 2 || node.outputs[1].empty()) return llvm::Error::success();
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  if (llvm::Error error = check_dims(node, dims)) return error;
  CODL_ASSIGN_OR_RETURN(x_dtype, importer.dtype_of(node, 0));
  const DType mask = node.opset < 10 ? x_dtype : DType::Bool;
  if (element_count(dims) == 0) return bind_empty(node, importer, mask, dims, 1);
  Compose c(node, importer);
  return c.bind(c.filled(mask, 1, dims), 1);
}

// ---- of two operands ----

// If an operand has no elements, returns the dims that the operands broadcast to; else nothing.
llvm::Expected<std::optional<Dims64>> empty_dims(const OnnxNode& node, Importer& importer) {
  bool is_empty = false;
  bool fits = true;
  Dims64 result;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    CODL_ASSIGN_OR_RETURN(dims, planned_dims(node, importer, i));
    is_empty = is_empty || element_count(dims) == 0;
    if (dims.size() > result.size()) result.insert(result.begin(), dims.size() - result.size(), 1);
    for (size_t k = 0; k < dims.size(); ++k) {
      int64_t& dim = result[result.size() - dims.size() + k];
      if (dims[k] != 1 && dim != 1 && dims[k] != dim) fits = false;
      if (dim == 1) dim = dims[k];
    }
  }
  if (!is_empty) return std::nullopt;
  if (!fits) return input_error(node.name, "expected operands that broadcast, found others");
  return result;
}

// Imports an element-wise formula of operands 0 and 1. `dtype` is as in import_map().
template <typename Formula>
llvm::Error import_pair(const OnnxNode& node, Importer& importer, DType dtype, Formula formula) {
  // Without `axis`, dims that broadcast before opset 7 do so in the same way since.
  if (node.opset < 7) ignore_attributes(node, {"broadcast"});
  CODL_ASSIGN_OR_RETURN(empty, empty_dims(node, importer));
  if (empty) {
    CODL_ASSIGN_OR_RETURN(a_dtype, importer.dtype_of(node, 0));
    return bind_empty(node, importer, dtype == DType::Any ? a_dtype : dtype, *empty);
  }
  Compose c(node, importer);
  const ir::ValueId a = c.operand(0);
  const ir::ValueId b = c.operand(1);
  return c.bind(formula(c, a, b));
}

llvm::Error import_binary(const OnnxNode& node, Importer& importer, int32_t kind,
                          DType dtype = DType::Any) {
  return import_pair(node, importer, dtype, [&](Compose& c, ir::ValueId a, ir::ValueId b) {
    return c.binary(kind, a, b);
  });
}

template <int32_t kKind>
llvm::Error import_arithmetic(const OnnxNode& node, Importer& importer) {
  return import_binary(node, importer, kKind);
}

template <int32_t kKind>
llvm::Error import_comparison(const OnnxNode& node, Importer& importer) {
  return import_binary(node, importer, kKind, DType::Bool);
}

// Returns true if operand `i` is known now and all its elements are integers that f32 holds
// exactly.
llvm::Expected<bool> are_small_integers(const OnnxNode& node, Importer& importer, size_t i) {
  constexpr float kMax = 1 << 24;
  if (!importer.is_constant(node, i)) return false;
  CODL_ASSIGN_OR_RETURN(elements, importer.float_constant(node, i));
  return llvm::all_of(elements, [](float element) {
    return std::fabs(element) < kMax && std::trunc(element) == element;
  });
}

// Raises integers to the power of floats: exact if the exponent is an integer, else through double.
ir::ValueId power_of_integers(Compose& c, ir::ValueId a, ir::ValueId b) {
  const ir::ValueId rounded = c.cast(b, DType::I64);
  const ir::ValueId is_integer =
      c.binary(kBinaryEqual, c.cast(rounded, DType::F64), c.cast(b, DType::F64));
  const ir::ValueId real = c.binary(kBinaryPow, c.cast(a, DType::F64), c.cast(b, DType::F64));
  return c.where(is_integer, c.binary(kBinaryPow, c.cast(a, DType::I64), rounded),
                 c.cast(real, DType::I64));
}

// The result has the base's type; the exponent may have another.
llvm::Error import_pow(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(is_small, are_small_integers(node, importer, 1));
  return import_pair(
      node, importer, DType::Any, [is_small = is_small](Compose& c, ir::ValueId a, ir::ValueId b) {
        const DType base = c.type(a).dtype;
        const DType exponent = c.type(b).dtype;
        if (base == exponent) return c.binary(kBinaryPow, a, b);
        if (is_integer(base) && (is_integer(exponent) || is_small))
          return c.cast(c.binary(kBinaryPow, c.cast(a, DType::I64), c.cast(b, DType::I64)), base);
        if (is_integer(base)) return c.cast(power_of_integers(c, a, b), base);
        const DType wide = is_small && base == DType::F32 ? DType::F32 : DType::F64;
        return c.cast(c.binary(kBinaryPow, c.cast(a, wide), c.cast(b, wide)), base);
      });
}

llvm::Error import_mod(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(is_fmod, node.int_or("fmod", 0));
  return import_binary(node, importer, is_fmod != 0 ? kBinaryFmod : kBinaryMod);
}

llvm::Error import_bit_shift(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(direction, node.string_or("direction", ""));
  if (direction != "LEFT" && direction != "RIGHT")
    return input_error(node.name, "expected direction LEFT or RIGHT, found '{0}'", direction);
  return import_binary(node, importer, direction == "LEFT" ? kBinaryShiftLeft : kBinaryShiftRight);
}

// The slope broadcasts to x, but x never broadcasts to the slope.
llvm::Error import_prelu(const OnnxNode& node, Importer& importer) {
  return import_pair(node, importer, DType::Any, [&](Compose& c, ir::ValueId x, ir::ValueId slope) {
    ir::ValueId y = ir::kNoId;
    if (!is_integer(c.type(x).dtype))
      y = c.binary(kBinaryPRelu, x, slope);
    else
      y = c.where(c.binary(kBinaryLess, x, c.scalar(c.type(x).dtype, 0)), c.mul(x, slope), x);
    if (c.dims(y) != c.dims(x))
      c.fail(input_error(node.name, "expected a slope that broadcasts to {0}, found {1}",
                         ir::to_string(c.type(x)), ir::to_string(c.type(slope))));
    return y;
  });
}

// The gate and the value have equal dims, without broadcasting.
llvm::Error import_swiglu(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(alpha, node.float_or("alpha", 1.0f));
  return import_pair(node, importer, DType::Any,
                     [alpha = alpha](Compose& c, ir::ValueId gate, ir::ValueId x) {
                       return c.mul(c.unary(kUnarySwish, gate, alpha), x);
                     });
}

llvm::Error import_where(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(empty, empty_dims(node, importer));
  if (empty) {
    CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 1));
    return bind_empty(node, importer, dtype, *empty);
  }
  Compose c(node, importer);
  const ir::ValueId condition = c.operand(0);
  const ir::ValueId a = c.operand(1);
  return c.bind(c.where(condition, a, c.operand(2)));
}

// ---- of any number of operands ----

// Combines the operands from the first to the last.
llvm::Expected<ir::ValueId> import_chain(const OnnxNode& node, Compose& c, int32_t kind) {
  if (node.inputs.empty()) return input_error(node.name, "expected operands, found none");
  ir::ValueId result = c.operand(0);
  for (size_t i = 1; i < node.inputs.size(); ++i) result = c.binary(kind, result, c.operand(i));
  return result;
}

template <int32_t kKind>
llvm::Error import_variadic(const OnnxNode& node, Importer& importer) {
  if (node.inputs.size() == 1) return importer.bind_operand(node, 0);
  CODL_ASSIGN_OR_RETURN(empty, empty_dims(node, importer));
  if (empty) {
    CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
    return bind_empty(node, importer, dtype, *empty);
  }
  Compose c(node, importer);
  CODL_ASSIGN_OR_RETURN(result, import_chain(node, c, kKind));
  return c.bind(result);
}

llvm::Error import_mean(const OnnxNode& node, Importer& importer) {
  if (node.inputs.size() == 1) return importer.bind_operand(node, 0);
  Compose c(node, importer);
  CODL_ASSIGN_OR_RETURN(sum, import_chain(node, c, kBinaryAdd));
  return c.bind(c.div(sum, c.scalar(c.type(sum).dtype, static_cast<double>(node.inputs.size()))));
}

// ---- Clip ----

llvm::Error import_clip_7(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(low, node.float_or("min", std::numeric_limits<float>::lowest()));
  CODL_ASSIGN_OR_RETURN(high, node.float_or("max", std::numeric_limits<float>::max()));
  return import_unary(node, importer, kUnaryClip, low, high);
}

// Returns a constant float bound, or the fallback if there is none.
llvm::Expected<float> bound_or(const OnnxNode& node, Importer& importer, size_t i, float fallback) {
  if (!is_given(node, importer, i)) return fallback;
  CODL_ASSIGN_OR_RETURN(bound, importer.float_constant(node, i));
  if (bound.size() != 1)
    return input_error(node.name, "expected one element in '{0}', found {1}", node.inputs[i],
                       bound.size());
  return bound[0];
}

// Bounds x by operand `i`, of x's dtype, if there is one.
ir::ValueId bounded(Compose& c, int32_t kind, ir::ValueId x, bool has_bound, size_t i) {
  return has_bound ? c.binary(kind, x, c.reshape(c.operand(i), {})) : x;
}

// Bounds are inputs: one element each, or absent. An absent bound leaves infinities as they are.
// ONNX's function body of Clip and its reference evaluator do so; its text, and ONNX Runtime, use
// the largest finite number instead.
llvm::Error import_clip_11(const OnnxNode& node, Importer& importer) {
  const bool has_low = is_given(node, importer, 1);
  const bool has_high = is_given(node, importer, 2);
  if (!has_low && !has_high) return importer.bind_operand(node, 0);
  CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
  const bool is_known =
      (!has_low || importer.is_constant(node, 1)) && (!has_high || importer.is_constant(node, 2));
  if (dtype == DType::F32 && is_known) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    CODL_ASSIGN_OR_RETURN(low, bound_or(node, importer, 1, -kInfinity));
    CODL_ASSIGN_OR_RETURN(high, bound_or(node, importer, 2, kInfinity));
    // Unary passes elements that it cannot compare with a bound; Min and Max turn them into NaN.
    if (!std::isnan(low) && !std::isnan(high))
      return import_unary(node, importer, kUnaryClip, low, high);
  }
  return import_map(node, importer, DType::Any, [&](Compose& c, ir::ValueId x) {
    x = bounded(c, kBinaryMax, x, has_low, 1);
    return bounded(c, kBinaryMin, x, has_high, 2);
  });
}

}  // namespace

llvm::ArrayRef<ImportEntry> elementwise_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"Abs", 6, kNewestOpset, import_function<kUnaryAbs>},
      {"Acos", 7, kNewestOpset, import_function<kUnaryAcos>},
      {"Acosh", 9, kNewestOpset, import_function<kUnaryAcosh>},
      {"Add", 6, kNewestOpset, import_arithmetic<kBinaryAdd>},
      {"And", 1, kNewestOpset, import_comparison<kBinaryAnd>},
      {"Asin", 7, kNewestOpset, import_function<kUnaryAsin>},
      {"Asinh", 9, kNewestOpset, import_function<kUnaryAsinh>},
      {"Atan", 7, kNewestOpset, import_function<kUnaryAtan>},
      {"Atanh", 9, kNewestOpset, import_function<kUnaryAtanh>},
      {"BitShift", 11, kNewestOpset, import_bit_shift},
      {"BitwiseAnd", 18, kNewestOpset, import_arithmetic<kBinaryBitwiseAnd>},
      {"BitwiseNot", 18, kNewestOpset, import_function<kUnaryBitwiseNot>},
      {"BitwiseOr", 18, kNewestOpset, import_arithmetic<kBinaryBitwiseOr>},
      {"BitwiseXor", 18, kNewestOpset, import_arithmetic<kBinaryBitwiseXor>},
      {"Ceil", 6, kNewestOpset, import_function<kUnaryCeil>},
      {"Celu", 12, kNewestOpset, import_celu},
      {"Clip", 6, 10, import_clip_7},
      {"Clip", 11, kNewestOpset, import_clip_11},
      {"Cos", 7, kNewestOpset, import_function<kUnaryCos>},
      {"Cosh", 9, kNewestOpset, import_function<kUnaryCosh>},
      {"Div", 6, kNewestOpset, import_arithmetic<kBinaryDiv>},
      {"Dropout", 6, kNewestOpset, import_dropout},
      {"Elu", 6, kNewestOpset, import_elu},
      {"Equal", 1, kNewestOpset, import_comparison<kBinaryEqual>},
      {"Erf", 9, kNewestOpset, import_function<kUnaryErf>},
      {"Exp", 6, kNewestOpset, import_function<kUnaryExp>},
      {"Floor", 6, kNewestOpset, import_function<kUnaryFloor>},
      {"Gelu", 20, kNewestOpset, import_gelu},
      {"Greater", 1, kNewestOpset, import_comparison<kBinaryGreater>},
      {"GreaterOrEqual", 12, kNewestOpset, import_comparison<kBinaryGreaterOrEqual>},
      {"HardSigmoid", 6, kNewestOpset, import_hard_sigmoid},
      {"HardSwish", 14, kNewestOpset, import_function<kUnaryHardSwish>},
      {"IsInf", 10, kNewestOpset, import_is_inf},
      {"IsNaN", 9, kNewestOpset, import_is_nan},
      {"LeakyRelu", 6, kNewestOpset, import_leaky_relu},
      {"Less", 1, kNewestOpset, import_comparison<kBinaryLess>},
      {"LessOrEqual", 12, kNewestOpset, import_comparison<kBinaryLessOrEqual>},
      {"Log", 6, kNewestOpset, import_function<kUnaryLog>},
      {"Max", 6, kNewestOpset, import_variadic<kBinaryMax>},
      {"Mean", 6, kNewestOpset, import_mean},
      {"Min", 6, kNewestOpset, import_variadic<kBinaryMin>},
      {"Mish", 18, kNewestOpset, import_function<kUnaryMish>},
      {"Mod", 10, kNewestOpset, import_mod},
      {"Mul", 6, kNewestOpset, import_arithmetic<kBinaryMul>},
      {"Neg", 6, kNewestOpset, import_function<kUnaryNeg>},
      {"Not", 1, kNewestOpset, import_function<kUnaryNot>},
      {"Or", 1, kNewestOpset, import_comparison<kBinaryOr>},
      {"PRelu", 7, kNewestOpset, import_prelu},
      {"Pow", 1, kNewestOpset, import_pow},
      {"Reciprocal", 6, kNewestOpset, import_function<kUnaryReciprocal>},
      {"Relu", 6, kNewestOpset, import_function<kUnaryRelu>},
      {"Round", 11, kNewestOpset, import_function<kUnaryRound>},
      {"Selu", 6, kNewestOpset, import_selu},
      {"Shrink", 9, kNewestOpset, import_shrink},
      {"Sigmoid", 6, kNewestOpset, import_function<kUnarySigmoid>},
      {"Sign", 9, kNewestOpset, import_function<kUnarySign>},
      {"Sin", 7, kNewestOpset, import_function<kUnarySin>},
      {"Sinh", 9, kNewestOpset, import_function<kUnarySinh>},
      {"Softplus", 1, kNewestOpset, import_function<kUnarySoftplus>},
      {"Softsign", 1, kNewestOpset, import_function<kUnarySoftsign>},
      {"Sqrt", 6, kNewestOpset, import_function<kUnarySqrt>},
      {"Sub", 6, kNewestOpset, import_arithmetic<kBinarySub>},
      {"Sum", 6, kNewestOpset, import_variadic<kBinaryAdd>},
      {"SwiGLU", 28, kNewestOpset, import_swiglu},
      {"Swish", 24, kNewestOpset, import_swish},
      {"Tan", 7, kNewestOpset, import_function<kUnaryTan>},
      {"Tanh", 6, kNewestOpset, import_function<kUnaryTanh>},
      {"ThresholdedRelu", 10, kNewestOpset, import_thresholded_relu},
      {"Where", 9, kNewestOpset, import_where},
      {"Xor", 1, kNewestOpset, import_comparison<kBinaryXor>},
  };
  return kEntries;
}

}  // namespace codl::compiler
