// Holds rules that repeat and join elements: Expand, Tile, Concat.
#include <algorithm>

#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/support/error.h"
#include "llvm/ADT/Sequence.h"
#include "schema/plan_layout.h"
#include "schema/step_shape.h"

namespace codl::compiler {
namespace {

// ---- repeated ----

// Broadcasts as numpy: dims are aligned at the end, a dim of 1 stretches.
llvm::Expected<Dims64> broadcast_dims(const OnnxNode& node, llvm::ArrayRef<int64_t> a,
                                      llvm::ArrayRef<int64_t> b) {
  const size_t rank = std::max(a.size(), b.size());
  Dims64 result;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t a_dim = i + a.size() < rank ? 1 : a[i + a.size() - rank];
    const int64_t b_dim = i + b.size() < rank ? 1 : b[i + b.size() - rank];
    if (a_dim != b_dim && a_dim != 1 && b_dim != 1)
      return input_error(node.name, "expected dims that broadcast, found {0} and {1}", a_dim,
                         b_dim);
    result.push_back(a_dim == 1 ? b_dim : a_dim);
  }
  return result;
}

llvm::Error import_expand(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(dims, planned_dims(node, importer, 0));
  CODL_ASSIGN_OR_RETURN(shape, known_ints(node, importer, 1));
  if (!shape) {
    const auto declared = importer.declared_dims(node, 0);
    if (!declared) return needs_constant(node, importer, 1, "shape");
    shape.emplace(declared->begin(), declared->end());
  }
  CODL_ASSIGN_OR_RETURN(result, broadcast_dims(node, dims, *shape));
  if (llvm::Error error = check_dims(node, result)) return error;
  if (element_count(result) == 0) {
    CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
    return bind_empty(node, importer, dtype, result);
  }
  if (llvm::ArrayRef<int64_t>(result) == llvm::ArrayRef<int64_t>(dims) &&
      importer.extents_of(node, 0).empty())
    return importer.bind_operand(node, 0);
  Compose c(node, importer);
  CODL_ASSIGN_OR_RETURN(x, importer.extent_operand(node, 0));
  if (llvm::Error error = c.bind(c.expand(x, result))) return error;
  // A dim known only at run time stays so only if the shape does not change it.
  const int64_t added = static_cast<int64_t>(result.size() - dims.size());
  return keep_extents(node, importer, 0, [&](int32_t dim) -> int64_t {
    const int64_t in_shape = dim + added - static_cast<int64_t>(result.size() - shape->size());
    return dims[dim] != 1 && (in_shape < 0 || (*shape)[in_shape] == 1) ? dim + added : -1;
  });
}

// Repeats along one axis: [outer, 1, inner] stretched to [outer, count, inner].
ir::ValueId repeat(Compose& c, ir::ValueId x, Dims64& dims, size_t axis, int64_t count) {
  const int64_t outer = element_count(llvm::ArrayRef<int64_t>(dims).take_front(axis));
  const int64_t inner = element_count(llvm::ArrayRef<int64_t>(dims).drop_front(axis));
  dims[axis] *= count;
  return c.reshape(c.expand(c.reshape(x, {outer, 1, inner}), {outer, count, inner}), dims);
}

llvm::Error import_tile(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(dims, planned_dims(node, importer, 0));
  CODL_ASSIGN_OR_RETURN(repeats, known_ints(node, importer, 1));
  if (!repeats) {
    // The number of repeats follows from the dims that the model declares.
    const auto declared = importer.declared_dims(node, 0);
    if (!declared || declared->size() != dims.size() || element_count(dims) == 0)
      return needs_constant(node, importer, 1, "repeats");
    repeats.emplace();
    for (size_t i = 0; i < dims.size(); ++i) repeats->push_back((*declared)[i] / dims[i]);
  }
  if (repeats->size() != dims.size())
    return input_error(node.name, "expected {0} repeats, found {1}", dims.size(), repeats->size());
  Dims64 result = dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    if ((*repeats)[i] < 0 || (*repeats)[i] > kMaxElements)
      return input_error(node.name, "expected repeats of 0 or more, found {0}", (*repeats)[i]);
    result[i] *= (*repeats)[i];
  }
  if (llvm::Error error = check_dims(node, result)) return error;
  if (element_count(result) == 0) {
    CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
    return bind_empty(node, importer, dtype, result);
  }
  Compose c(node, importer);
  ir::ValueId x = c.operand(0);
  const bool stretches = llvm::all_of(llvm::seq<size_t>(0, dims.size()),
                                      [&](size_t i) { return dims[i] == 1 || (*repeats)[i] == 1; });
  if (stretches) return c.bind(c.expand(x, result));
  for (size_t i = 0; i < dims.size(); ++i)
    if ((*repeats)[i] != 1) x = repeat(c, x, dims, i, (*repeats)[i]);
  return c.bind(x);
}

// ---- joined ----

// A step takes this many inputs besides its output; of a longer list, as many are joined first.
constexpr size_t kMaxPieces = kernels::kMaxOperands - 1;

ir::ValueId join(Compose& c, std::vector<ir::ValueId> pieces, int64_t axis) {
  while (pieces.size() > kMaxPieces) {
    size_t excess = pieces.size() - kMaxPieces;
    std::vector<ir::ValueId> joined;
    for (llvm::ArrayRef<ir::ValueId> rest = pieces; !rest.empty();) {
      const auto group = rest.take_front(std::min(kMaxPieces, excess + 1));
      joined.push_back(group.size() == 1 ? group[0] : c.concat(group, axis));
      excess -= group.size() - 1;
      rest = rest.drop_front(group.size());
    }
    pieces = std::move(joined);
  }
  return c.concat(pieces, axis);
}

// Joins pieces that may be valid only in their first elements along the axis: first the valid
// elements of all, then the rest.
llvm::Error join_extents(const OnnxNode& node, Importer& importer, llvm::ArrayRef<size_t> operands,
                         int32_t axis) {
  Compose c(node, importer);
  std::vector<ir::ValueId> pieces;
  std::vector<ir::ValueId> is_meant;
  for (size_t i : operands) {
    CODL_ASSIGN_OR_RETURN(piece, importer.extent_operand(node, i));
    CODL_ASSIGN_OR_RETURN(dims, planned_dims(node, importer, i));
    ir::ValueId count = int_scalar(c, dims[axis]);
    for (Importer::Extent extent : importer.extents_of(node, i)) {
      if (extent.dim != axis) return unsupported_extent(node, extent.dim);
      count = extent.count;
    }
    pieces.push_back(piece);
    is_meant.push_back(c.binary(kBinaryLess, iota(c, dims[axis]), count));
  }
  const ir::ValueId condition = join(c, is_meant, 0);
  const ir::ValueId kept =
      c.node(OpKind::Compress, CompressParams{.axis = axis}, {join(c, pieces, axis), condition});
  const ir::ValueId count = c.reduce(kReduceSum, c.cast(condition, DType::I64), {0}, false);
  if (llvm::Error error = c.bind(kept)) return error;
  importer.bind_extent(node, 0, {axis, count});
  return llvm::Error::success();
}

llvm::Error import_concat(const OnnxNode& node, Importer& importer) {
  if (node.find("axis") == nullptr)
    return input_error(node.name, "expected attribute 'axis', found none");
  CODL_ASSIGN_OR_RETURN(axis_attribute, node.int_or("axis", 0));
  CODL_ASSIGN_OR_RETURN(first_dims, planned_dims(node, importer, 0));
  CODL_ASSIGN_OR_RETURN(axis, normalized_axis(node, axis_attribute, first_dims.size()));
  Dims64 result = first_dims;
  result[axis] = 0;
  llvm::SmallVector<size_t, 8> operands;  // operands that have elements
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    CODL_ASSIGN_OR_RETURN(dims, planned_dims(node, importer, i));
    if (dims.size() != result.size())
      return input_error(node.name, "expected operands of rank {0}, found {1}", result.size(),
                         dims.size());
    result[axis] += dims[axis];
    if (element_count(dims) != 0) operands.push_back(i);
  }
  if (operands.empty()) {
    CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
    return bind_empty(node, importer, dtype, result);
  }
  if (operands.size() == 1) return importer.bind_operand(node, operands[0]);

  const auto extents_of = [&](size_t i) { return importer.extents_of(node, i); };
  const auto joins_extents = [&](size_t i) {
    return llvm::any_of(extents_of(i), [&](Importer::Extent e) { return e.dim == axis; });
  };
  if (llvm::any_of(operands, joins_extents)) return join_extents(node, importer, operands, axis);
  for (size_t i : operands) {
    const auto is_same = [](Importer::Extent a, Importer::Extent b) {
      return a.dim == b.dim && a.count == b.count;
    };
    const auto first = extents_of(operands[0]);
    const auto other = extents_of(i);
    if (!std::equal(first.begin(), first.end(), other.begin(), other.end(), is_same))
      return unsupported_extent(node, (first.empty() ? other : first)[0].dim);
  }
  Compose c(node, importer);
  std::vector<ir::ValueId> pieces;
  for (size_t i : operands) {
    CODL_ASSIGN_OR_RETURN(piece, importer.extent_operand(node, i));
    pieces.push_back(piece);
  }
  if (llvm::Error error = c.bind(join(c, std::move(pieces), axis))) return error;
  return keep_extents(node, importer, operands[0], [](int32_t dim) { return dim; });
}

}  // namespace

llvm::ArrayRef<ImportEntry> concat_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"Concat", 4, kNewestOpset, import_concat},
      {"Expand", 8, kNewestOpset, import_expand},
      {"Tile", 6, kNewestOpset, import_tile},
  };
  return kEntries;
}

}  // namespace codl::compiler
