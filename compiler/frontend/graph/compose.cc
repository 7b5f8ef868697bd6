#include "compiler/frontend/graph/compose.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "schema/step_shape.h"

namespace codl::compiler {
namespace {

template <typename T>
void put(std::vector<uint8_t>& bytes, T element) {
  const size_t at = bytes.size();
  bytes.resize(at + sizeof element);
  std::memcpy(bytes.data() + at, &element, sizeof element);
}

// Returns one element of the dtype; an integer out of its range saturates. Not for F16 and BF16,
// because nothing computes with them.
std::vector<uint8_t> element_bytes(DType dtype, double value) {
  std::vector<uint8_t> bytes;
  auto put_integer = [&](auto zero) {
    using T = decltype(zero);
    const double low = static_cast<double>(std::numeric_limits<T>::lowest());
    const double high = static_cast<double>(std::numeric_limits<T>::max());
    if (value <= low) return put(bytes, std::numeric_limits<T>::lowest());
    if (value >= high) return put(bytes, std::numeric_limits<T>::max());
    put(bytes, static_cast<T>(value));
  };
  switch (dtype) {
    case DType::Bool:
      put(bytes, static_cast<uint8_t>(value != 0));
      break;
    case DType::I8:
      put_integer(int8_t{});
      break;
    case DType::U8:
      put_integer(uint8_t{});
      break;
    case DType::I16:
      put_integer(int16_t{});
      break;
    case DType::U16:
      put_integer(uint16_t{});
      break;
    case DType::I32:
      put_integer(int32_t{});
      break;
    case DType::U32:
      put_integer(uint32_t{});
      break;
    case DType::I64:
      put_integer(int64_t{});
      break;
    case DType::U64:
      put_integer(uint64_t{});
      break;
    case DType::F64:
      put(bytes, value);
      break;
    default:
      put(bytes, static_cast<float>(value));
  }
  return bytes;
}

llvm::SmallVector<int64_t, 4> widened(llvm::ArrayRef<int32_t> dims) {
  return llvm::SmallVector<int64_t, 4>(dims.begin(), dims.end());
}

bool has_dims(const ir::TensorType& type, llvm::ArrayRef<int64_t> dims) {
  return std::equal(type.dims.begin(), type.dims.end(), dims.begin(), dims.end());
}

}  // namespace

Compose::Compose(const OnnxNode& node, Importer& importer)
    : node_(node),
      importer_(importer),
      first_value_(static_cast<ir::ValueId>(importer.graph().values().size())) {}

ir::ValueId Compose::take(llvm::Expected<ir::ValueId> value) {
  if (value) return *value;
  fail(value.takeError());
  return ir::kNoId;
}

int32_t Compose::axis_of(ir::ValueId x, int64_t axis) {
  auto positive = normalized_axis(node_, axis, type(x).dims.size());
  if (positive) return *positive;
  fail(positive.takeError());
  return 0;
}

// ---- operands ----

ir::ValueId Compose::operand(size_t i) {
  if (error_) return ir::kNoId;
  return take(importer_.operand(node_, i));
}

ir::ValueId Compose::operand_as(size_t i, DType dtype) { return cast(operand(i), dtype); }

ir::ValueId Compose::named(llvm::StringRef name) {
  if (error_) return ir::kNoId;
  OnnxNode reader;
  reader.name = node_.name;
  reader.op_type = node_.op_type;
  reader.inputs = {name.str()};
  return take(importer_.operand(reader, 0));
}

const ir::TensorType& Compose::type(ir::ValueId value) const {
  // After an error, formulas go on; this type has every dim that they may look at.
  static const ir::TensorType kAnything{DType::F32, ir::Dims(kMaxRank, 1), Layout::Plain};
  return value == ir::kNoId ? kAnything : importer_.type(value);
}

llvm::ArrayRef<int32_t> Compose::dims(ir::ValueId value) const { return type(value).dims; }

int32_t Compose::rank(ir::ValueId value) const { return type(value).rank(); }

// ---- constants ----

ir::ValueId Compose::constant(DType dtype, llvm::ArrayRef<int64_t> dims, SharedBytes bytes) {
  if (error_) return ir::kNoId;
  return take(importer_.add_constant(node_, "constant", dtype, dims, std::move(bytes)));
}

ir::ValueId Compose::scalar(DType dtype, double value) {
  return constant(dtype, {}, element_bytes(dtype, value));
}

ir::ValueId Compose::filled(DType dtype, double value, llvm::ArrayRef<int64_t> dims) {
  return expand(scalar(dtype, value), dims);
}

ir::ValueId Compose::floats(llvm::ArrayRef<float> elements, llvm::ArrayRef<int64_t> dims,
                            llvm::StringRef name) {
  if (error_) return ir::kNoId;
  return take(importer_.add_constant(node_, name, DType::F32, dims, bytes_of(elements)));
}

ir::ValueId Compose::ints(llvm::ArrayRef<int64_t> elements, llvm::ArrayRef<int64_t> dims) {
  return constant(DType::I64, dims, bytes_of(elements));
}

// ---- elementwise ----

ir::ValueId Compose::unary(int32_t kind, ir::ValueId x, float alpha, float beta) {
  return node(OpKind::Unary, UnaryParams{.kind = kind, .alpha = alpha, .beta = beta}, {x});
}

// Returns the value with dims of 1 in front until it has `rank` dims. A constant gets the dims
// itself, without a node.
ir::ValueId Compose::of_rank(ir::ValueId x, int32_t rank, llvm::StringRef name) {
  if (error_ || type(x).rank() == rank) return x;
  if (importer_.graph().value(x).is_constant)
    return take(importer_.constant_of_rank(node_, name, x, rank));
  llvm::SmallVector<int64_t, 4> dims(rank - type(x).rank(), 1);
  dims.append(type(x).dims.begin(), type(x).dims.end());
  return take(importer_.append_reshape(node_, name, x, dims));
}

// Makes the operands' ranks equal, because kernels and layouts prefer that.
ir::ValueId Compose::binary(int32_t kind, ir::ValueId a, ir::ValueId b) {
  const int32_t rank = std::max(type(a).rank(), type(b).rank());
  return node(OpKind::Binary, BinaryParams{.kind = kind},
              {of_rank(a, rank, "operand_0"), of_rank(b, rank, "operand_1")});
}

ir::ValueId Compose::where(ir::ValueId condition, ir::ValueId a, ir::ValueId b) {
  return append(OpKind::Where, {}, {condition, a, b});
}

ir::ValueId Compose::cast(ir::ValueId x, DType dtype) {
  if (error_ || type(x).dtype == dtype) return x;
  return node(OpKind::Cast, CastParams{.to = static_cast<int32_t>(dtype)}, {x});
}

// ---- shapes ----

ir::ValueId Compose::reshape(ir::ValueId x, llvm::ArrayRef<int64_t> dims) {
  if (error_ || has_dims(type(x), dims)) return x;
  return take(importer_.append_reshape(node_, "reshape", x, dims));
}

ir::ValueId Compose::transpose(ir::ValueId x, llvm::ArrayRef<int64_t> perm) {
  if (error_) return ir::kNoId;
  int32_t axes[kMaxRank] = {};
  bool is_identity = true;
  for (size_t i = 0; i < perm.size(); ++i) {
    axes[i] = axis_of(x, perm[i]);
    is_identity = is_identity && axes[i] == static_cast<int32_t>(i);
  }
  if (is_identity) return x;
  return node(
      OpKind::Transpose,
      TransposeParams{axes[0], axes[1], axes[2], axes[3], axes[4], axes[5], axes[6], axes[7]}, {x});
}

ir::ValueId Compose::expand(ir::ValueId x, llvm::ArrayRef<int64_t> dims) {
  if (error_ || has_dims(type(x), dims)) return x;
  return take(importer_.append_shaped(node_, "expand", OpKind::Expand, {}, {x}, dims));
}

ir::ValueId Compose::slice(ir::ValueId x, int64_t axis, int64_t begin, int64_t count,
                           int64_t step) {
  if (error_) return ir::kNoId;
  const int32_t along = axis_of(x, axis);
  if (begin == 0 && step == 1 && count == type(x).dims[along]) return x;
  int32_t starts[kMaxRank] = {};
  int32_t steps[kMaxRank] = {};
  int32_t counts[kMaxRank] = {};
  for (int32_t i = 0; i < type(x).rank(); ++i) {
    starts[i] = i == along ? static_cast<int32_t>(begin) : 0;
    steps[i] = i == along ? static_cast<int32_t>(step) : 1;
    counts[i] = i == along ? static_cast<int32_t>(count) : type(x).dims[i];
  }
  return node(OpKind::Slice,
              SliceParams{starts[0], starts[1], starts[2], starts[3], starts[4], starts[5],
                          starts[6], starts[7], steps[0],  steps[1],  steps[2],  steps[3],
                          steps[4],  steps[5],  steps[6],  steps[7],  counts[0], counts[1],
                          counts[2], counts[3], counts[4], counts[5], counts[6], counts[7]},
              {x});
}

ir::ValueId Compose::concat(llvm::ArrayRef<ir::ValueId> values, int64_t axis) {
  if (error_) return ir::kNoId;
  const ConcatParams params = {.axis = axis_of(values[0], axis)};
  // A step takes this many inputs besides its output; a longer list is joined from the front.
  constexpr size_t kMaxInputs = kernels::kMaxOperands - 1;
  ir::ValueId joined = values[0];
  for (values = values.drop_front(); !values.empty();) {
    const auto next = values.take_front(kMaxInputs - 1);
    llvm::SmallVector<ir::ValueId, 4> inputs = {joined};
    inputs.append(next.begin(), next.end());
    joined = node(OpKind::Concat, params, inputs);
    values = values.drop_front(next.size());
  }
  return joined;
}

ir::ValueId Compose::pad(ir::ValueId x, llvm::ArrayRef<int64_t> begin,
                         llvm::ArrayRef<int64_t> end) {
  if (error_) return ir::kNoId;
  if (llvm::all_of(begin, [](int64_t count) { return count == 0; }) &&
      llvm::all_of(end, [](int64_t count) { return count == 0; }))
    return x;
  int32_t in_front[kMaxRank] = {};
  int32_t behind[kMaxRank] = {};
  for (size_t i = 0; i < begin.size(); ++i) {
    in_front[i] = static_cast<int32_t>(begin[i]);
    behind[i] = static_cast<int32_t>(end[i]);
  }
  return node(OpKind::Pad,
              PadParams{kPadConstant, 0, in_front[0], in_front[1], in_front[2], in_front[3],
                        in_front[4], in_front[5], in_front[6], in_front[7], behind[0], behind[1],
                        behind[2], behind[3], behind[4], behind[5], behind[6], behind[7]},
              {x});
}

ir::ValueId Compose::gather(ir::ValueId x, ir::ValueId indices, int64_t axis) {
  if (error_) return ir::kNoId;
  return node(OpKind::Gather, GatherParams{.axis = axis_of(x, axis)}, {x, indices});
}

// ---- arithmetic over axes ----

ir::ValueId Compose::reduce(int32_t kind, ir::ValueId x, llvm::ArrayRef<int64_t> axes,
                            bool keepdims) {
  if (error_) return ir::kNoId;
  int32_t mask = 0;
  for (int64_t axis : axes) mask |= 1 << axis_of(x, axis);
  const ir::ValueId reduced =
      node(OpKind::Reduce, ReduceParams{.kind = kind, .axes_mask = mask, .takes_last = 0}, {x});
  if (keepdims || error_) return reduced;
  llvm::SmallVector<int64_t, 4> kept;
  for (int32_t i = 0; i < type(x).rank(); ++i)
    if ((mask >> i & 1) == 0) kept.push_back(type(x).dims[i]);
  return reshape(reduced, kept);
}

ir::ValueId Compose::softmax(ir::ValueId x, int64_t axis) {
  if (error_) return ir::kNoId;
  return node(OpKind::Softmax, SoftmaxParams{.axis = axis_of(x, axis), .is_log = 0}, {x});
}

ir::ValueId Compose::matmul(ir::ValueId a, ir::ValueId b) {
  if (error_) return ir::kNoId;
  const bool is_row = type(a).rank() == 1;
  const bool is_column = type(b).rank() == 1;
  if (is_row) a = reshape(a, {1, type(a).dims[0]});
  if (is_column) b = reshape(b, {type(b).dims[0], 1});
  const ir::ValueId product = node(OpKind::BatchMatMul, BatchMatMulParams{}, {a, b});
  if (error_ || !(is_row || is_column)) return product;
  llvm::SmallVector<int64_t, 4> dims = widened(type(product).dims);
  if (is_column) dims.pop_back();
  if (is_row) dims.erase(dims.end() - (is_column ? 1 : 2));
  return reshape(product, dims);
}

// ---- nodes ----

ir::ValueId Compose::append(OpKind op, ir::OpParams params, llvm::ArrayRef<ir::ValueId> inputs) {
  if (error_) return ir::kNoId;
  return take(importer_.append_node(node_, op_info(op).folder, op, std::move(params),
                                    {inputs.begin(), inputs.end()}));
}

ir::ValueId Compose::append_shaped(OpKind op, ir::OpParams params,
                                   llvm::ArrayRef<ir::ValueId> inputs,
                                   llvm::ArrayRef<int64_t> dims) {
  if (error_) return ir::kNoId;
  return take(importer_.append_shaped(node_, op_info(op).folder, op, std::move(params),
                                      {inputs.begin(), inputs.end()}, dims));
}

llvm::Error Compose::bind(ir::ValueId value, size_t output) {
  if (error_) return take_error();
  // One node of this formula takes the output's name (and, for the first output, the ONNX node's),
  // unless it has another output's already.
  ir::Graph& graph = importer_.graph();
  ir::Value& bound = graph.value(value);
  if (has_output(output) && value >= first_value_ && bound.producer != ir::kNoId &&
      !llvm::is_contained(node_.outputs, bound.name)) {
    bound.name = node_.outputs[output];
    if (output == 0) graph.node(bound.producer).name = node_.name;
  }
  importer_.bind(node_, value, output);
  return llvm::Error::success();
}

bool Compose::has_output(size_t output) const {
  return output < node_.outputs.size() && !node_.outputs[output].empty();
}

}  // namespace codl::compiler
