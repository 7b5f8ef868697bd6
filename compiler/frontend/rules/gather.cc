// Holds rules that pick and place elements by indices: Gather, GatherElements, GatherND,
// ScatterElements, Scatter, ScatterND, TensorScatter, ReverseSequence.
#include <algorithm>

#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

// Returns the indices as the kernels take them, whatever their extents.
llvm::Expected<ir::ValueId> index_operand(const OnnxNode& node, Importer& importer, Compose& c,
                                          size_t i) {
  CODL_ASSIGN_OR_RETURN(indices, importer.extent_operand(node, i));
  return c.cast(indices, DType::I64);
}

llvm::Expected<bool> is_empty(const OnnxNode& node, Importer& importer, size_t i) {
  CODL_ASSIGN_OR_RETURN(dims, planned_dims(node, importer, i));
  return element_count(dims) == 0;
}

// ---- gathered ----

// Returns the one index that a Gather picks along an axis of `count`, if it is known now: then the
// node is a Slice, which every processor has and which can be fused. Otherwise returns -1.
llvm::Expected<int64_t> only_index(const OnnxNode& node, Importer& importer, int64_t count) {
  if (!importer.is_constant(node, 1)) return -1;
  CODL_ASSIGN_OR_RETURN(indices, importer.int_constant(node, 1, IntegerUse::Data));
  if (indices.size() != 1) return -1;
  return indices[0] < 0 ? indices[0] + count : indices[0];
}

llvm::Error import_gather(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(axis_attribute, node.int_or("axis", 0));
  CODL_ASSIGN_OR_RETURN(dims, planned_dims(node, importer, 0));
  CODL_ASSIGN_OR_RETURN(index_dims, planned_dims(node, importer, 1));
  CODL_ASSIGN_OR_RETURN(axis, normalized_axis(node, axis_attribute, dims.size()));
  Dims64 result(dims.begin(), dims.begin() + axis);
  result.append(index_dims.begin(), index_dims.end());
  result.append(dims.begin() + axis + 1, dims.end());
  if (element_count(result) == 0) {
    CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
    return bind_empty(node, importer, dtype, result);
  }
  if (llvm::Error error = expect_indices(node, importer, 1, {dims[axis]})) return error;
  Compose c(node, importer);
  CODL_ASSIGN_OR_RETURN(data, importer.extent_operand(node, 0));
  CODL_ASSIGN_OR_RETURN(operand, index_operand(node, importer, c, 1));
  ir::ValueId indices = operand;
  const std::vector<Importer::Extent> extents = importer.extents_of(node, 0).vec();
  CODL_ASSIGN_OR_RETURN(index, only_index(node, importer, dims[axis]));
  if (index >= 0 && extents.empty())
    return c.bind(c.reshape(c.slice(data, axis, index, 1), result));
  // Negative indices count from the last valid element.
  for (Importer::Extent extent : extents)
    if (extent.dim == axis) indices = from_front(c, indices, c.reshape(extent.count, {}));
  if (llvm::Error error = c.bind(c.gather(data, indices, axis))) return error;
  for (Importer::Extent extent : extents) {
    if (extent.dim == axis) continue;
    if (extent.dim > axis) extent.dim += static_cast<int32_t>(index_dims.size()) - 1;
    importer.bind_extent(node, 0, extent);
  }
  return keep_extents(node, importer, 1, [&](int32_t dim) { return axis + dim; });
}

llvm::Error import_gather_elements(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(axis_attribute, node.int_or("axis", 0));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(axis, normalized_axis(node, axis_attribute, dims.size()));
  CODL_ASSIGN_OR_RETURN(index_dims, planned_dims(node, importer, 1));
  if (element_count(index_dims) == 0) {
    CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
    return bind_empty(node, importer, dtype, index_dims);
  }
  if (llvm::Error error = expect_indices(node, importer, 1, {dims[axis]})) return error;
  Compose c(node, importer);
  CODL_ASSIGN_OR_RETURN(indices, index_operand(node, importer, c, 1));
  const GatherElementsParams params = {.axis = axis};
  if (llvm::Error error = c.bind(c.node(OpKind::GatherElements, params, {c.operand(0), indices})))
    return error;
  return keep_extents(node, importer, 1, [](int32_t dim) { return dim; });
}

llvm::Error import_gather_nd(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(batch_dims, node.int_or("batch_dims", 0));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(index_dims, planned_dims(node, importer, 1));
  const int64_t index_rank = static_cast<int64_t>(index_dims.size());
  const int64_t rank = static_cast<int64_t>(dims.size());
  if (batch_dims < 0 || batch_dims >= rank || batch_dims >= index_rank)
    return input_error(node.name, "expected batch_dims in [0, {0}), found {1}",
                       std::min(rank, index_rank), batch_dims);
  const int64_t tuple = index_dims.back();
  if (tuple < 1 || tuple > rank - batch_dims)
    return input_error(node.name, "expected tuples of 1 to {0} indices, found {1}",
                       rank - batch_dims, tuple);
  Dims64 result(index_dims.begin(), index_dims.end() - 1);
  result.append(dims.begin() + batch_dims + tuple, dims.end());
  if (element_count(result) == 0) {
    CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
    return bind_empty(node, importer, dtype, result);
  }
  if (llvm::Error error =
          expect_indices(node, importer, 1, llvm::makeArrayRef(dims).slice(batch_dims, tuple)))
    return error;
  Compose c(node, importer);
  CODL_ASSIGN_OR_RETURN(indices, index_operand(node, importer, c, 1));
  const GatherNdParams params = {.batch_dims = static_cast<int32_t>(batch_dims)};
  if (llvm::Error error = c.bind(c.node(OpKind::GatherNd, params, {c.operand(0), indices})))
    return error;
  return keep_extents(node, importer, 1,
                      [&](int32_t dim) -> int64_t { return dim + 1 < index_rank ? dim : -1; });
}

// ---- scattered ----

llvm::Expected<int32_t> scatter_reduction(const OnnxNode& node) {
  CODL_ASSIGN_OR_RETURN(name, node.string_or("reduction", "none"));
  constexpr std::pair<llvm::StringLiteral, int32_t> kReductions[] = {
      {"none", kScatterElementsNone}, {"add", kScatterElementsAdd}, {"mul", kScatterElementsMul},
      {"min", kScatterElementsMin},   {"max", kScatterElementsMax},
  };
  for (const auto& [known, reduction] : kReductions)
    if (known == name) return reduction;
  return input_error(node.name, "expected a reduction of ONNX, found '{0}'", name);
}

llvm::Error import_scatter_elements(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(reduction, scatter_reduction(node));
  CODL_ASSIGN_OR_RETURN(axis_attribute, node.int_or("axis", 0));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(axis, normalized_axis(node, axis_attribute, dims.size()));
  CODL_ASSIGN_OR_RETURN(nothing, is_empty(node, importer, 1));
  if (nothing) return importer.bind_operand(node, 0);
  if (llvm::Error error = expect_indices(node, importer, 1, {dims[axis]})) return error;
  Compose c(node, importer);
  const ScatterElementsParams params = {.axis = axis, .reduction = reduction};
  return c.bind(c.node(OpKind::ScatterElements, params,
                       {c.operand(0), c.operand_as(1, DType::I64), c.operand(2)}));
}

llvm::Error import_scatter_nd(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(reduction, scatter_reduction(node));
  CODL_ASSIGN_OR_RETURN(nothing, is_empty(node, importer, 1));
  if (nothing) return importer.bind_operand(node, 0);
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(index_dims, importer.dims_of(node, 1));
  if (index_dims.empty() || index_dims.back() < 1 ||
      index_dims.back() > static_cast<int64_t>(dims.size()))
    return input_error(node.name, "expected tuples of 1 to {0} indices, found dims {1}",
                       dims.size(), dims_text(index_dims));
  if (llvm::Error error =
          expect_indices(node, importer, 1, llvm::makeArrayRef(dims).take_front(index_dims.back())))
    return error;
  Compose c(node, importer);
  const ScatterNdParams params = {.reduction = reduction};
  return c.bind(
      c.node(OpKind::ScatterNd, params, {c.operand(0), c.operand_as(1, DType::I64), c.operand(2)}));
}

// Writes rows of `update` into a cache, from the batch's write index on.
llvm::Error import_tensor_scatter(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(mode, node.string_or("mode", "linear"));
  CODL_ASSIGN_OR_RETURN(axis_attribute, node.int_or("axis", -2));
  if (mode != "linear" && mode != "circular")
    return input_error(node.name, "expected mode linear or circular, found '{0}'", mode);
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(update_dims, importer.dims_of(node, 1));
  CODL_ASSIGN_OR_RETURN(axis, normalized_axis(node, axis_attribute, dims.size()));
  if (axis == 0) return input_error(node.name, "expected an axis behind the batch, found 0");
  if (update_dims.size() != dims.size())
    return input_error(node.name, "expected an update of rank {0}, found {1}", dims.size(),
                       update_dims.size());
  if (element_count(update_dims) == 0) return importer.bind_operand(node, 0);
  // Computes the index of the first written row.
  const int64_t places = dims[axis] - (mode == "linear" ? update_dims[axis] - 1 : 0);
  if (node.has_input(2))
    if (llvm::Error error = expect_indices(node, importer, 2, {std::max<int64_t>(places, 0)}))
      return error;
  Compose c(node, importer);
  ir::ValueId index = along(c, iota(c, update_dims[axis]), axis, dims.size());
  if (node.has_input(2))
    index = c.add(along(c, c.operand_as(2, DType::I64), 0, dims.size()), index);
  if (mode == "circular") index = c.binary(kBinaryMod, index, int_scalar(c, dims[axis]));
  return c.bind(c.node(OpKind::ScatterElements, ScatterElementsParams{.axis = axis},
                       {c.operand(0), c.expand(index, update_dims), c.operand(1)}));
}

// Reverses the first sequence_lens[b] elements along the time axis.
llvm::Error import_reverse_sequence(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(batch_axis, node.int_or("batch_axis", 1));
  CODL_ASSIGN_OR_RETURN(time_axis, node.int_or("time_axis", 0));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  if (dims.size() < 2 || time_axis < 0 || time_axis > 1 || batch_axis != 1 - time_axis)
    return input_error(node.name,
                       "expected time and batch axis 0 and 1 of rank 2 or more, found {0} and {1}",
                       time_axis, batch_axis);
  if (element_count(dims) == 0) return importer.bind_operand(node, 0);
  if (llvm::Error error = expect_indices(node, importer, 1, {dims[time_axis] + 1})) return error;
  Compose c(node, importer);
  const ir::ValueId time = along(c, iota(c, dims[time_axis]), time_axis, dims.size());
  const ir::ValueId length = along(c, c.operand_as(1, DType::I64), batch_axis, dims.size());
  const ir::ValueId mirrored = c.sub(c.sub(length, int_scalar(c, 1)), time);
  const ir::ValueId index = c.where(c.binary(kBinaryLess, time, length), mirrored, time);
  const GatherElementsParams params = {.axis = static_cast<int32_t>(time_axis)};
  return c.bind(c.node(OpKind::GatherElements, params, {c.operand(0), c.expand(index, dims)}));
}

}  // namespace

llvm::ArrayRef<ImportEntry> gather_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"Gather", 1, kNewestOpset, import_gather},
      {"GatherElements", 11, kNewestOpset, import_gather_elements},
      {"GatherND", 11, kNewestOpset, import_gather_nd},
      {"ReverseSequence", 10, kNewestOpset, import_reverse_sequence},
      {"Scatter", 9, kNewestOpset, import_scatter_elements},
      {"ScatterElements", 11, kNewestOpset, import_scatter_elements},
      {"ScatterND", 11, kNewestOpset, import_scatter_nd},
      {"TensorScatter", 24, kNewestOpset, import_tensor_scatter},
  };
  return kEntries;
}

}  // namespace codl::compiler
