// Imports operators on quantised values of domain com.microsoft, which ONNX Runtime's quantisation
// tools write. Each is the operator on floats between DequantizeLinear and QuantizeLinear; ONNX
// Runtime's ContribOperators.md defines them.
#include <algorithm>

#include "compiler/frontend/graph/rewrite.h"
#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

using Names = Rewrite::Names;
using Attributes = Rewrite::Attributes;

// Returns operand `i` as floats; its scale and zero point are the two operands after it.
std::string dequantized_operand(Rewrite& r, size_t i, int64_t axis = 1) {
  return r.op("DequantizeLinear", {r.input(i), r.input(i + 1), r.input(i + 2)},
              {Rewrite::attribute("axis", axis)});
}

// Binds the output to x, quantised by scale operand `scale` and the zero point after it. Without a
// zero point it has the type of operand 0.
llvm::Error bind_quantized(const OnnxNode& node, Importer& importer, Rewrite& r,
                           const std::string& x, size_t scale) {
  Attributes attributes;
  if (!node.has_input(scale + 1)) {
    CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
    constexpr int64_t kUint8 = 2, kInt8 = 3;  // TensorProto.DataType
    attributes.push_back(Rewrite::attribute("output_dtype", dtype == DType::I8 ? kInt8 : kUint8));
  }
  return r.bind("QuantizeLinear", {x, r.input(scale), r.input(scale + 1)}, std::move(attributes));
}

// ---- elementwise ----

llvm::Error import_qlinear_binary(const OnnxNode& node, Importer& importer,
                                  llvm::StringRef op_type) {
  Rewrite r(node, importer);
  const std::string a = dequantized_operand(r, 0);
  return bind_quantized(node, importer, r, r.op(op_type, {a, dequantized_operand(r, 3)}), 6);
}

llvm::Error import_qlinear_add(const OnnxNode& node, Importer& importer) {
  return import_qlinear_binary(node, importer, "Add");
}

llvm::Error import_qlinear_mul(const OnnxNode& node, Importer& importer) {
  return import_qlinear_binary(node, importer, "Mul");
}

llvm::Error import_qlinear_unary(const OnnxNode& node, Importer& importer, llvm::StringRef op_type,
                                 Attributes attributes) {
  Rewrite r(node, importer);
  return bind_quantized(node, importer, r,
                        r.op(op_type, {dequantized_operand(r, 0)}, std::move(attributes)), 3);
}

llvm::Error import_qlinear_sigmoid(const OnnxNode& node, Importer& importer) {
  return import_qlinear_unary(node, importer, "Sigmoid", {});
}

llvm::Error import_qlinear_leaky_relu(const OnnxNode& node, Importer& importer) {
  return import_qlinear_unary(node, importer, "LeakyRelu", Rewrite::taken(node, {"alpha"}));
}

// Before opset 13, Softmax is over all axes from `axis` on.
llvm::Error import_qlinear_softmax(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(opset, node.int_or("opset", 0));
  CODL_ASSIGN_OR_RETURN(axis_attribute, node.int_or("axis", opset < 13 ? 1 : -1));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(axis, normalized_axis(node, axis_attribute, dims.size()));
  Rewrite r(node, importer);
  std::string x = dequantized_operand(r, 0);
  const bool is_one_axis = opset >= 13 || axis + 1 == static_cast<int64_t>(dims.size());
  if (!is_one_axis) x = r.op("Flatten", {x}, {Rewrite::attribute("axis", int64_t{axis})});
  x = r.op("Softmax", {x}, {Rewrite::attribute("axis", is_one_axis ? int64_t{axis} : -1)});
  if (!is_one_axis) x = r.op("Reshape", {x, r.ints(dims)});
  return bind_quantized(node, importer, r, x, 3);
}

// QLinearWhere(condition, x, scale, zero point, y, scale, zero point, scale, zero point)
llvm::Error import_qlinear_where(const OnnxNode& node, Importer& importer) {
  Rewrite r(node, importer);
  const std::string x = dequantized_operand(r, 1);
  return bind_quantized(node, importer, r,
                        r.op("Where", {r.input(0), x, dequantized_operand(r, 4)}), 7);
}

// QLinearConcat(scale, zero point of the result, then x, scale, zero point for each)
llvm::Error import_qlinear_concat(const OnnxNode& node, Importer& importer) {
  if (node.inputs.size() < 5 || node.inputs.size() % 3 != 2)
    return input_error(node.name, "expected 2 operands and 3 per value, found {0}",
                       node.inputs.size());
  Rewrite r(node, importer);
  Names values;
  for (size_t i = 2; i < node.inputs.size(); i += 3) values.push_back(dequantized_operand(r, i));
  return r.bind(
      "QuantizeLinear",
      {r.op("Concat", std::move(values), Rewrite::taken(node, {"axis"})), r.input(0), r.input(1)});
}

// ---- pools and means ----

llvm::Error import_qlinear_pool(const OnnxNode& node, Importer& importer, llvm::StringRef op_type,
                                Attributes attributes) {
  CODL_ASSIGN_OR_RETURN(channels_last, node.int_or("channels_last", 0));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  if (dims.size() < 3) return input_error(node.name, "expected rank >= 3, found {0}", dims.size());
  Rewrite r(node, importer);
  std::string x = dequantized_operand(r, 0);
  if (channels_last != 0) x = with_channels_first(r, x, dims.size());
  x = r.op(op_type, {x}, std::move(attributes));
  if (channels_last != 0) x = with_channels_last(r, x, dims.size());
  return bind_quantized(node, importer, r, x, 3);
}

llvm::Error import_qlinear_average_pool(const OnnxNode& node, Importer& importer) {
  return import_qlinear_pool(node, importer, "AveragePool",
                             Rewrite::taken(node, {"auto_pad", "ceil_mode", "count_include_pad",
                                                   "kernel_shape", "pads", "strides"}));
}

llvm::Error import_qlinear_global_average_pool(const OnnxNode& node, Importer& importer) {
  return import_qlinear_pool(node, importer, "GlobalAveragePool", {});
}

// ---- products ----

// Multiplies y by alpha, unless that is 1.
std::string times_alpha(Rewrite& r, const std::string& y, float alpha) {
  return alpha == 1 ? y : r.op("Mul", {y, r.scalar(alpha)});
}

std::string as_float(Rewrite& r, const std::string& x) {
  constexpr int64_t kFloat = 1;  // TensorProto.DataType
  return r.op("Cast", {x}, {Rewrite::attribute("to", kFloat)});
}

// QGemm(A, scale, zero point, B, scale, zero point, C, scale, zero point of Y). C is of 32 bits,
// with the products' scale. Y is float without a scale.
llvm::Error import_qgemm(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(alpha, node.float_or("alpha", 1.0f));
  CODL_ASSIGN_OR_RETURN(is_b_transposed, node.int_or("transB", 0));
  Rewrite r(node, importer);
  const std::string a = dequantized_operand(r, 0);
  Names operands = {a, dequantized_operand(r, 3, is_b_transposed != 0 ? 0 : 1)};
  if (node.has_input(6)) {
    const std::string scale = times_alpha(r, r.op("Mul", {r.input(1), r.input(4)}), alpha);
    operands.push_back(r.op("Mul", {as_float(r, r.input(6)), scale}));
  }
  Attributes attributes = Rewrite::taken(node, {"alpha", "transA", "transB"});
  if (!node.has_input(7)) return r.bind("Gemm", std::move(operands), std::move(attributes));
  return bind_quantized(node, importer, r, r.op("Gemm", std::move(operands), std::move(attributes)),
                        7);
}

// This is ONNX's, but may have the channels last.
llvm::Error import_contrib_qlinear_conv(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(channels_last, node.int_or("channels_last", 0));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  Attributes attributes =
      Rewrite::taken(node, {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
  Rewrite r(node, importer);
  Names operands = node.inputs;
  if (channels_last == 0 || dims.size() < 3)
    return r.bind("QLinearConv", std::move(operands), std::move(attributes));
  operands[0] = with_channels_first(r, operands[0], dims.size());
  const std::string y = r.op("QLinearConv", std::move(operands), std::move(attributes));
  std::vector<int64_t> perm = {0};
  for (size_t i = 2; i < dims.size(); ++i) perm.push_back(static_cast<int64_t>(i));
  perm.push_back(1);
  return r.bind("Transpose", {y}, {Rewrite::attribute("perm", std::move(perm))});
}

// Binds the output to A B, times both scales, plus the bias. The operands are names, and may be
// empty for zero points and bias.
llvm::Error bind_scaled_product(Rewrite& r, const Names& a, const Names& b,
                                const std::string& bias) {
  const std::string product = r.op("MatMulInteger", {a[0], b[0], a[2], b[2]});
  const std::string scale = r.op("Mul", {a[1], b[1]});
  if (bias.empty()) return r.bind("Mul", {as_float(r, product), scale});
  return r.bind("Add", {r.op("Mul", {as_float(r, product), scale}), bias});
}

// MatMulIntegerToFloat(A, B, scales of both, zero points of both, bias)
llvm::Error import_matmul_integer_to_float(const OnnxNode& node, Importer& importer) {
  Rewrite r(node, importer);
  return bind_scaled_product(r, {r.input(0), r.input(2), r.input(4)},
                             {r.input(1), r.input(3), r.input(5)}, r.input(6));
}

// DynamicQuantizeMatMul(A, B, scale and zero point of B, bias)
llvm::Error import_dynamic_quantize_matmul(const OnnxNode& node, Importer& importer) {
  Rewrite r(node, importer);
  const Names a = r.ops("DynamicQuantizeLinear", {r.input(0)}, {}, 3);
  return bind_scaled_product(r, a, {r.input(1), r.input(2), r.input(3)}, r.input(4));
}

// Returns weights [directions, inputs, gates] as LSTM's: floats, [directions, gates, inputs]. Scale
// and zero point, operands `scale` and the next, are one per direction, or one per gate, too.
llvm::Expected<std::string> lstm_weights(const OnnxNode& node, Importer& importer, Rewrite& r,
                                         size_t i, size_t scale) {
  const auto parameter = [&](size_t k) -> llvm::Expected<std::string> {
    CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, k));
    if (dims.empty() || dims.size() > 2)
      return input_error(node.name, "expected rank 1 or 2 of operand {0}, found {1}", k,
                         dims.size());
    return r.op("Reshape",
                {as_float(r, r.input(k)), r.ints({dims[0], 1, dims.size() == 2 ? dims[1] : 1})});
  };
  std::string weights = as_float(r, r.input(i));
  if (node.has_input(scale + 1)) {
    CODL_ASSIGN_OR_RETURN(zeros, parameter(scale + 1));
    weights = r.op("Sub", {weights, zeros});
  }
  CODL_ASSIGN_OR_RETURN(scales, parameter(scale));
  return r.op("Transpose", {r.op("Mul", {weights, scales})},
              {Rewrite::attribute("perm", std::vector<int64_t>{0, 2, 1})});
}

// DynamicQuantizeLSTM(X, W, R, B, lengths, h, c, P, scale and zero point of W, and of R): an LSTM
// of dequantised weights and of the quantised input. The hidden state is not rounded.
llvm::Error import_dynamic_quantize_lstm(const OnnxNode& node, Importer& importer) {
  Rewrite r(node, importer);
  CODL_ASSIGN_OR_RETURN(w, lstm_weights(node, importer, r, 1, 8));
  CODL_ASSIGN_OR_RETURN(recurrent, lstm_weights(node, importer, r, 2, 10));
  const Names quantized = r.ops("DynamicQuantizeLinear", {r.input(0)}, {}, 3);
  const std::string x = r.op("DequantizeLinear", quantized);
  const Names results =
      r.ops("LSTM", {x, w, recurrent, r.input(3), r.input(4), r.input(5), r.input(6), r.input(7)},
            Rewrite::taken(node, {"activation_alpha", "activation_beta", "activations", "clip",
                                  "direction", "hidden_size", "input_forget"}),
            3);
  if (llvm::Error error = r.take_error()) return error;
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (!node.outputs[i].empty()) importer.bind_name(node, i, results[i]);
  return llvm::Error::success();
}

// ---- weights of few bits ----

// Returns element `i` of a row of unsigned integers of `bits` bits, the first in the lowest bits.
int packed_element(llvm::ArrayRef<uint8_t> row, int64_t i, int64_t bits) {
  const int64_t at = i * bits;
  return row[at / 8] >> at % 8 & ((1 << bits) - 1);
}

// Describes the weights of MatMulNBits: n rows of blocks along k. A block has a scale and a zero
// point.
struct BlockedWeights {
  int64_t k = 0;
  int64_t n = 0;
  int64_t bits = 4;
  int64_t block = 32;

  int64_t blocks() const { return ceil_div(k, block); }
  int64_t block_bytes() const { return block * bits / 8; }
  int64_t zero_bytes() const { return ceil_div(blocks() * bits, 8); }  // per row
};

llvm::Expected<BlockedWeights> read_blocked_weights(const OnnxNode& node) {
  BlockedWeights weights;
  CODL_ASSIGN_OR_RETURN(k, node.int_or("K", 0));
  CODL_ASSIGN_OR_RETURN(n, node.int_or("N", 0));
  CODL_ASSIGN_OR_RETURN(bits, node.int_or("bits", 4));
  CODL_ASSIGN_OR_RETURN(block, node.int_or("block_size", 0));
  CODL_ASSIGN_OR_RETURN(prepacked, node.int_or("weight_prepacked", 0));
  if (k < 1 || n < 1 || n > kMaxSetting / k || block < 16 || (block & (block - 1)) != 0 ||
      block > kMaxSetting / 8)
    return input_error(node.name,
                       "expected K and N of 1 or more, and block_size a power of two of "
                       "16 or more, found {0}, {1} and {2}",
                       k, n, block);
  if (bits != 2 && bits != 4 && bits != 8)
    return unsupported_error(node.name, "expected weights of 2, 4 or 8 bits, found {0}", bits);
  if (prepacked != 0)
    return unsupported_error(node.name,
                             "expected weights in ONNX Runtime's own order, found "
                             "weight_prepacked {0}",
                             prepacked);
  if (node.has_input(4))
    return unsupported_error(node.name, "expected blocks in order, found g_idx");
  weights.k = k;
  weights.n = n;
  weights.bits = bits;
  weights.block = block;
  return weights;
}

// Returns the zero point of each block, row by row.
llvm::Expected<std::vector<float>> read_zero_points(const OnnxNode& node, Importer& importer,
                                                    const BlockedWeights& weights) {
  const int64_t count = weights.n * weights.blocks();
  std::vector<float> zeros(count, static_cast<float>(1 << (weights.bits - 1)));
  if (!node.has_input(3)) return zeros;
  CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 3));
  if (dtype != DType::U8) {
    CODL_ASSIGN_OR_RETURN(given, importer.float_constant(node, 3));
    if (static_cast<int64_t>(given.size()) != count)
      return input_error(node.name, "expected {0} zero points, found {1}", count, given.size());
    return std::vector<float>(given.begin(), given.end());
  }
  CODL_ASSIGN_OR_RETURN(given, importer.constant(node, 3));
  const llvm::ArrayRef<uint8_t> bytes = given.as<uint8_t>();
  if (static_cast<int64_t>(bytes.size()) != weights.n * weights.zero_bytes())
    return input_error(node.name, "expected {0} bytes of zero points, found {1}",
                       weights.n * weights.zero_bytes(), bytes.size());
  for (int64_t i = 0; i < count; ++i)
    zeros[i] = static_cast<float>(
        packed_element(bytes.drop_front(i / weights.blocks() * weights.zero_bytes()),
                       i % weights.blocks(), weights.bits));
  return zeros;
}

// MatMulNBits(A, B [n, blocks, bytes], scales, zero points, g_idx, bias): the weights become
// floats.
llvm::Error import_matmul_n_bits(const OnnxNode& node, Importer& importer) {
  ignore_attributes(node, {"accuracy_level"});  // says how exactly to compute at least
  CODL_ASSIGN_OR_RETURN(weights, read_blocked_weights(node));
  CODL_ASSIGN_OR_RETURN(b, importer.constant(node, 1));
  CODL_ASSIGN_OR_RETURN(scales, importer.float_constant(node, 2));
  const int64_t blocks = weights.blocks();
  const llvm::ArrayRef<uint8_t> bytes = b.as<uint8_t>();
  if (static_cast<int64_t>(bytes.size()) != weights.n * blocks * weights.block_bytes() ||
      static_cast<int64_t>(scales.size()) != weights.n * blocks)
    return input_error(node.name, "expected {0} bytes of weights and {1} scales, found {2} and {3}",
                       weights.n * blocks * weights.block_bytes(), weights.n * blocks, bytes.size(),
                       scales.size());
  CODL_ASSIGN_OR_RETURN(zeros, read_zero_points(node, importer, weights));
  LargeVector<float> floats(static_cast<size_t>(weights.k * weights.n));
  for (int64_t row = 0; row < weights.n; ++row)
    for (int64_t i = 0; i < weights.k; ++i) {
      const int64_t at = row * blocks + i / weights.block;
      const int element = packed_element(bytes.drop_front(at * weights.block_bytes()),
                                         i % weights.block, weights.bits);
      floats[i * weights.n + row] = (static_cast<float>(element) - zeros[at]) * scales[at];
    }
  Compose c(node, importer);
  Rewrite r(node, importer);
  const ir::ValueId w = c.floats(floats, {weights.k, weights.n}, "weights");
  if (llvm::Error error = c.take_error()) return error;
  const Names operands = {r.input(0), importer.define_value(node, "weights", w)};
  if (!node.has_input(5)) return r.bind("MatMul", operands);
  return r.bind("Add", {r.op("MatMul", operands), r.input(5)});
}

// Returns u8 values with a pair of 4-bit ones in the place of each of the last dim, the low bits
// first.
std::string unpacked_pairs(Rewrite& r, const std::string& bytes, std::vector<int64_t> dims) {
  const std::string low = r.op("Mod", {bytes, r.op("CastLike", {r.scalar(16), bytes})});
  const std::string high = r.op("Div", {bytes, r.op("CastLike", {r.scalar(16), bytes})});
  const std::string last = r.ints({-1});
  const std::string pairs =
      r.op("Concat", {r.op("Unsqueeze", {low, last}), r.op("Unsqueeze", {high, last})},
           {Rewrite::attribute("axis", int64_t{-1})});
  dims.back() *= 2;
  return r.op("Reshape", {pairs, r.ints(dims)});
}

// GatherBlockQuantized(data [n, k], indices, scales, zero points): rows of a table of which blocks
// along k have a scale. What is gathered becomes floats.
llvm::Error import_gather_block_quantized(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(gather_axis, node.int_or("gather_axis", 0));
  CODL_ASSIGN_OR_RETURN(quantize_axis, node.int_or("quantize_axis", 1));
  CODL_ASSIGN_OR_RETURN(block_size, node.int_or("block_size", 128));
  CODL_ASSIGN_OR_RETURN(bits, node.int_or("bits", 4));
  CODL_ASSIGN_OR_RETURN(data, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(scales, importer.dims_of(node, 2));
  CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
  if (data.size() != 2 || scales.size() != 2 || gather_axis != 0 ||
      (quantize_axis != 1 && quantize_axis != -1) || (bits != 4 && bits != 8))
    return unsupported_error(
        node.name, "expected rows of a table, in blocks of 4 or 8 bits, found another form");
  const bool is_byte = dtype == DType::U8 && importer.bits_of(node, 0) == 0;
  const bool is_packed = is_byte && bits == 4;
  Rewrite r(node, importer);
  const auto gathered = [&](size_t i) -> llvm::Expected<std::string> {
    const std::string rows = r.op("Gather", {r.input(i), r.input(1)});
    if (!is_packed || i == 2) return rows;
    CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 1));
    CODL_ASSIGN_OR_RETURN(row, importer.dims_of(node, i));
    std::vector<int64_t> all(dims.begin(), dims.end());
    all.push_back(row.back());
    const std::string unpacked = unpacked_pairs(r, rows, std::move(all));
    if (i == 0) return unpacked;
    // The last byte holds only one zero point if the blocks are odd.
    return r.op("Slice", {unpacked, r.ints({0}), r.ints({scales[1]}), r.ints({-1})});
  };
  CODL_ASSIGN_OR_RETURN(q, gathered(0));
  CODL_ASSIGN_OR_RETURN(scale, gathered(2));
  std::string zero;
  if (node.has_input(3)) {
    CODL_ASSIGN_OR_RETURN(zeros, gathered(3));
    zero = zeros;
  } else if (is_byte) {
    zero = r.op("CastLike", {r.scalar(bits == 4 ? 8 : 128), q});
  }
  return r.bind(
      "DequantizeLinear", {q, scale, zero},
      {Rewrite::attribute("axis", int64_t{-1}), Rewrite::attribute("block_size", block_size)});
}

// ---- as in ONNX's own domain ----

llvm::Error import_contrib_quantize(const OnnxNode& node, Importer& importer) {
  Rewrite r(node, importer);
  return r.bind("QuantizeLinear", {r.input(0), r.input(1), r.input(2)},
                Rewrite::taken(node, {"axis", "block_size"}));
}

llvm::Error import_contrib_dequantize(const OnnxNode& node, Importer& importer) {
  Rewrite r(node, importer);
  return r.bind("DequantizeLinear", {r.input(0), r.input(1), r.input(2)},
                Rewrite::taken(node, {"axis", "block_size"}));
}

}  // namespace

llvm::ArrayRef<ImportEntry> contrib_quantize_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"DequantizeLinear", kContribVersion, kContribVersion, import_contrib_dequantize,
       kContribDomain},
      {"DynamicQuantizeLSTM", kContribVersion, kContribVersion, import_dynamic_quantize_lstm,
       kContribDomain},
      {"DynamicQuantizeMatMul", kContribVersion, kContribVersion, import_dynamic_quantize_matmul,
       kContribDomain},
      {"GatherBlockQuantized", kContribVersion, kContribVersion, import_gather_block_quantized,
       kContribDomain},
      {"MatMulIntegerToFloat", kContribVersion, kContribVersion, import_matmul_integer_to_float,
       kContribDomain},
      {"MatMulNBits", kContribVersion, kContribVersion, import_matmul_n_bits, kContribDomain},
      {"QGemm", kContribVersion, kContribVersion, import_qgemm, kContribDomain},
      {"QLinearAdd", kContribVersion, kContribVersion, import_qlinear_add, kContribDomain},
      {"QLinearAveragePool", kContribVersion, kContribVersion, import_qlinear_average_pool,
       kContribDomain},
      {"QLinearConcat", kContribVersion, kContribVersion, import_qlinear_concat, kContribDomain},
      {"QLinearConv", kContribVersion, kContribVersion, import_contrib_qlinear_conv,
       kContribDomain},
      {"QLinearGlobalAveragePool", kContribVersion, kContribVersion,
       import_qlinear_global_average_pool, kContribDomain},
      {"QLinearLeakyRelu", kContribVersion, kContribVersion, import_qlinear_leaky_relu,
       kContribDomain},
      {"QLinearMul", kContribVersion, kContribVersion, import_qlinear_mul, kContribDomain},
      {"QLinearSigmoid", kContribVersion, kContribVersion, import_qlinear_sigmoid, kContribDomain},
      {"QLinearSoftmax", kContribVersion, kContribVersion, import_qlinear_softmax, kContribDomain},
      {"QLinearWhere", kContribVersion, kContribVersion, import_qlinear_where, kContribDomain},
      {"QuantizeLinear", kContribVersion, kContribVersion, import_contrib_quantize, kContribDomain},
  };
  return kEntries;
}

}  // namespace codl::compiler
