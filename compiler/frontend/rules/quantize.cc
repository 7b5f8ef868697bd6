// Writes quantisation as formulas in f32: round(x / scale) + zero point, saturated, and back.
#include <algorithm>
#include <cmath>

#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

struct Range64 {
  double low = 0;
  double high = 0;
};

// Returns the range of a type that ONNX quantizes to; `bits` says if the model's has less than 8.
llvm::Expected<Range64> range_of(const OnnxNode& node, DType dtype, int bits = 0) {
  const double count = std::exp2(bits);
  if (bits != 0)
    return dtype == DType::I8 ? Range64{-count / 2, count / 2 - 1} : Range64{0, count - 1};
  switch (dtype) {
    case DType::I8:
      return Range64{-128, 127};
    case DType::U8:
      return Range64{0, 255};
    case DType::I16:
      return Range64{-32768, 32767};
    case DType::U16:
      return Range64{0, 65535};
    default:
      return unsupported_error(node.name, "expected integers of 8 or 16 bits, found {0}",
                               dtype_name(dtype));
  }
}

// Computes saturate(round(x) + zero_point) as `dtype`; zero_point is f32, or kNoId.
ir::ValueId saturated(Compose& c, ir::ValueId x, ir::ValueId zero_point, DType dtype,
                      Range64 range) {
  ir::ValueId y = c.unary(kUnaryRound, x);
  if (zero_point != ir::kNoId) y = c.add(y, zero_point);
  y = c.unary(kUnaryClip, y, static_cast<float>(range.low), static_cast<float>(range.high));
  return c.cast(y, dtype);
}

// Reshapes a scale or zero point so that it broadcasts to x: one for all, one per index of the
// axis, or one per block of `block_size` indices.
ir::ValueId spread(const OnnxNode& node, Compose& c, ir::ValueId parameter, ir::ValueId x,
                   int64_t axis_attribute, int64_t block_size) {
  const Dims64 dims(c.dims(x).begin(), c.dims(x).end());
  Dims64 own(c.dims(parameter).begin(), c.dims(parameter).end());
  if (parameter == ir::kNoId || element_count(own) == 1) return c.reshape(parameter, {});
  auto axis = normalized_axis(node, axis_attribute, dims.size());
  if (!axis) {
    c.fail(axis.takeError());
    return ir::kNoId;
  }
  if (own.size() == 1 && block_size == 0 && own[0] == dims[*axis])
    return along(c, parameter, *axis, dims.size());
  const int64_t block = std::min(block_size, dims[*axis]);
  if (own.size() != dims.size() || block < 1 || ceil_div(dims[*axis], block) != own[*axis]) {
    c.fail(input_error(node.name, "expected scales for {0} in blocks of {1}, found {2}",
                       ir::to_string(c.type(x)), block_size, ir::to_string(c.type(parameter))));
    return ir::kNoId;
  }
  Dims64 column = own;
  column.insert(column.begin() + *axis + 1, 1);
  Dims64 repeated = column;
  repeated[*axis + 1] = block;
  own[*axis] *= block;
  const ir::ValueId blocks = c.reshape(c.expand(c.reshape(parameter, column), repeated), own);
  return c.slice(blocks, *axis, 0, dims[*axis]);
}

struct Granularity {
  int64_t axis = 1;
  int64_t block_size = 0;
};

llvm::Expected<Granularity> read_granularity(const OnnxNode& node) {
  CODL_ASSIGN_OR_RETURN(axis, node.int_or("axis", 1));
  CODL_ASSIGN_OR_RETURN(block_size, node.int_or("block_size", 0));
  if (block_size < 0)
    return input_error(node.name, "expected block_size >= 0, found {0}", block_size);
  return Granularity{axis, block_size};
}

// Returns the type of the quantised output: the zero point's, or the attribute's, or u8.
llvm::Expected<DType> quantized_dtype(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(attribute, node.int_or("output_dtype", 0));
  if (node.has_input(2)) return importer.dtype_of(node, 2);
  if (attribute == 0) return DType::U8;
  const auto dtype = dtype_of_onnx(attribute);
  if (!dtype)
    return unsupported_error(node.name, "expected integers of 8 or 16 bits, found {0}",
                             onnx_type_name(attribute));
  return *dtype;
}

llvm::Error import_quantize_linear(const OnnxNode& node, Importer& importer) {
  // They concern types that codl does not have, or that are f32 here.
  ignore_attributes(node, {"saturate", "precision"});
  CODL_ASSIGN_OR_RETURN(granularity, read_granularity(node));
  CODL_ASSIGN_OR_RETURN(dtype, quantized_dtype(node, importer));
  CODL_ASSIGN_OR_RETURN(range, range_of(node, dtype, importer.bits_of(node, 2)));
  Compose c(node, importer);
  const ir::ValueId x = c.operand_as(0, DType::F32);
  const auto parameter = [&](size_t i) {
    return spread(node, c, c.operand_as(i, DType::F32), x, granularity.axis,
                  granularity.block_size);
  };
  const ir::ValueId scaled = c.div(x, parameter(1));
  return c.bind(saturated(c, scaled, node.has_input(2) ? parameter(2) : ir::kNoId, dtype, range));
}

llvm::Error import_dequantize_linear(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(granularity, read_granularity(node));
  CODL_ASSIGN_OR_RETURN(output, node.int_or("output_dtype", 0));
  const auto dtype = output == 0 ? DType::F32 : dtype_of_onnx(output);
  if (!dtype || held_dtype(*dtype) != DType::F32)
    return unsupported_error(node.name, "expected floats as output_dtype, found {0}",
                             onnx_type_name(output));
  Compose c(node, importer);
  ir::ValueId x = c.operand(0);
  const auto parameter = [&](size_t i) {
    return spread(node, c, c.operand(i), x, granularity.axis, granularity.block_size);
  };
  const ir::ValueId scale = parameter(1);
  const ir::ValueId zero_point = node.has_input(2) ? parameter(2) : ir::kNoId;
  // Integers of 32 bits are exact only before the subtraction.
  const DType exact = c.type(x).dtype == DType::I32 ? DType::I32 : DType::F32;
  if (zero_point != ir::kNoId) x = c.sub(c.cast(x, exact), c.cast(zero_point, exact));
  return c.bind(c.mul(c.cast(x, DType::F32), scale));
}

// Quantises to u8, with scale and zero point of the data's range, widened to hold 0.
llvm::Error import_dynamic_quantize_linear(const OnnxNode& node, Importer& importer) {
  Compose c(node, importer);
  const ir::ValueId x = c.operand(0);
  Dims64 axes;
  for (int64_t axis = 0; axis < c.rank(x); ++axis) axes.push_back(axis);
  const ir::ValueId zero = c.scalar(DType::F32, 0);
  const ir::ValueId low = c.binary(kBinaryMin, c.reduce(kReduceMin, x, axes, false), zero);
  const ir::ValueId high = c.binary(kBinaryMax, c.reduce(kReduceMax, x, axes, false), zero);
  // The specification divides by zero if all elements are zeros. Here the range is 1 then, as in
  // ONNX's reference evaluator; ONNX Runtime has a scale of 1. Either way y and the zero point are
  // 0.
  const ir::ValueId span = c.sub(high, low);
  const ir::ValueId is_empty = c.binary(kBinaryEqual, span, zero);
  const ir::ValueId scale =
      c.div(c.where(is_empty, c.scalar(DType::F32, 1), span), c.scalar(DType::F32, 255));
  const Range64 range = {0, 255};
  const ir::ValueId zero_point =
      saturated(c, c.div(c.sub(zero, low), scale), ir::kNoId, DType::U8, range);
  const ir::ValueId y =
      saturated(c, c.div(x, scale), c.cast(zero_point, DType::F32), DType::U8, range);
  if (llvm::Error error = c.bind(y)) return error;
  if (llvm::Error error = c.bind(scale, 1)) return error;
  return c.bind(zero_point, 2);
}

}  // namespace

llvm::ArrayRef<ImportEntry> quantize_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"DequantizeLinear", 10, kNewestOpset, import_dequantize_linear},
      {"DynamicQuantizeLinear", 11, kNewestOpset, import_dynamic_quantize_linear},
      {"QuantizeLinear", 10, kNewestOpset, import_quantize_linear},
  };
  return kEntries;
}

}  // namespace codl::compiler
