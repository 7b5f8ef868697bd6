// Imports products of integers, and of quantised values. The latter are products of floats between
// DequantizeLinear and QuantizeLinear, which passes then make one node (fuse_quantize_pairs). Those
// that ONNX wants as integers have floats that hold integers as operands, as long as floats count
// exactly.
#include <algorithm>
#include <cmath>

#include "compiler/frontend/graph/rewrite.h"
#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/graph/spatial.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

// Turns a vector of parameters into one per row of a matrix ([m] to [m, 1]); other parameters stay.
ir::ValueId per_row(Compose& c, ir::ValueId parameter) {
  const auto dims = c.dims(parameter);
  return dims.size() == 1 && dims[0] != 1 ? c.reshape(parameter, {dims[0], 1}) : parameter;
}

// Returns operand `i` minus zero point operand `zero_point`, if there is one, as i32.
ir::ValueId centred(const OnnxNode& node, Compose& c, size_t i, size_t zero_point, bool has_rows) {
  const ir::ValueId x = c.operand_as(i, DType::I32);
  if (!node.has_input(zero_point)) return x;
  const ir::ValueId offset = c.operand_as(zero_point, DType::I32);
  return c.sub(x, has_rows ? per_row(c, offset) : offset);
}

// Floats hold every integer up to this magnitude. A sum of products of integers is exact, whatever
// its order, if the sum of their magnitudes does not exceed it.
constexpr double kMaxExactSum = 1 << 24;

llvm::Expected<bool> is_byte_operand(const OnnxNode& node, Importer& importer, size_t i) {
  CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, i));
  return dtype == DType::I8 || dtype == DType::U8;
}

// Returns the largest magnitude that an 8-bit operand may have less its zero point.
llvm::Expected<double> largest_centred(const OnnxNode& node, Importer& importer, size_t i,
                                       size_t zero_point) {
  CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, i));
  const double low = dtype == DType::I8 ? -128 : 0;
  if (!node.has_input(zero_point)) return std::max(-low, low + 255);
  if (!importer.is_constant(node, zero_point)) return 255;
  CODL_ASSIGN_OR_RETURN(zeros, importer.float_constant(node, zero_point));
  double largest = 0;
  for (const float zero : zeros)
    largest = std::max({largest, std::fabs(low - zero), std::fabs(low + 255 - zero)});
  return largest;
}

// Holds constant 8-bit weights less their zero points: `sums` of `terms` elements each. Element t
// of sum s is at [s * sum_stride + t * term_stride].
struct IntegerWeights {
  LargeVector<float> elements;
  int64_t sums = 0;
  int64_t terms = 0;
  int64_t sum_stride = 0;
  int64_t term_stride = 0;

  // Divides the terms into runs of multiples of `unit`, in which the sums of magnitudes, times
  // `factor`, stay exact. Returns their ends; nothing if a single unit is too long.
  llvm::SmallVector<int64_t, 4> exact_runs(double factor, int64_t unit) const {
    llvm::SmallVector<int64_t, 4> ends;
    std::vector<double> totals(sums, 0), next(sums);
    for (int64_t first = 0; first < terms; first += unit) {
      double largest = 0, largest_alone = 0;
      for (int64_t sum = 0; sum < sums; ++sum) {
        double magnitude = 0;
        for (int64_t term = first; term < first + unit; ++term)
          magnitude += std::fabs(elements[sum * sum_stride + term * term_stride]);
        next[sum] = magnitude * factor;
        largest = std::max(largest, totals[sum] + next[sum]);
        largest_alone = std::max(largest_alone, next[sum]);
      }
      if (largest_alone > kMaxExactSum) return {};
      const bool begins_run = largest > kMaxExactSum;
      if (begins_run) ends.push_back(first);
      for (int64_t sum = 0; sum < sums; ++sum)
        totals[sum] = begins_run ? next[sum] : totals[sum] + next[sum];
    }
    ends.push_back(terms);
    return ends;
  }
};

// Reads operand `i` less zero point operand `zero_point`, which is one number, or one per sum.
llvm::Expected<IntegerWeights> read_integer_weights(const OnnxNode& node, Importer& importer,
                                                    size_t i, size_t zero_point,
                                                    IntegerWeights weights) {
  CODL_ASSIGN_OR_RETURN(elements, importer.float_constant(node, i));
  weights.elements = std::move(elements);
  if (!node.has_input(zero_point)) return weights;
  CODL_ASSIGN_OR_RETURN(zeros, importer.float_constant(node, zero_point));
  const auto count = static_cast<int64_t>(zeros.size());
  if (count != 1 && count != weights.sums)
    return input_error(node.name, "expected 1 or {0} zero points, found {1}", weights.sums, count);
  for (int64_t sum = 0; sum < weights.sums; ++sum)
    for (int64_t term = 0; term < weights.terms; ++term)
      weights.elements[sum * weights.sum_stride + term * weights.term_stride] -=
          zeros[count == 1 ? 0 : sum];
  return weights;
}

// Returns floats that hold integers as I32. The Round becomes the product's activation, and keeps
// kernels away from it that transform their operands (Winograd) and leave sums beside integers.
ir::ValueId as_integers(Compose& c, ir::ValueId x) {
  return c.cast(c.unary(kUnaryRound, x), DType::I32);
}

// Returns operand `i` less zero point operand `zero_point`, if there is one, as floats.
ir::ValueId centred_floats(const OnnxNode& node, Compose& c, size_t i, size_t zero_point) {
  const ir::ValueId x = c.operand_as(i, DType::F32);
  if (!node.has_input(zero_point)) return x;
  return c.sub(x, per_row(c, c.operand_as(zero_point, DType::F32)));
}

// Returns a number for each sum that moves its weights to where bytes hold them, if the zero point
// `zero_point` of x is one number that is known at run time only. Returns nothing for another zero
// point, and where no number does.
llvm::Expected<std::vector<float>> moves_to_bytes(const OnnxNode& node, Importer& importer,
                                                  size_t zero_point,
                                                  const IntegerWeights& weights) {
  std::vector<float> moves;
  if (!node.has_input(zero_point) || importer.is_constant(node, zero_point)) return moves;
  CODL_ASSIGN_OR_RETURN(zero_dims, importer.dims_of(node, zero_point));
  if (element_count(zero_dims) != 1) return moves;
  for (int64_t sum = 0; sum < weights.sums; ++sum) {
    float low = 0, high = 0;
    for (int64_t term = 0; term < weights.terms; ++term) {
      const float w = weights.elements[sum * weights.sum_stride + term * weights.term_stride];
      low = std::min(low, w);
      high = std::max(high, w);
    }
    if (high - low > 255) return std::vector<float>();
    moves.push_back(std::min(127 - high, 0.0f) + std::max(-128 - low, 0.0f));
  }
  return moves;
}

// Multiplies floats that hold integers by constant weights [k, n].
ir::ValueId rounded_product(Compose& c, ir::ValueId x, llvm::ArrayRef<float> w, int64_t n) {
  const auto k = static_cast<int64_t>(w.size()) / n;
  const ir::ValueId bias = c.floats(std::vector<float>(n, 0.0f), {n}, "bias");
  return c.unary(kUnaryRound,
                 c.node(OpKind::MatMul, MatMulParams{}, {x, c.floats(w, {k, n}, "weights"), bias}));
}

// Computes sums of (x - z) w, given w + move. The elements of x are integers of 8 bits whatever z
// is, so that bytes hold them:
//
//   sum of (x - z) w = sum of x (w + move) - z * sum of (w + move) - move * (sum of x - k z)
ir::ValueId uncentred_product(Compose& c, ir::ValueId x, ir::ValueId z, llvm::ArrayRef<float> moved,
                              llvm::ArrayRef<float> moves) {
  const auto n = static_cast<int64_t>(moves.size());
  const auto k = static_cast<int64_t>(moved.size()) / n;
  std::vector<float> totals(n, 0.0f);
  for (int64_t i = 0; i < k * n; ++i) totals[i % n] += moved[i];
  const ir::ValueId offsets = c.mul(c.floats(totals, {n}, "totals"), z);
  const ir::ValueId sums = c.sub(rounded_product(c, x, moved, n), offsets);
  if (llvm::all_of(moves, [](float move) { return move == 0; })) return sums;
  const ir::ValueId of_x = rounded_product(c, x, std::vector<float>(k, 1.0f), 1);
  const ir::ValueId centred = c.sub(of_x, c.mul(z, c.scalar(DType::F32, static_cast<double>(k))));
  if (llvm::is_splat(moves)) moves = moves.take_front(1);
  return c.sub(sums,
               c.mul(centred, c.floats(moves, {static_cast<int64_t>(moves.size())}, "moves")));
}

// Multiplies by constant weights [k, n] in floats: a MatMul for each run of k.
llvm::Error import_packed_matmul_integer(const OnnxNode& node, Importer& importer,
                                         llvm::ArrayRef<int64_t> x_dims, int64_t n) {
  const int64_t k = x_dims.back();
  const IntegerWeights layout = {{}, n, k, 1, n};
  CODL_ASSIGN_OR_RETURN(weights, read_integer_weights(node, importer, 1, 3, layout));
  CODL_ASSIGN_OR_RETURN(largest, largest_centred(node, importer, 0, 2));
  CODL_ASSIGN_OR_RETURN(moves, moves_to_bytes(node, importer, 2, weights));
  IntegerWeights added = weights;  // magnitudes of what is added up
  if (!moves.empty())
    for (int64_t i = 0; i < k * n; ++i) {
      weights.elements[i] += moves[i % n];
      added.elements[i] = std::fabs(weights.elements[i]) + std::fabs(moves[i % n]);
    }
  Compose c(node, importer);
  const ir::ValueId x =
      c.reshape(moves.empty() ? centred_floats(node, c, 0, 2) : c.operand_as(0, DType::F32),
                {element_count(x_dims.drop_back()), k});
  const ir::ValueId z = moves.empty() ? ir::kNoId : c.reshape(c.operand_as(2, DType::F32), {});
  Dims64 dims(x_dims.begin(), x_dims.end());
  dims.back() = n;
  ir::ValueId sum = ir::kNoId;
  int64_t begin = 0;
  for (const int64_t end : added.exact_runs(largest, 1)) {
    const llvm::ArrayRef<float> rows =
        llvm::ArrayRef<float>(weights.elements)
            .slice(static_cast<size_t>(begin * n), static_cast<size_t>((end - begin) * n));
    const ir::ValueId part = end - begin == k ? x : c.slice(x, 1, begin, end - begin);
    const ir::ValueId product = moves.empty() ? rounded_product(c, part, rows, n)
                                              : uncentred_product(c, part, z, rows, moves);
    // Casts that meet without a Reshape between go away (drop_exact_casts).
    const ir::ValueId integers = c.cast(c.reshape(product, dims), DType::I32);
    sum = begin == 0 ? integers : c.add(sum, integers);
    begin = end;
  }
  return c.bind(sum);
}

llvm::Error import_matmul_integer(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(a_dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(b_dims, importer.dims_of(node, 1));
  const bool has_weights =
      importer.is_constant(node, 1) && (!node.has_input(3) || importer.is_constant(node, 3));
  CODL_ASSIGN_OR_RETURN(is_byte, is_byte_operand(node, importer, 0));
  if (has_weights && is_byte && b_dims.size() == 2 && !a_dims.empty() &&
      a_dims.back() == b_dims[0] && element_count(a_dims) != 0 && element_count(b_dims) != 0)
    return import_packed_matmul_integer(node, importer, a_dims, b_dims[1]);
  Compose c(node, importer);
  const ir::ValueId a = centred(node, c, 0, 2, true);
  return c.bind(c.matmul(a, centred(node, c, 1, 3, false)));
}

// Returns true if the parameters of quantised operands are known, so that they make a grid.
bool are_constant(const OnnxNode& node, Importer& importer,
                  std::initializer_list<size_t> operands) {
  return llvm::all_of(
      operands, [&](size_t i) { return !node.has_input(i) || importer.is_constant(node, i); });
}

// Returns operand `i` as floats, given its scale and zero point by the operands that follow it or,
// with `first_parameter`, by those.
std::string dequantized(Rewrite& r, size_t i, size_t first_parameter, int64_t axis) {
  return r.op("DequantizeLinear",
              {r.input(i), r.input(first_parameter), r.input(first_parameter + 1)},
              {Rewrite::attribute("axis", axis)});
}

// Binds the output to integers times `scale`, quantised with zero point operand `zero_point`.
llvm::Error bind_requantized(Rewrite& r, const std::string& integers, const std::string& scale,
                             size_t zero_point) {
  constexpr int64_t kFloat = 1;  // TensorProto.DataType
  const std::string floats = r.op("Cast", {integers}, {Rewrite::attribute("to", kFloat)});
  return r.bind("QuantizeLinear", {r.op("Mul", {floats, scale}), r.scalar(1), r.input(zero_point)});
}

llvm::Error import_qlinear_matmul(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(a_scale, importer.dims_of(node, 1));
  CODL_ASSIGN_OR_RETURN(b_scale, importer.dims_of(node, 4));
  CODL_ASSIGN_OR_RETURN(a_dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(y_scale, importer.dims_of(node, 6));
  Rewrite r(node, importer);
  // One scale per matrix of a batch is left to the formula.
  const bool fits = a_scale.size() <= 1 && b_scale.size() <= 1 && a_dims.size() >= 2 &&
                    element_count(y_scale) == 1;
  if (fits && are_constant(node, importer, {1, 2, 4, 5, 6, 7})) {
    const std::string a = dequantized(r, 0, 1, -2);
    return r.bind("QuantizeLinear",
                  {r.op("MatMul", {a, dequantized(r, 3, 4, -1)}), r.input(6), r.input(7)});
  }
  const std::string product =
      r.op("MatMulInteger", {r.input(0), r.input(3), r.input(2), r.input(5)});
  std::string scale = r.input(1);
  if (a_scale.size() == 1 && a_scale[0] != 1) scale = r.op("Reshape", {scale, r.ints({-1, 1})});
  scale = r.op("Div", {r.op("Mul", {scale, r.input(4)}), r.input(6)});
  return bind_requantized(r, product, scale, 7);
}

// Reshapes a scalar, or a vector with an element per index of axis `axis`, to `rank` dims.
ir::ValueId along_channels(Compose& c, ir::ValueId parameter, int64_t axis, size_t rank) {
  int64_t count = 1;
  for (int32_t dim : c.dims(parameter)) count *= dim;
  return count == 1 ? c.reshape(parameter, {}) : along(c, parameter, axis, rank);
}

// Holds the indices of a quantised convolution's operands.
struct ConvOperands {
  size_t w = 0;
  size_t x_zero_point = 0;
  size_t w_zero_point = 0;
};

// Convolves integers, in i32.
llvm::Expected<ir::ValueId> integer_convolution(const OnnxNode& node, Importer& importer,
                                                Compose& c, const ConvOperands& operands) {
  CODL_ASSIGN_OR_RETURN(x_dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(w_dims, importer.dims_of(node, operands.w));
  if (x_dims.size() != w_dims.size() || x_dims.size() < 3)
    return input_error(node.name, "expected input and weights of one rank >= 3, found {0} and {1}",
                       x_dims.size(), w_dims.size());
  if (x_dims.size() > 5)
    return unsupported_error(node.name, "expected 1 to 3 spatial axes, found {0}",
                             x_dims.size() - 2);
  CODL_ASSIGN_OR_RETURN(groups, node.int_or("group", 1));
  if (groups < 1 || w_dims[0] % groups != 0)
    return input_error(node.name, "expected group that divides {0}, found {1}", w_dims[0], groups);
  CODL_ASSIGN_OR_RETURN(window,
                        read_spatial_attributes(node, llvm::makeArrayRef(x_dims).drop_front(2),
                                                llvm::makeArrayRef(w_dims).drop_front(2)));
  ir::ValueId x = c.operand_as(0, DType::I32);
  ir::ValueId w = c.operand_as(operands.w, DType::I32);
  if (node.has_input(operands.x_zero_point))
    x = c.sub(x, c.reshape(c.operand_as(operands.x_zero_point, DType::I32), {}));
  if (node.has_input(operands.w_zero_point))
    w = c.sub(w,
              along_channels(c, c.operand_as(operands.w_zero_point, DType::I32), 0, w_dims.size()));
  ConvNdParams params = {};
  params.groups = static_cast<int32_t>(groups);
  set_window_nd(params, window.axes);
  return c.node(OpKind::ConvNd, params, {x, w});
}

Rewrite::Attributes conv_attributes(const OnnxNode& node) {
  return Rewrite::taken(node,
                        {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
}

// Convolves with constant weights in floats: a Conv for each run of input channels. Returns false,
// and does nothing, for what such runs cannot do.
llvm::Expected<bool> import_packed_conv_integer(const OnnxNode& node, Importer& importer) {
  if (!are_constant(node, importer, {1, 3})) return false;
  CODL_ASSIGN_OR_RETURN(x_dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(w_dims, importer.dims_of(node, 1));
  CODL_ASSIGN_OR_RETURN(groups, node.int_or("group", 1));
  CODL_ASSIGN_OR_RETURN(is_byte, is_byte_operand(node, importer, 0));
  if (!is_byte || w_dims.size() < 3 || element_count(w_dims) == 0 || x_dims.size() != w_dims.size())
    return false;
  const int64_t terms = element_count(llvm::makeArrayRef(w_dims).drop_front());
  const int64_t taps = terms / w_dims[1];
  const IntegerWeights layout = {{}, w_dims[0], terms, terms, 1};
  CODL_ASSIGN_OR_RETURN(weights, read_integer_weights(node, importer, 1, 3, layout));
  CODL_ASSIGN_OR_RETURN(largest, largest_centred(node, importer, 0, 2));
  const auto ends = weights.exact_runs(largest, taps);
  if (ends.empty() || (ends.size() > 1 && groups != 1)) return false;
  Compose c(node, importer);
  ir::ValueId x = c.operand_as(0, DType::F32);
  if (node.has_input(2)) x = c.sub(x, c.reshape(c.operand_as(2, DType::F32), {}));
  const ir::ValueId w = c.floats(weights.elements, w_dims, "weights");
  Rewrite r(node, importer);
  ir::ValueId sum = ir::kNoId;
  int64_t begin = 0;
  for (const int64_t end : ends) {
    ir::ValueId part_x = x;
    ir::ValueId part_w = w;
    if (ends.size() > 1) {
      part_x = c.slice(x, 1, begin / taps, (end - begin) / taps);
      part_w = c.slice(w, 1, begin / taps, (end - begin) / taps);
    }
    if (llvm::Error error = c.take_error()) return error;
    OnnxNode product = node;
    product.inputs = {
        r.op("Conv",
             {importer.define_value(node, "x", part_x), importer.define_value(node, "w", part_w)},
             conv_attributes(node))};
    if (llvm::Error error = r.take_error()) return error;
    CODL_ASSIGN_OR_RETURN(floats, importer.operand(product, 0));
    const ir::ValueId integers = as_integers(c, floats);
    sum = begin == 0 ? integers : c.add(sum, integers);
    begin = end;
  }
  if (llvm::Error error = c.bind(sum)) return error;
  return true;
}

llvm::Error import_conv_integer(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(is_done, import_packed_conv_integer(node, importer));
  if (is_done) return llvm::Error::success();
  Compose c(node, importer);
  CODL_ASSIGN_OR_RETURN(y, integer_convolution(node, importer, c, {1, 2, 3}));
  return c.bind(y);
}

llvm::Error import_qlinear_conv(const OnnxNode& node, Importer& importer) {
  Rewrite r(node, importer);
  if (are_constant(node, importer, {1, 2, 4, 5, 6, 7})) {
    Rewrite::Names operands = {dequantized(r, 0, 1, 1), dequantized(r, 3, 4, 0)};
    if (node.has_input(8))
      operands.push_back(r.op("DequantizeLinear",
                              {r.input(8), r.op("Mul", {r.input(1), r.input(4)})},
                              {Rewrite::attribute("axis", int64_t{0})}));
    const std::string y = r.op("Conv", std::move(operands), conv_attributes(node));
    return r.bind("QuantizeLinear", {y, r.input(6), r.input(7)});
  }
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(w_scale, importer.dims_of(node, 4));
  std::vector<int64_t> per_channel(dims.size(), 1);
  if (per_channel.size() > 1) per_channel[1] = -1;
  std::string sum =
      r.op("ConvInteger", {r.input(0), r.input(3), r.input(2), r.input(5)}, conv_attributes(node));
  if (node.has_input(8))
    sum = r.op("Add", {sum, r.op("Reshape", {r.input(8), r.ints(per_channel)})});
  std::string scale = r.input(4);
  if (element_count(w_scale) != 1) scale = r.op("Reshape", {scale, r.ints(per_channel)});
  scale = r.op("Div", {r.op("Mul", {r.input(1), scale}), r.input(6)});
  return bind_requantized(r, sum, scale, 7);
}

}  // namespace

llvm::ArrayRef<ImportEntry> integer_product_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"ConvInteger", 10, kNewestOpset, import_conv_integer},
      {"MatMulInteger", 10, kNewestOpset, import_matmul_integer},
      {"QLinearConv", 10, kNewestOpset, import_qlinear_conv},
      {"QLinearMatMul", 10, kNewestOpset, import_qlinear_matmul},
  };
  return kEntries;
}

}  // namespace codl::compiler
