// Pad and CenterCropPad.
#include <algorithm>
#include <numeric>

#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/support/error.h"
#include "schema/plan_layout.h"

namespace codl::compiler {
namespace {

llvm::Expected<int32_t> pad_kind(const OnnxNode& node) {
  CODL_ASSIGN_OR_RETURN(mode, node.string_or("mode", "constant"));
  if (mode == "constant") return kPadConstant;
  if (mode == "reflect") return kPadReflect;
  if (mode == "edge") return kPadEdge;
  if (mode == "wrap") return kPadWrap;
  return input_error(node.name, "expected mode constant, reflect, edge or wrap, found '{0}'", mode);
}

// Counts the elements to put around one axis; negative counts remove elements.
struct AxisPad {
  int64_t begin = 0;
  int64_t end = 0;
};

// Applies negative pads first, as a slice. Returns an Input error if nothing is left to pad with.
llvm::Expected<ir::ValueId> crop(const OnnxNode& node, Compose& c, ir::ValueId x,
                                 llvm::ArrayRef<int64_t> dims,
                                 llvm::MutableArrayRef<AxisPad> pads) {
  for (size_t i = 0; i < pads.size(); ++i) {
    const int64_t front = std::max<int64_t>(0, -pads[i].begin);
    const int64_t back = std::max<int64_t>(0, -pads[i].end);
    if (front == 0 && back == 0) continue;
    const int64_t left = dims[i] - front - back;
    if (left < 1)
      return unsupported_error(
          node.name, "expected elements of axis {0} to be left by negative pads, found none", i);
    x = c.slice(x, static_cast<int64_t>(i), front, left);
    pads[i] = {std::max<int64_t>(0, pads[i].begin), std::max<int64_t>(0, pads[i].end)};
  }
  return x;
}

ir::ValueId pad_node(Compose& c, int32_t kind, ir::ValueId x, ir::ValueId value,
                     llvm::ArrayRef<AxisPad> pads) {
  int32_t begin[kMaxRank] = {};
  int32_t end[kMaxRank] = {};
  for (size_t i = 0; i < pads.size(); ++i) {
    begin[i] = static_cast<int32_t>(pads[i].begin);
    end[i] = static_cast<int32_t>(pads[i].end);
  }
  const bool has_value = value != ir::kNoId;
  const PadParams params = {kind,     has_value, begin[0], begin[1], begin[2], begin[3],
                            begin[4], begin[5],  begin[6], begin[7], end[0],   end[1],
                            end[2],   end[3],    end[4],   end[5],   end[6],   end[7]};
  if (has_value) return c.node(OpKind::Pad, params, {x, value});
  return c.node(OpKind::Pad, params, {x});
}

// `value` is kNoId for zero.
llvm::Error pad(const OnnxNode& node, Importer& importer, Compose& c, int32_t kind,
                ir::ValueId value, std::vector<AxisPad> pads) {
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
  Dims64 result;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (std::abs(pads[i].begin) > kMaxDim || std::abs(pads[i].end) > kMaxDim)
      return unsupported_error(node.name, "expected pads of at most {0}, found {1} and {2}",
                               kMaxDim, pads[i].begin, pads[i].end);
    result.push_back(pads[i].begin + dims[i] + pads[i].end);
  }
  if (llvm::Error error = check_dims(node, result)) return error;
  if (element_count(result) == 0) return bind_empty(node, importer, dtype, result);
  if (element_count(dims) == 0) {
    if (kind != kPadConstant)
      return input_error(node.name, "expected elements to repeat, found none");
    const ir::ValueId fill = value == ir::kNoId ? c.scalar(dtype, 0) : c.reshape(value, {});
    return c.bind(c.expand(fill, result));
  }
  CODL_ASSIGN_OR_RETURN(cropped, crop(node, c, c.operand(0), dims, pads));
  const bool is_padded =
      llvm::any_of(pads, [](const AxisPad& axis) { return axis.begin != 0 || axis.end != 0; });
  if (!is_padded) return c.bind(cropped);
  return c.bind(pad_node(c, kind, cropped, kind == kPadConstant ? value : ir::kNoId, pads));
}

// Returns the pads of the given axes from ONNX's list: begins of all axes, then ends.
llvm::Expected<std::vector<AxisPad>> pads_of(const OnnxNode& node, llvm::ArrayRef<int64_t> pads,
                                             llvm::ArrayRef<int64_t> axes, size_t rank) {
  if (pads.size() != 2 * axes.size())
    return input_error(node.name, "expected {0} pads, found {1}", 2 * axes.size(), pads.size());
  std::vector<AxisPad> result(rank);
  for (size_t i = 0; i < axes.size(); ++i) {
    CODL_ASSIGN_OR_RETURN(axis, normalized_axis(node, axes[i], rank));
    result[axis] = {pads[i], pads[axes.size() + i]};
  }
  return result;
}

std::vector<int64_t> all_axes(size_t rank) {
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

llvm::Error import_pad_7(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(kind, pad_kind(node));
  CODL_ASSIGN_OR_RETURN(value, node.float_or("value", 0));
  CODL_ASSIGN_OR_RETURN(amounts, node.ints_or("pads", {}));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
  CODL_ASSIGN_OR_RETURN(pads, pads_of(node, amounts, all_axes(dims.size()), dims.size()));
  Compose c(node, importer);
  return pad(node, importer, c, kind, value == 0 ? ir::kNoId : c.scalar(dtype, value), pads);
}

// ---- pads known at run time only ----

// Returns the source of element `place` (i64) of the padded axis. With a constant it may lie
// outside.
ir::ValueId source_of(Compose& c, int32_t kind, ir::ValueId place, int64_t dim) {
  if (kind == kPadConstant) return place;
  if (kind == kPadEdge) return clamp(c, place, 0, dim - 1);
  if (kind == kPadWrap) return c.binary(kBinaryMod, place, int_scalar(c, dim));
  // Goes forwards and backwards, without repeating the elements at the turns.
  if (dim == 1) return clamp(c, place, 0, 0);
  const ir::ValueId period = int_scalar(c, 2 * dim - 2);
  const ir::ValueId forwards = c.binary(kBinaryMod, place, period);
  return c.binary(kBinaryMin, forwards, c.sub(period, forwards));
}

// Pads by computed numbers of elements before each axis; the numbers after follow from the declared
// dims.
llvm::Error pad_declared(const OnnxNode& node, Importer& importer, Compose& c, int32_t kind,
                         ir::ValueId value, std::optional<std::vector<int64_t>> known_axes,
                         llvm::ArrayRef<int64_t> declared) {
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
  const size_t rank = dims.size();
  if (declared.size() != rank || element_count(dims) == 0)
    return needs_constant(node, importer, 1, "pads");
  if (element_count(declared) == 0) return bind_empty(node, importer, dtype, declared);

  std::vector<bool> may_change(rank, !known_axes.has_value());
  if (known_axes)
    for (int64_t& axis : *known_axes) {
      CODL_ASSIGN_OR_RETURN(positive, normalized_axis(node, axis, rank));
      axis = positive;
      may_change[positive] = true;
    }
  const ir::ValueId axes =
      known_axes
          ? c.ints(*known_axes, {static_cast<int64_t>(known_axes->size())})
          : from_front(c, c.operand_as(3, DType::I64), int_scalar(c, static_cast<int64_t>(rank)));
  ir::ValueId x = c.operand(0);
  const ir::ValueId pads = c.operand_as(1, DType::I64);
  if (llvm::Error error = c.take_error()) return error;
  const ir::ValueId begins = c.slice(pads, 0, 0, c.dims(axes)[0]);
  ir::ValueId is_inside = ir::kNoId;
  for (size_t i = 0; i < rank; ++i) {
    if (!may_change[i]) continue;
    const int64_t axis = static_cast<int64_t>(i);
    const ir::ValueId place =
        source_of(c, kind, c.sub(iota(c, declared[i]), of_dim(c, axes, begins, axis, 0)), dims[i]);
    x = c.gather(x, clamp(c, place, 0, dims[i] - 1), axis);
    if (kind != kPadConstant) continue;
    const ir::ValueId is_in_axis =
        along(c, c.binary(kBinaryEqual, place, clamp(c, place, 0, dims[i] - 1)), axis, rank);
    is_inside = is_inside == ir::kNoId ? is_in_axis : c.binary(kBinaryAnd, is_inside, is_in_axis);
  }
  if (is_inside == ir::kNoId) return c.bind(x);
  const ir::ValueId fill = value == ir::kNoId ? c.scalar(dtype, 0) : c.reshape(value, {});
  return c.bind(c.where(is_inside, x, fill));
}

llvm::Error import_pad_11(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(kind, pad_kind(node));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  Compose c(node, importer);
  const ir::ValueId value = is_given(node, importer, 2) ? c.operand(2) : ir::kNoId;
  if (llvm::Error error = c.take_error()) return error;
  std::optional<std::vector<int64_t>> axes = all_axes(dims.size());
  if (is_given(node, importer, 3)) {
    CODL_ASSIGN_OR_RETURN(known, known_ints(node, importer, 3));
    axes = std::move(known);
  }
  CODL_ASSIGN_OR_RETURN(amounts, known_ints(node, importer, 1));
  if (amounts && axes) {
    CODL_ASSIGN_OR_RETURN(pads, pads_of(node, *amounts, *axes, dims.size()));
    return pad(node, importer, c, kind, value, pads);
  }
  CODL_ASSIGN_OR_RETURN(pad_dims, importer.dims_of(node, 1));
  Dims64 axis_dims = {static_cast<int64_t>(dims.size())};
  if (is_given(node, importer, 3)) {
    CODL_ASSIGN_OR_RETURN(given, importer.dims_of(node, 3));
    axis_dims = given;
  }
  if (axis_dims.size() != 1 || pad_dims.size() != 1 || pad_dims[0] != 2 * axis_dims[0])
    return input_error(node.name, "expected two pads for each axis, found others");
  const auto declared = importer.declared_dims(node, 0);
  if (!declared) return needs_constant(node, importer, amounts ? 3 : 1, amounts ? "axes" : "pads");
  return pad_declared(node, importer, c, kind, value, axes, *declared);
}

// Cuts or pads each axis to its size, and keeps the middle in the middle.
llvm::Error import_center_crop_pad(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(axes, node.ints_or("axes", all_axes(dims.size())));
  CODL_ASSIGN_OR_RETURN(sizes, known_ints(node, importer, 1));
  if (!sizes) {
    const auto declared = importer.declared_dims(node, 0);
    if (!declared || declared->size() != dims.size())
      return needs_constant(node, importer, 1, "shape");
    sizes.emplace(declared->begin(), declared->end());
    axes = all_axes(dims.size());
  }
  if (sizes->size() != axes.size())
    return input_error(node.name, "expected {0} sizes, found {1}", axes.size(), sizes->size());
  std::vector<AxisPad> pads(dims.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    CODL_ASSIGN_OR_RETURN(axis, normalized_axis(node, axes[i], dims.size()));
    const int64_t size = (*sizes)[i];
    if (size < 0 || size > kMaxDim)
      return input_error(node.name, "expected sizes in [0, {0}], found {1}", kMaxDim, size);
    // Both cases round down at the beginning.
    const int64_t added = size - dims[axis];
    const int64_t begin = added < 0 ? -(-added / 2) : added / 2;
    pads[axis] = {begin, added - begin};
  }
  Compose c(node, importer);
  return pad(node, importer, c, kPadConstant, ir::kNoId, pads);
}

}  // namespace

llvm::ArrayRef<ImportEntry> pad_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"CenterCropPad", 18, kNewestOpset, import_center_crop_pad},
      {"Pad", 2, 10, import_pad_7},
      {"Pad", 11, kNewestOpset, import_pad_11},
  };
  return kEntries;
}

}  // namespace codl::compiler
