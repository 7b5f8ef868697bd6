// Imports Slice and Split.
//
// With constant operands they become one Slice node. Otherwise the indices are computed at run time
// and the elements gathered; their number follows from the dims that the model declares, or is an
// extent known only at run time.
#include <algorithm>

#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/support/error.h"
#include "schema/plan_layout.h"

namespace codl::compiler {
namespace {

// Describes elements start, start + step ... along one axis.
struct AxisRange {
  int64_t start = 0;
  int64_t step = 1;
  int64_t count = 0;
};

// Follows numpy: negative ends count from the back, both are clamped.
AxisRange clamped_range(int64_t dim, int64_t start, int64_t end, int64_t step) {
  // A larger step takes one element, too, but the node could not hold it.
  step = std::clamp<int64_t>(step, -kMaxDim, kMaxDim);
  const int64_t low = step > 0 ? 0 : -1;
  const int64_t high = step > 0 ? dim : dim - 1;
  start = std::clamp<int64_t>(start < 0 ? start + dim : start, low, high);
  end = std::clamp<int64_t>(end < 0 ? end + dim : end, low, high);
  const int64_t length = step > 0 ? end - start : start - end;
  return {start, step, length <= 0 ? 0 : (length - 1) / std::abs(step) + 1};
}

Dims64 counts_of(llvm::ArrayRef<AxisRange> ranges) {
  Dims64 counts;
  for (const AxisRange& range : ranges) counts.push_back(range.count);
  return counts;
}

ir::ValueId slice_node(Compose& c, ir::ValueId x, llvm::ArrayRef<AxisRange> ranges) {
  int32_t start[kMaxRank] = {};
  int32_t step[kMaxRank] = {};
  int32_t count[kMaxRank] = {};
  for (size_t i = 0; i < ranges.size(); ++i) {
    start[i] = static_cast<int32_t>(ranges[i].start);
    step[i] = static_cast<int32_t>(ranges[i].step);
    count[i] = static_cast<int32_t>(ranges[i].count);
  }
  const SliceParams params = {start[0], start[1], start[2], start[3], start[4], start[5],
                              start[6], start[7], step[0],  step[1],  step[2],  step[3],
                              step[4],  step[5],  step[6],  step[7],  count[0], count[1],
                              count[2], count[3], count[4], count[5], count[6], count[7]};
  return c.node(OpKind::Slice, params, {x});
}

bool is_whole(const AxisRange& range, int64_t dim) {
  return range.start == 0 && range.step == 1 && range.count == dim;
}

// Binds output `output` to the given part of operand 0.
llvm::Error bind_part(const OnnxNode& node, Importer& importer, llvm::ArrayRef<AxisRange> ranges,
                      size_t output = 0) {
  CODL_ASSIGN_OR_RETURN(dims, planned_dims(node, importer, 0));
  const Dims64 counts = counts_of(ranges);
  if (element_count(counts) == 0) {
    CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
    return bind_empty(node, importer, dtype, counts, output);
  }
  bool is_all = importer.extents_of(node, 0).empty();
  for (size_t i = 0; i < dims.size(); ++i) is_all = is_all && is_whole(ranges[i], dims[i]);
  if (is_all) return importer.bind_operand(node, 0, output);
  Compose c(node, importer);
  CODL_ASSIGN_OR_RETURN(x, importer.extent_operand(node, 0));
  return c.bind(slice_node(c, x, ranges), output);
}

// ---- Split ----

// Returns the lengths of the pieces: `count` outputs of equal size, if there is no operand or
// attribute.
llvm::Expected<std::vector<int64_t>> equal_pieces(const OnnxNode& node, int64_t extent,
                                                  int64_t count) {
  if (count < 1) return input_error(node.name, "expected at least one output, found {0}", count);
  // Since opset 18 the last piece may be smaller.
  if (node.opset < 18 && extent % count != 0)
    return input_error(node.name, "expected a dim that {0} divides, found {1}", count, extent);
  const int64_t piece = (extent + count - 1) / count;
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < count; ++i)
    lengths.push_back(std::clamp<int64_t>(extent - i * piece, 0, piece));
  return lengths;
}

// Returns lengths that only the declared dims of the outputs tell.
llvm::Expected<std::vector<int64_t>> declared_pieces(const OnnxNode& node, Importer& importer,
                                                     int32_t axis, int64_t extent) {
  std::vector<int64_t> lengths;
  int64_t left = extent;
  size_t unknown = node.outputs.size();
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const auto declared = importer.declared_dims(node, i);
    const bool is_known = declared && static_cast<size_t>(axis) < declared->size();
    if (!is_known && unknown != node.outputs.size())
      return needs_constant(node, importer, 1, "lengths");
    if (!is_known) unknown = i;
    lengths.push_back(is_known ? (*declared)[axis] : 0);
    left -= lengths.back();
  }
  if (unknown != node.outputs.size()) lengths[unknown] = left;
  return lengths;
}

llvm::Error split(const OnnxNode& node, Importer& importer, int32_t axis,
                  llvm::ArrayRef<int64_t> lengths) {
  CODL_ASSIGN_OR_RETURN(dims, planned_dims(node, importer, 0));
  if (lengths.size() < node.outputs.size())
    return input_error(node.name, "expected {0} lengths, found {1}", node.outputs.size(),
                       lengths.size());
  int64_t sum = 0;
  for (int64_t length : lengths) {
    if (length < 0 || length > dims[axis])
      return input_error(node.name, "expected lengths in [0, {0}], found {1}", dims[axis], length);
    sum += length;
  }
  if (sum != dims[axis])
    return input_error(node.name, "expected lengths that sum to {0}, found {1}", dims[axis], sum);
  for (Importer::Extent extent : importer.extents_of(node, 0))
    if (extent.dim == axis) return unsupported_extent(node, axis);

  std::vector<AxisRange> ranges;
  for (int64_t dim : dims) ranges.push_back({0, 1, dim});
  ranges[axis].count = 0;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    ranges[axis].start += ranges[axis].count;
    ranges[axis].count = lengths[i];
    if (node.outputs[i].empty()) continue;
    if (llvm::Error error = bind_part(node, importer, ranges, i)) return error;
    if (element_count(counts_of(ranges)) == 0) continue;
    if (llvm::Error error = keep_extents(
            node, importer, 0, [](int32_t dim) { return dim; }, i))
      return error;
  }
  return llvm::Error::success();
}

// Returns the axis of Split, which all forms share.
llvm::Expected<int32_t> split_axis(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(axis, node.int_or("axis", 0));
  CODL_ASSIGN_OR_RETURN(dims, planned_dims(node, importer, 0));
  return normalized_axis(node, axis, dims.size());
}

llvm::Error import_split_7(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(lengths, node.ints_or("split", {}));
  CODL_ASSIGN_OR_RETURN(axis, split_axis(node, importer));
  CODL_ASSIGN_OR_RETURN(dims, planned_dims(node, importer, 0));
  if (!lengths.empty()) return split(node, importer, axis, lengths);
  CODL_ASSIGN_OR_RETURN(equal, equal_pieces(node, dims[axis], node.outputs.size()));
  return split(node, importer, axis, equal);
}

llvm::Error import_split_13(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(count, node.int_or("num_outputs", node.outputs.size()));
  CODL_ASSIGN_OR_RETURN(axis, split_axis(node, importer));
  CODL_ASSIGN_OR_RETURN(dims, planned_dims(node, importer, 0));
  if (!node.has_input(1)) {
    if (count < static_cast<int64_t>(node.outputs.size()) || count > kMaxDim)
      return input_error(node.name, "expected num_outputs {0}, found {1}", node.outputs.size(),
                         count);
    CODL_ASSIGN_OR_RETURN(equal, equal_pieces(node, dims[axis], count));
    return split(node, importer, axis, equal);
  }
  CODL_ASSIGN_OR_RETURN(lengths, known_ints(node, importer, 1));
  if (lengths) return split(node, importer, axis, *lengths);
  CODL_ASSIGN_OR_RETURN(declared, declared_pieces(node, importer, axis, dims[axis]));
  return split(node, importer, axis, declared);
}

// ---- Slice ----

// Holds the operands of a Slice, as far as they are known now.
struct SliceOperands {
  std::optional<std::vector<int64_t>> starts;
  std::optional<std::vector<int64_t>> ends;
  std::optional<std::vector<int64_t>> axes;  // not normalized
  std::optional<std::vector<int64_t>> steps;
  size_t count = 0;  // number of axes
};

llvm::Error check_slice(const OnnxNode& node, const SliceOperands& slice) {
  for (const auto* operand : {&slice.starts, &slice.ends, &slice.axes, &slice.steps})
    if (*operand && (*operand)->size() != slice.count)
      return input_error(node.name, "expected {0} starts, ends, axes and steps, found {1}",
                         slice.count, (*operand)->size());
  if (slice.steps && llvm::is_contained(*slice.steps, 0))
    return input_error(node.name, "expected steps other than 0, found 0");
  return llvm::Error::success();
}

// Returns how many of the first `extent` elements a slice takes, if the range does not depend on
// their number (starts and ends count from the front, the step is positive).
llvm::Expected<ir::ValueId> extent_of_part(const OnnxNode& node, Compose& c,
                                           Importer::Extent extent, int64_t start, int64_t end,
                                           int64_t step) {
  if (start < 0 || end < 0 || step < 1) return unsupported_extent(node, extent.dim);
  start = std::min<int64_t>(start, kMaxDim);
  end = std::min<int64_t>(end, kMaxDim);
  step = std::min<int64_t>(step, kMaxDim);
  const ir::ValueId last = c.binary(kBinaryMin, extent.count, int_scalar(c, end));
  const ir::ValueId length =
      c.binary(kBinaryMax, c.sub(last, int_scalar(c, start)), int_scalar(c, 0));
  return c.div(c.add(length, int_scalar(c, step - 1)), int_scalar(c, step));
}

llvm::Error keep_slice_extents(const OnnxNode& node, Importer& importer, const SliceOperands& slice,
                               llvm::ArrayRef<int32_t> axes) {
  Compose c(node, importer);
  const std::vector<Importer::Extent> extents = importer.extents_of(node, 0).vec();
  for (Importer::Extent extent : extents) {
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] != extent.dim) continue;
      CODL_ASSIGN_OR_RETURN(count, extent_of_part(node, c, extent, (*slice.starts)[i],
                                                  (*slice.ends)[i], (*slice.steps)[i]));
      extent.count = count;
    }
    if (llvm::Error error = c.take_error()) return error;
    importer.bind_extent(node, 0, extent);
  }
  return llvm::Error::success();
}

llvm::Expected<llvm::SmallVector<int32_t, 4>> slice_axes(const OnnxNode& node,
                                                         llvm::ArrayRef<int64_t> axes,
                                                         size_t rank) {
  llvm::SmallVector<int32_t, 4> result;
  for (int64_t axis : axes) {
    CODL_ASSIGN_OR_RETURN(positive, normalized_axis(node, axis, rank));
    if (llvm::is_contained(result, positive))
      return input_error(node.name, "expected each axis once, found {0} again", positive);
    result.push_back(positive);
  }
  return result;
}

// All operands are known.
llvm::Error slice_known(const OnnxNode& node, Importer& importer, const SliceOperands& slice) {
  CODL_ASSIGN_OR_RETURN(dims, planned_dims(node, importer, 0));
  CODL_ASSIGN_OR_RETURN(axes, slice_axes(node, *slice.axes, dims.size()));
  std::vector<AxisRange> ranges;
  for (int64_t dim : dims) ranges.push_back({0, 1, dim});
  for (size_t i = 0; i < axes.size(); ++i)
    ranges[axes[i]] =
        clamped_range(dims[axes[i]], (*slice.starts)[i], (*slice.ends)[i], (*slice.steps)[i]);
  if (llvm::Error error = bind_part(node, importer, ranges)) return error;
  if (element_count(counts_of(ranges)) == 0) return llvm::Error::success();
  return keep_slice_extents(node, importer, slice, axes);
}

// Returns operand `i` of a Slice as an i64 vector, or `fallback` everywhere.
ir::ValueId slice_operand(Compose& c, const OnnxNode& node, size_t i, size_t count,
                          int64_t fallback) {
  if (node.has_input(i)) return c.operand_as(i, DType::I64);
  return c.ints(std::vector<int64_t>(count, fallback), {static_cast<int64_t>(count)});
}

// Starts or steps are computed; the number of elements along each dim is declared.
llvm::Error slice_declared(const OnnxNode& node, Importer& importer, const SliceOperands& slice,
                           llvm::ArrayRef<int64_t> declared) {
  CODL_ASSIGN_OR_RETURN(dims, planned_dims(node, importer, 0));
  const int64_t rank = static_cast<int64_t>(dims.size());
  if (declared.size() != dims.size())
    return input_error(node.name, "expected declared dims of rank {0}, found {1}", rank,
                       declared.size());
  if (element_count(declared) == 0) {
    CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
    return bind_empty(node, importer, dtype, declared);
  }
  Compose c(node, importer);
  ir::ValueId x = c.operand(0);
  const ir::ValueId starts = slice_operand(c, node, 1, slice.count, 0);
  const ir::ValueId steps = slice_operand(c, node, 4, slice.count, 1);
  ir::ValueId axes = ir::kNoId;
  std::vector<bool> may_change(rank, !slice.axes.has_value());
  if (slice.axes) {
    CODL_ASSIGN_OR_RETURN(known, slice_axes(node, *slice.axes, dims.size()));
    for (int32_t axis : known) may_change[axis] = true;
    axes = c.ints(std::vector<int64_t>(known.begin(), known.end()),
                  {static_cast<int64_t>(known.size())});
  } else {
    axes = from_front(c, c.operand_as(3, DType::I64), int_scalar(c, rank));
  }
  for (int64_t i = 0; i < rank; ++i) {
    if (!may_change[i]) continue;
    const ir::ValueId step = of_dim(c, axes, steps, i, 1);
    // It is clamped below, too: with a step of -1, the smallest start means the end.
    const ir::ValueId start = clamp(
        c, from_front(c, of_dim(c, axes, starts, i, 0), int_scalar(c, dims[i])), 0, dims[i] - 1);
    const ir::ValueId index = c.add(start, c.mul(iota(c, declared[i]), step));
    x = c.gather(x, index, i);
  }
  return c.bind(x);
}

// Starts or ends are computed, and nothing declares the number of elements: each dim gets an
// extent.
llvm::Error slice_computed(const OnnxNode& node, Importer& importer, const SliceOperands& slice) {
  CODL_ASSIGN_OR_RETURN(dims, planned_dims(node, importer, 0));
  CODL_ASSIGN_OR_RETURN(axes, slice_axes(node, *slice.axes, dims.size()));
  if (element_count(dims) == 0)
    return needs_constant(node, importer, slice.starts ? 2 : 1, "range");
  Compose c(node, importer);
  ir::ValueId x = c.operand(0);
  const ir::ValueId starts = c.operand_as(1, DType::I64);
  const ir::ValueId ends = c.operand_as(2, DType::I64);
  std::vector<Importer::Extent> extents;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t dim = dims[axes[i]];
    const int64_t step = std::clamp<int64_t>((*slice.steps)[i], -kMaxDim, kMaxDim);
    const int64_t low = step > 0 ? 0 : -1;
    const int64_t high = step > 0 ? dim : dim - 1;
    const auto bound = [&](ir::ValueId values) {
      const ir::ValueId one = c.reshape(c.slice(values, 0, static_cast<int64_t>(i), 1), {});
      return clamp(c, from_front(c, one, int_scalar(c, dim)), low, high);
    };
    const ir::ValueId start = bound(starts);
    const ir::ValueId end = bound(ends);
    const ir::ValueId length = step > 0 ? c.sub(end, start) : c.sub(start, end);
    const int64_t stride = std::abs(step);
    const ir::ValueId count =
        c.div(c.add(c.binary(kBinaryMax, length, int_scalar(c, 0)), int_scalar(c, stride - 1)),
              int_scalar(c, stride));
    const int64_t largest = (dim - 1) / stride + 1;
    const ir::ValueId index = c.add(start, c.mul(iota(c, largest), int_scalar(c, step)));
    x = c.gather(x, clamp(c, index, 0, dim - 1), axes[i]);
    extents.push_back({axes[i], count});
  }
  if (llvm::Error error = c.bind(x)) return error;
  for (Importer::Extent extent : extents) importer.bind_extent(node, 0, extent);
  return llvm::Error::success();
}

llvm::Error import_slice_7(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(starts, node.ints_or("starts", {}, -1, IntegerUse::Bound));
  CODL_ASSIGN_OR_RETURN(ends, node.ints_or("ends", {}, -1, IntegerUse::Bound));
  std::vector<int64_t> front;
  for (size_t i = 0; i < starts.size(); ++i) front.push_back(static_cast<int64_t>(i));
  CODL_ASSIGN_OR_RETURN(axes, node.ints_or("axes", front));
  SliceOperands slice;
  slice.count = starts.size();
  slice.steps.emplace(starts.size(), 1);
  slice.starts = std::move(starts);
  slice.ends = std::move(ends);
  slice.axes = std::move(axes);
  if (llvm::Error error = check_slice(node, slice)) return error;
  return slice_known(node, importer, slice);
}

llvm::Expected<SliceOperands> read_slice(const OnnxNode& node, Importer& importer) {
  SliceOperands slice;
  CODL_ASSIGN_OR_RETURN(start_dims, importer.dims_of(node, 1));
  if (start_dims.size() != 1)
    return input_error(node.name, "expected starts of rank 1, found {0}", start_dims.size());
  slice.count = static_cast<size_t>(start_dims[0]);
  if (slice.count > kMaxRank)
    return input_error(node.name, "expected at most {0} starts, found {1}", kMaxRank, slice.count);
  CODL_ASSIGN_OR_RETURN(starts, known_ints(node, importer, 1, IntegerUse::Bound));
  CODL_ASSIGN_OR_RETURN(ends, known_ints(node, importer, 2, IntegerUse::Bound));
  slice.starts = std::move(starts);
  slice.ends = std::move(ends);
  if (is_given(node, importer, 3)) {
    CODL_ASSIGN_OR_RETURN(axes, known_ints(node, importer, 3));
    slice.axes = std::move(axes);
  } else {
    slice.axes.emplace();
    for (size_t i = 0; i < slice.count; ++i) slice.axes->push_back(static_cast<int64_t>(i));
  }
  if (is_given(node, importer, 4)) {
    CODL_ASSIGN_OR_RETURN(steps, known_ints(node, importer, 4, IntegerUse::Bound));
    slice.steps = std::move(steps);
  } else {
    slice.steps.emplace(slice.count, 1);
  }
  if (llvm::Error error = check_slice(node, slice)) return error;
  return slice;
}

llvm::Error import_slice_10(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(slice, read_slice(node, importer));
  if (slice.starts && slice.ends && slice.axes && slice.steps)
    return slice_known(node, importer, slice);
  if (const auto declared = importer.declared_dims(node, 0))
    return slice_declared(node, importer, slice, *declared);
  if (slice.axes && slice.steps) return slice_computed(node, importer, slice);
  return needs_constant(node, importer, slice.axes ? 4 : 3, slice.axes ? "steps" : "axes");
}

}  // namespace

llvm::ArrayRef<ImportEntry> slice_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"Slice", 1, 9, import_slice_7},
      {"Slice", 10, kNewestOpset, import_slice_10},
      {"Split", 2, 12, import_split_7},
      {"Split", 13, kNewestOpset, import_split_13},
  };
  return kEntries;
}

}  // namespace codl::compiler
