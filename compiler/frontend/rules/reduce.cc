// Imports reductions over axes, running sums, and functions normalised along an axis: Softmax and
// related ones.
#include <limits>

#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

// ---- Reduce* ----

struct Reduction {
  int32_t kind = 0;
  bool keepdims = true;
  bool reduces_none = false;  // without axes it reduces none, instead of all
};

// Has a bit per axis.
using AxesMask = uint32_t;

llvm::Expected<AxesMask> mask_of(const OnnxNode& node, llvm::ArrayRef<int64_t> axes, size_t rank) {
  AxesMask mask = 0;
  for (int64_t axis : axes) {
    CODL_ASSIGN_OR_RETURN(positive, normalized_axis(node, axis, rank));
    mask |= AxesMask{1} << positive;
  }
  return mask;
}

AxesMask every_axis(size_t rank) { return (AxesMask{1} << rank) - 1; }

Dims64 axes_of(AxesMask mask) {
  Dims64 axes;
  for (int64_t axis = 0; mask >> axis != 0; ++axis)
    if ((mask >> axis & 1) != 0) axes.push_back(axis);
  return axes;
}

Dims64 reduced_dims(llvm::ArrayRef<int64_t> dims, AxesMask mask, bool keepdims) {
  Dims64 result;
  for (size_t i = 0; i < dims.size(); ++i) {
    if ((mask >> i & 1) == 0)
      result.push_back(dims[i]);
    else if (keepdims)
      result.push_back(1);
  }
  return result;
}

// Returns ONNX's result for no elements.
double value_of_none(int32_t kind, DType dtype) {
  const double infinity = std::numeric_limits<double>::infinity();
  switch (kind) {
    case kReduceProd:
      return 1;
    case kReduceMax:
    case kReduceLogSum:
    case kReduceLogSumExp:
      return -infinity;
    case kReduceMin:
      return infinity;
    case kReduceMean:
      return is_integer(dtype) ? 0 : std::numeric_limits<double>::quiet_NaN();
    default:
      return 0;
  }
}

// Reduces an operand without elements.
llvm::Error reduce_none(const OnnxNode& node, Importer& importer, const Reduction& reduction,
                        llvm::ArrayRef<int64_t> dims) {
  CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
  if (element_count(dims) == 0) return bind_empty(node, importer, dtype, dims);
  double value = value_of_none(reduction.kind, dtype);
  if (dtype == DType::Bool) value = reduction.kind == kReduceMin ? 1 : 0;
  Compose c(node, importer);
  return c.bind(c.filled(dtype, value, dims));
}

// Returns true for a mean over height and width. It is a pooling of the whole map, which runs in
// the map's layout and on the GPU.
bool is_map_mean(const Reduction& reduction, const ir::TensorType& x, AxesMask mask) {
  return reduction.kind == kReduceMean && x.dtype == DType::F32 && x.rank() == 4 && mask != 0 &&
         (mask & 3) == 0;
}

ir::ValueId map_mean(Compose& c, ir::ValueId x, AxesMask mask) {
  Pool2dParams params = {};
  params.kind = kPool2dAverage;
  params.kernel_h = (mask & 4) != 0 ? c.dims(x)[2] : 1;
  params.kernel_w = (mask & 8) != 0 ? c.dims(x)[3] : 1;
  params.stride_h = params.stride_w = 1;
  params.dilation_h = params.dilation_w = 1;
  return c.node(OpKind::Pool2d, params, {x});
}

ir::ValueId reduced(Compose& c, const Reduction& reduction, ir::ValueId x, AxesMask mask) {
  const Dims64 dims(c.dims(x).begin(), c.dims(x).end());
  const ir::ValueId y = is_map_mean(reduction, c.type(x), mask)
                            ? map_mean(c, x, mask)
                            : c.reduce(reduction.kind, x, axes_of(mask));
  return c.reshape(y, reduced_dims(dims, mask, reduction.keepdims));
}

// Returns the sets of `count` axes that make the declared dims from the operand's. Sets that differ
// only in axes of one element give the same numbers and count as one.
std::vector<AxesMask> fitting_masks(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> declared,
                                    size_t count, bool keepdims) {
  std::vector<AxesMask> masks;
  std::vector<AxesMask> seen;
  for (AxesMask mask = 0; mask <= every_axis(dims.size()); ++mask) {
    if (static_cast<size_t>(__builtin_popcount(mask)) != count) continue;
    if (llvm::makeArrayRef(reduced_dims(dims, mask, keepdims)) != declared) continue;
    AxesMask longer = 0;
    for (int64_t axis : axes_of(mask))
      if (dims[axis] != 1) longer |= AxesMask{1} << axis;
    if (llvm::is_contained(seen, longer)) continue;
    seen.push_back(longer);
    masks.push_back(mask);
  }
  return masks;
}

// Returns the axes longer than one element that operand 1 names, one bit each, computed at run
// time.
ir::ValueId mask_at_run_time(Compose& c, llvm::ArrayRef<int64_t> dims) {
  const ir::ValueId axes =
      from_front(c, c.operand_as(1, DType::I64), int_scalar(c, static_cast<int64_t>(dims.size())));
  std::vector<int64_t> bits;
  for (size_t i = 0; i < dims.size(); ++i) bits.push_back(dims[i] == 1 ? 0 : int64_t{1} << i);
  const ir::ValueId per_axis = c.gather(c.ints(bits, {static_cast<int64_t>(bits.size())}), axes, 0);
  return c.reduce(kReduceSum, per_axis, {0}, false);
}

int64_t longer_axes(llvm::ArrayRef<int64_t> dims, AxesMask mask) {
  int64_t result = 0;
  for (int64_t axis : axes_of(mask))
    if (dims[axis] != 1) result |= int64_t{1} << axis;
  return result;
}

// The axes are data: reduces over every set that fits the declared dims, and picks the right one at
// run time.
llvm::Error reduce_at_run_time(const OnnxNode& node, Importer& importer, const Reduction& reduction,
                               llvm::ArrayRef<int64_t> dims) {
  CODL_ASSIGN_OR_RETURN(axes_dims, importer.dims_of(node, 1));
  const auto declared = importer.declared_dims(node, 0);
  if (!declared || axes_dims.size() != 1) return needs_constant(node, importer, 1, "axes");
  const std::vector<AxesMask> masks =
      fitting_masks(dims, *declared, static_cast<size_t>(axes_dims[0]), reduction.keepdims);
  if (masks.empty())
    return input_error(node.name, "expected declared dims that {0} axes give, found [{1}]",
                       axes_dims[0], llvm::make_range(declared->begin(), declared->end()));
  if (element_count(dims) == 0) return reduce_none(node, importer, reduction, *declared);
  Compose c(node, importer);
  const ir::ValueId x = c.operand(0);
  ir::ValueId y = reduced(c, reduction, x, masks[0]);
  if (masks.size() > 1) {
    const ir::ValueId meant = mask_at_run_time(c, dims);
    for (size_t i = 1; i < masks.size(); ++i) {
      const ir::ValueId is_meant =
          c.binary(kBinaryEqual, meant, int_scalar(c, longer_axes(dims, masks[i])));
      y = c.where(is_meant, reduced(c, reduction, x, masks[i]), y);
    }
  }
  return c.bind(y);
}

llvm::Error import_reduction(const OnnxNode& node, Importer& importer, const Reduction& reduction,
                             llvm::ArrayRef<int64_t> axes) {
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  if (llvm::Error error = check_dims(node, dims)) return error;
  CODL_ASSIGN_OR_RETURN(named, mask_of(node, axes, dims.size()));
  const AxesMask mask = axes.empty() && !reduction.reduces_none ? every_axis(dims.size()) : named;
  if (element_count(dims) == 0)
    return reduce_none(node, importer, reduction, reduced_dims(dims, mask, reduction.keepdims));
  Compose c(node, importer);
  return c.bind(reduced(c, reduction, c.operand(0), mask));
}

// The axes are an attribute.
template <int32_t kKind>
llvm::Error import_reduce_7(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(axes, node.ints_or("axes", {}));
  CODL_ASSIGN_OR_RETURN(keepdims, node.int_or("keepdims", 1));
  return import_reduction(node, importer, {kKind, keepdims != 0, false}, axes);
}

// The axes are an input.
template <int32_t kKind>
llvm::Error import_reduce_18(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(keepdims, node.int_or("keepdims", 1));
  CODL_ASSIGN_OR_RETURN(reduces_none, node.int_or("noop_with_empty_axes", 0));
  const Reduction reduction = {kKind, keepdims != 0, reduces_none != 0};
  if (!is_given(node, importer, 1)) return import_reduction(node, importer, reduction, {});
  if (!importer.is_constant(node, 1)) {
    CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
    if (llvm::Error error = check_dims(node, dims)) return error;
    return reduce_at_run_time(node, importer, reduction, dims);
  }
  CODL_ASSIGN_OR_RETURN(axes, importer.int_constant(node, 1));
  return import_reduction(node, importer, reduction, axes);
}

// ---- ArgMax, ArgMin ----

template <int32_t kKind>
llvm::Error import_arg(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(axis_attribute, node.int_or("axis", 0));
  CODL_ASSIGN_OR_RETURN(keepdims, node.int_or("keepdims", 1));
  CODL_ASSIGN_OR_RETURN(takes_last, node.int_or("select_last_index", 0));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  if (llvm::Error error = check_dims(node, dims)) return error;
  CODL_ASSIGN_OR_RETURN(axis, normalized_axis(node, axis_attribute, dims.size()));
  const Dims64 kept = reduced_dims(dims, AxesMask{1} << axis, keepdims != 0);
  if (element_count(dims) == 0 && element_count(kept) == 0)
    return bind_empty(node, importer, DType::I64, kept);
  Compose c(node, importer);
  const ir::ValueId places = c.node(
      OpKind::Reduce, ReduceParams{kKind, 1 << axis, takes_last != 0 ? 1 : 0}, {c.operand(0)});
  return c.bind(c.reshape(places, kept));
}

// ---- CumSum, CumProd ----

// Computes running sums along axis `axis` of operand 0.
ir::ValueId cumulated(Compose& c, ir::ValueId x, CumulateParams params, int32_t axis) {
  params.axis = axis;
  return c.node(OpKind::Cumulate, params, {x});
}

llvm::Error import_cumulate(const OnnxNode& node, Importer& importer, bool is_product) {
  CODL_ASSIGN_OR_RETURN(exclusive, node.int_or("exclusive", 0));
  CODL_ASSIGN_OR_RETURN(reverse, node.int_or("reverse", 0));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  if (llvm::Error error = check_dims(node, dims)) return error;
  if (element_count(dims) == 0) return importer.bind_operand(node, 0);
  CumulateParams params = {};
  params.is_product = is_product ? 1 : 0;
  params.is_exclusive = exclusive != 0 ? 1 : 0;
  params.is_reverse = reverse != 0 ? 1 : 0;
  Compose c(node, importer);
  const ir::ValueId x = c.operand(0);
  if (importer.is_constant(node, 1)) {
    CODL_ASSIGN_OR_RETURN(axes, importer.int_constant(node, 1));
    if (axes.size() != 1)
      return input_error(node.name, "expected one axis, found {0}", axes.size());
    CODL_ASSIGN_OR_RETURN(axis, normalized_axis(node, axes[0], dims.size()));
    return c.bind(cumulated(c, x, params, axis));
  }
  // The axis is data, so sums run along each axis, and one result is picked.
  const int64_t rank = static_cast<int64_t>(dims.size());
  const ir::ValueId axis =
      from_front(c, c.reshape(c.operand_as(1, DType::I64), {}), int_scalar(c, rank));
  ir::ValueId y = cumulated(c, x, params, 0);
  for (int32_t i = 1; i < rank; ++i)
    y = c.where(c.binary(kBinaryEqual, axis, int_scalar(c, i)), cumulated(c, x, params, i), y);
  return c.bind(y);
}

llvm::Error import_cum_sum(const OnnxNode& node, Importer& importer) {
  return import_cumulate(node, importer, false);
}
llvm::Error import_cum_prod(const OnnxNode& node, Importer& importer) {
  return import_cumulate(node, importer, true);
}

// ---- Softmax, LogSoftmax, Hardmax ----

enum class Kin { Softmax, LogSoftmax, Hardmax };

// Returns 1 at the first of the largest elements, 0 elsewhere.
ir::ValueId hardmax(Compose& c, ir::ValueId x, int32_t axis) {
  const ir::ValueId place = c.node(OpKind::Reduce, ReduceParams{kReduceArgMax, 1 << axis, 0}, {x});
  if (place == ir::kNoId) return place;
  const ir::ValueId places = along(c, iota(c, c.dims(x)[axis]), axis, c.dims(x).size());
  return c.cast(c.binary(kBinaryEqual, places, place), DType::F32);
}

ir::ValueId normalized(Compose& c, Kin kin, ir::ValueId x, int32_t axis) {
  if (kin == Kin::Hardmax) return hardmax(c, x, axis);
  return c.node(OpKind::Softmax,
                SoftmaxParams{.axis = axis, .is_log = kin == Kin::LogSoftmax ? 1 : 0}, {x});
}

// Before opset 13 Softmax runs over all dims from `axis` on, taken together.
template <Kin kKin>
llvm::Error import_softmax_7(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(axis_attribute, node.int_or("axis", 1));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  if (llvm::Error error = check_dims(node, dims)) return error;
  if (element_count(dims) == 0) return importer.bind_operand(node, 0);
  CODL_ASSIGN_OR_RETURN(axis, normalized_axis(node, axis_attribute, dims.size()));
  const int64_t outer = element_count(llvm::makeArrayRef(dims).take_front(axis));
  const int64_t inner = element_count(llvm::makeArrayRef(dims).drop_front(axis));
  Compose c(node, importer);
  const ir::ValueId x = c.operand_as(0, DType::F32);
  if (inner == dims[axis]) return c.bind(normalized(c, kKin, x, axis));
  return c.bind(c.reshape(normalized(c, kKin, c.reshape(x, {outer, inner}), 1), dims));
}

template <Kin kKin>
llvm::Error import_softmax_13(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(axis_attribute, node.int_or("axis", -1));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  if (llvm::Error error = check_dims(node, dims)) return error;
  if (element_count(dims) == 0) return importer.bind_operand(node, 0);
  CODL_ASSIGN_OR_RETURN(axis, normalized_axis(node, axis_attribute, dims.size()));
  Compose c(node, importer);
  return c.bind(normalized(c, kKin, c.operand_as(0, DType::F32), axis));
}

}  // namespace

llvm::ArrayRef<ImportEntry> reduce_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"ArgMax", 1, kNewestOpset, import_arg<kReduceArgMax>},
      {"ArgMin", 1, kNewestOpset, import_arg<kReduceArgMin>},
      {"CumProd", 26, kNewestOpset, import_cum_prod},
      {"CumSum", 11, kNewestOpset, import_cum_sum},
      {"Hardmax", 1, 12, import_softmax_7<Kin::Hardmax>},
      {"Hardmax", 13, kNewestOpset, import_softmax_13<Kin::Hardmax>},
      {"LogSoftmax", 1, 12, import_softmax_7<Kin::LogSoftmax>},
      {"LogSoftmax", 13, kNewestOpset, import_softmax_13<Kin::LogSoftmax>},
      {"ReduceL1", 1, 17, import_reduce_7<kReduceL1>},
      {"ReduceL1", 18, kNewestOpset, import_reduce_18<kReduceL1>},
      {"ReduceL2", 1, 17, import_reduce_7<kReduceL2>},
      {"ReduceL2", 18, kNewestOpset, import_reduce_18<kReduceL2>},
      {"ReduceLogSum", 1, 17, import_reduce_7<kReduceLogSum>},
      {"ReduceLogSum", 18, kNewestOpset, import_reduce_18<kReduceLogSum>},
      {"ReduceLogSumExp", 1, 17, import_reduce_7<kReduceLogSumExp>},
      {"ReduceLogSumExp", 18, kNewestOpset, import_reduce_18<kReduceLogSumExp>},
      {"ReduceMax", 1, 17, import_reduce_7<kReduceMax>},
      {"ReduceMax", 18, kNewestOpset, import_reduce_18<kReduceMax>},
      {"ReduceMean", 1, 17, import_reduce_7<kReduceMean>},
      {"ReduceMean", 18, kNewestOpset, import_reduce_18<kReduceMean>},
      {"ReduceMin", 1, 17, import_reduce_7<kReduceMin>},
      {"ReduceMin", 18, kNewestOpset, import_reduce_18<kReduceMin>},
      {"ReduceProd", 1, 17, import_reduce_7<kReduceProd>},
      {"ReduceProd", 18, kNewestOpset, import_reduce_18<kReduceProd>},
      {"ReduceSum", 1, 12, import_reduce_7<kReduceSum>},
      {"ReduceSum", 13, kNewestOpset, import_reduce_18<kReduceSum>},
      {"ReduceSumSquare", 1, 17, import_reduce_7<kReduceSumSquare>},
      {"ReduceSumSquare", 18, kNewestOpset, import_reduce_18<kReduceSumSquare>},
      {"Softmax", 1, 12, import_softmax_7<Kin::Softmax>},
      {"Softmax", 13, kNewestOpset, import_softmax_13<Kin::Softmax>},
  };
  return kEntries;
}

}  // namespace codl::compiler
