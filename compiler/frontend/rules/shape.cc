// Holds rules that read a value's shape or give its elements another: Shape, Size, Reshape,
// Flatten, Squeeze, Unsqueeze, Transpose.
//
// Exporters compute shapes with them too, so every rule takes every type, and values without
// elements.
#include <algorithm>
#include <optional>

#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/support/error.h"
#include "schema/plan_layout.h"

namespace codl::compiler {
namespace {

// ---- what shape a value has ----

// Dims that are known only at run time are counts in the graph.
ir::ValueId run_time_dims(Compose& c, llvm::ArrayRef<int64_t> dims,
                          llvm::ArrayRef<Importer::Extent> extents) {
  std::vector<ir::ValueId> parts;
  for (size_t i = 0; i < dims.size(); ++i) {
    ir::ValueId dim = ir::kNoId;
    for (Importer::Extent extent : extents)
      if (extent.dim == static_cast<int32_t>(i)) dim = c.reshape(extent.count, {1});
    parts.push_back(dim != ir::kNoId ? dim : c.ints({dims[i]}, {1}));
  }
  return c.concat(parts, 0);
}

// `start` and `end` (opset 15) are clamped.
llvm::Error import_shape(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(dims, planned_dims(node, importer, 0));
  const int64_t rank = static_cast<int64_t>(dims.size());
  CODL_ASSIGN_OR_RETURN(start_attribute, node.int_or("start", 0, IntegerUse::Bound));
  CODL_ASSIGN_OR_RETURN(end_attribute, node.int_or("end", rank, IntegerUse::Bound));
  auto clamped = [&](int64_t index) {
    return std::clamp<int64_t>(index < 0 ? index + rank : index, 0, rank);
  };
  const int64_t start = clamped(start_attribute);
  const int64_t end = std::max(start, clamped(end_attribute));
  const auto is_asked = [&](Importer::Extent extent) {
    return start <= extent.dim && extent.dim < end;
  };
  const std::vector<Importer::Extent> extents = importer.extents_of(node, 0).vec();
  if (!llvm::any_of(extents, is_asked)) {
    importer.bind_constant(node,
                           int_tensor(llvm::ArrayRef<int64_t>(dims).slice(start, end - start)));
    return llvm::Error::success();
  }
  Compose c(node, importer);
  return c.bind(c.slice(run_time_dims(c, dims, extents), 0, start, end - start));
}

llvm::Error import_size(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(dims, planned_dims(node, importer, 0));
  const std::vector<Importer::Extent> extents = importer.extents_of(node, 0).vec();
  if (extents.empty()) {
    importer.bind_constant(node, int_tensor({element_count(dims)}, {}));
    return llvm::Error::success();
  }
  Compose c(node, importer);
  return c.bind(c.reduce(kReduceProd, run_time_dims(c, dims, extents), {0}, false));
}

// ---- the same elements, other dims ----

// Returns the output dim of an input dim, or -1 if it has none.
using DimMap = std::function<int64_t(int32_t)>;

llvm::Error reshape_to(const OnnxNode& node, Importer& importer, llvm::ArrayRef<int64_t> dims,
                       const DimMap& dim_of) {
  CODL_ASSIGN_OR_RETURN(input_dims, planned_dims(node, importer, 0));
  if (llvm::Error error = check_dims(node, dims)) return error;
  if (element_count(input_dims) != element_count(dims))
    return input_error(node.name, "expected {0} elements, found {1}", element_count(input_dims),
                       element_count(dims));
  if (element_count(dims) == 0) {
    CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
    return bind_empty(node, importer, dtype, dims);
  }
  if (llvm::ArrayRef<int64_t>(input_dims) == dims) return importer.bind_operand(node, 0);
  CODL_ASSIGN_OR_RETURN(x, importer.extent_operand(node, 0));
  CODL_ASSIGN_OR_RETURN(output, importer.append_reshape(node, "", x, dims));
  importer.bind(node, output);
  return keep_extents(node, importer, 0, dim_of);
}

// Returns the dim of `to` that is dim `dim` of `from`: as many elements come before it, and it has
// the same length where `is_free`.
int64_t same_place(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to, int32_t dim,
                   const std::function<bool(size_t)>& is_free) {
  const int64_t outer = element_count(from.take_front(dim));
  for (size_t i = 0; i < to.size(); ++i)
    if (element_count(to.take_front(i)) == outer && to[i] == from[dim] && is_free(i))
      return static_cast<int64_t>(i);
  return -1;
}

// Flattens to [product of dims before axis, product of the others].
llvm::Error import_flatten(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(axis, node.int_or("axis", 1));
  CODL_ASSIGN_OR_RETURN(dims, planned_dims(node, importer, 0));
  const int64_t rank = static_cast<int64_t>(dims.size());
  if (axis < -rank || axis > rank)
    return input_error(node.name, "expected an axis in [{0}, {1}], found {2}", -rank, rank, axis);
  const int64_t first_inner = axis < 0 ? axis + rank : axis;
  Dims64 flat = {1, 1};
  for (int64_t i = 0; i < rank; ++i) flat[i < first_inner ? 0 : 1] *= dims[i];
  return reshape_to(node, importer, flat, [&](int32_t dim) {
    return same_place(dims, flat, dim, [](size_t) { return true; });
  });
}

// Returns the dims that `shape` asks for, given the input's dims.
llvm::Expected<Dims64> reshaped_dims(const OnnxNode& node, llvm::ArrayRef<int64_t> dims,
                                     llvm::ArrayRef<int64_t> shape, bool allows_zero) {
  if (shape.size() > kMaxRank)
    return unsupported_error(node.name, "expected rank <= {0}, found {1}", kMaxRank, shape.size());
  Dims64 result;
  int inferred = -1;
  int64_t known = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t dim = shape[i];
    if (dim == 0 && !allows_zero) {
      if (i >= dims.size())
        return input_error(node.name, "expected an input dim {0} to copy, found rank {1}", i,
                           dims.size());
      dim = dims[i];
    }
    if (dim == -1) {
      if (inferred >= 0) return input_error(node.name, "expected one dim of -1, found two");
      inferred = static_cast<int>(i);
      result.push_back(1);
      continue;
    }
    if (dim < 0 || dim > kMaxElements)
      return input_error(node.name, "expected dims of -1, 0 or more, found {0}", dim);
    result.push_back(dim);
    known *= dim;
    if (known > kMaxElements)
      return input_error(node.name, "expected the elements of the input, found more");
  }
  if (inferred >= 0) {
    const int64_t count = element_count(dims);
    if (known == 0 || count % known != 0)
      return input_error(node.name, "expected dims that divide {0} elements, found {1}", count,
                         known);
    result[inferred] = count / known;
  }
  return result;
}

llvm::Error import_reshape(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(allowzero, node.int_or("allowzero", 0));
  CODL_ASSIGN_OR_RETURN(dims, planned_dims(node, importer, 0));
  CODL_ASSIGN_OR_RETURN(shape, known_ints(node, importer, 1));
  if (!shape) {
    const auto declared = importer.declared_dims(node, 0);
    if (!declared) return needs_constant(node, importer, 1, "shape");
    return reshape_to(node, importer, *declared, [](int32_t) { return -1; });
  }
  CODL_ASSIGN_OR_RETURN(result, reshaped_dims(node, dims, *shape, allowzero != 0));
  // A dim that the model gives as a number is known before run time.
  return reshape_to(node, importer, result, [&](int32_t dim) {
    return same_place(dims, result, dim, [&](size_t i) { return (*shape)[i] <= 0; });
  });
}

// Without `axes` it removes every dim of 1.
llvm::Error squeeze(const OnnxNode& node, Importer& importer,
                    std::optional<llvm::ArrayRef<int64_t>> axes) {
  CODL_ASSIGN_OR_RETURN(dims, planned_dims(node, importer, 0));
  std::vector<bool> is_removed(dims.size(), false);
  if (axes) {
    for (int64_t axis : *axes) {
      CODL_ASSIGN_OR_RETURN(positive, normalized_axis(node, axis, dims.size()));
      if (dims[positive] != 1)
        return input_error(node.name, "expected dim {0} to be 1, found {1}", positive,
                           dims[positive]);
      is_removed[positive] = true;
    }
  } else {
    for (size_t i = 0; i < dims.size(); ++i) is_removed[i] = dims[i] == 1;
  }
  Dims64 kept;
  for (size_t i = 0; i < dims.size(); ++i)
    if (!is_removed[i]) kept.push_back(dims[i]);
  return reshape_to(node, importer, kept, [&](int32_t dim) -> int64_t {
    if (is_removed[dim]) return -1;
    return std::count(is_removed.begin(), is_removed.begin() + dim, false);
  });
}

llvm::Error import_squeeze_7(const OnnxNode& node, Importer& importer) {
  if (node.find("axes") == nullptr) return squeeze(node, importer, std::nullopt);
  CODL_ASSIGN_OR_RETURN(axes, node.ints_or("axes", {}));
  return squeeze(node, importer, llvm::ArrayRef<int64_t>(axes));
}

llvm::Error import_squeeze_13(const OnnxNode& node, Importer& importer) {
  if (!node.has_input(1)) return squeeze(node, importer, std::nullopt);
  CODL_ASSIGN_OR_RETURN(axes, known_ints(node, importer, 1));
  if (axes) return squeeze(node, importer, llvm::ArrayRef<int64_t>(*axes));
  const auto declared = importer.declared_dims(node, 0);
  if (!declared) return needs_constant(node, importer, 1, "axes");
  return reshape_to(node, importer, *declared, [](int32_t) { return -1; });
}

llvm::Error unsqueeze(const OnnxNode& node, Importer& importer, llvm::ArrayRef<int64_t> axes) {
  CODL_ASSIGN_OR_RETURN(dims, planned_dims(node, importer, 0));
  const size_t rank = dims.size() + axes.size();
  if (rank > kMaxRank)
    return unsupported_error(node.name, "expected rank <= {0}, found {1}", kMaxRank, rank);
  std::vector<bool> is_new(rank, false);
  for (int64_t axis : axes) {
    CODL_ASSIGN_OR_RETURN(positive, normalized_axis(node, axis, rank));
    if (is_new[positive])
      return input_error(node.name, "expected each axis once, found {0} again", positive);
    is_new[positive] = true;
  }
  Dims64 result;
  llvm::SmallVector<int64_t, 4> place;  // indexed by input dim
  for (size_t i = 0; i < rank; ++i) {
    result.push_back(is_new[i] ? 1 : dims[place.size()]);
    if (!is_new[i]) place.push_back(static_cast<int64_t>(i));
  }
  return reshape_to(node, importer, result, [&](int32_t dim) { return place[dim]; });
}

llvm::Error import_unsqueeze_7(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(axes, node.ints_or("axes", {}));
  return unsqueeze(node, importer, axes);
}

llvm::Error import_unsqueeze_13(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(axes, known_ints(node, importer, 1));
  if (axes) return unsqueeze(node, importer, *axes);
  const auto declared = importer.declared_dims(node, 0);
  if (!declared) return needs_constant(node, importer, 1, "axes");
  return reshape_to(node, importer, *declared, [](int32_t) { return -1; });
}

llvm::Error import_transpose(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(dims, planned_dims(node, importer, 0));
  const int rank = static_cast<int>(dims.size());
  std::vector<int64_t> reversed;
  for (int i = rank; i-- > 0;) reversed.push_back(i);
  CODL_ASSIGN_OR_RETURN(perm, node.ints_or("perm", reversed, rank));
  Dims64 permuted;
  Dims64 place(rank, -1);
  for (int i = 0; i < rank; ++i) {
    if (perm[i] < 0 || perm[i] >= rank || place[perm[i]] >= 0)
      return input_error(node.name, "expected a permutation of [0, {0}), found {1} at {2}", rank,
                         perm[i], i);
    permuted.push_back(dims[perm[i]]);
    place[perm[i]] = i;
  }
  if (element_count(dims) == 0) {
    CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
    return bind_empty(node, importer, dtype, permuted);
  }
  Compose c(node, importer);
  CODL_ASSIGN_OR_RETURN(x, importer.extent_operand(node, 0));
  if (llvm::Error error = c.bind(c.transpose(x, perm))) return error;
  return keep_extents(node, importer, 0, [&](int32_t dim) { return place[dim]; });
}

}  // namespace

llvm::ArrayRef<ImportEntry> shape_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"Flatten", 1, kNewestOpset, import_flatten},
      {"Reshape", 5, kNewestOpset, import_reshape},
      {"Shape", 1, kNewestOpset, import_shape},
      {"Size", 1, kNewestOpset, import_size},
      {"Squeeze", 1, 12, import_squeeze_7},
      {"Squeeze", 13, kNewestOpset, import_squeeze_13},
      {"Transpose", 1, kNewestOpset, import_transpose},
      {"Unsqueeze", 1, 12, import_unsqueeze_7},
      {"Unsqueeze", 13, kNewestOpset, import_unsqueeze_13},
  };
  return kEntries;
}

}  // namespace codl::compiler
