// Imports operators that choose elements by their contents, and those that mark positions:
// Compress, NonZero, NonMaxSuppression, TopK, OneHot, Trilu, EyeLike.
//
// The first four choose a number of elements that is known only at run time: their outputs are
// planned with the largest number, and the actual one is an extent.
#include <algorithm>

#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/support/error.h"
#include "schema/plan_layout.h"

namespace codl::compiler {
namespace {

// Returns how many elements of a bool value are true, as an i64 scalar.
ir::ValueId count_true(Compose& c, ir::ValueId condition) {
  int64_t elements = 1;
  for (int32_t dim : c.dims(condition)) elements *= dim;
  const ir::ValueId flat = c.reshape(c.cast(condition, DType::I64), {elements});
  return c.reduce(kReduceSum, flat, {0}, false);
}

llvm::Error import_compress(const OnnxNode& node, Importer& importer) {
  const bool has_axis = node.find("axis") != nullptr;
  CODL_ASSIGN_OR_RETURN(axis_attribute, node.int_or("axis", 0));
  CODL_ASSIGN_OR_RETURN(input_dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(condition_dims, importer.dims_of(node, 1));
  const Dims64 dims = has_axis ? input_dims : Dims64{element_count(input_dims)};
  CODL_ASSIGN_OR_RETURN(axis, normalized_axis(node, axis_attribute, dims.size()));
  if (condition_dims.size() != 1)
    return input_error(node.name, "expected a condition of rank 1, found {0}",
                       condition_dims.size());
  const int64_t looked_at = std::min(condition_dims[0], dims[axis]);
  if (looked_at == 0 || element_count(dims) == 0) {
    CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
    Dims64 result = dims;
    result[axis] = 0;
    return bind_empty(node, importer, dtype, result);
  }
  Compose c(node, importer);
  const ir::ValueId condition = c.slice(c.operand_as(1, DType::Bool), 0, 0, looked_at);
  const ir::ValueId count = count_true(c, condition);
  const ir::ValueId x = c.reshape(c.operand(0), dims);
  if (llvm::Error error =
          c.bind(c.node(OpKind::Compress, CompressParams{.axis = axis}, {x, condition})))
    return error;
  importer.bind_extent(node, 0, {axis, count});
  return llvm::Error::success();
}

llvm::Error import_non_zero(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  if (element_count(dims) == 0)
    return bind_empty(node, importer, DType::I64, {static_cast<int64_t>(dims.size()), 0});
  Compose c(node, importer);
  const ir::ValueId x = c.operand(0);
  const ir::ValueId count = count_true(c, c.cast(x, DType::Bool));
  if (llvm::Error error = c.take_error()) return error;
  CODL_ASSIGN_OR_RETURN(places, importer.append_node(node, "", OpKind::NonZero, {}, {x}));
  importer.bind(node, places);
  importer.bind_extent(node, 0, {1, count});
  return llvm::Error::success();
}

llvm::Error import_non_max_suppression(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(center_point_box, node.int_or("center_point_box", 0));
  CODL_ASSIGN_OR_RETURN(score_dims, importer.dims_of(node, 1));
  if (score_dims.size() != 3)
    return input_error(node.name, "expected scores of rank 3, found {0}", score_dims.size());
  // This limits the boxes per class; without the operand it is 0.
  int64_t most = is_given(node, importer, 2) ? score_dims[2] : 0;
  if (most != 0 && importer.is_constant(node, 2)) {
    CODL_ASSIGN_OR_RETURN(limit, importer.int_constant(node, 2, IntegerUse::Bound));
    most = std::clamp<int64_t>(limit[0], 0, most);
  }
  const int64_t rows = score_dims[0] * score_dims[1] * most;
  if (rows == 0) return bind_empty(node, importer, DType::I64, {0, 3});
  Compose c(node, importer);
  const bool has_threshold = is_given(node, importer, 4);
  const auto threshold = [&](size_t i) {
    return is_given(node, importer, i) ? c.operand_as(i, DType::F32) : c.scalar(DType::F32, 0);
  };
  const NonMaxSuppressionParams params = {.is_center_point_box = center_point_box != 0,
                                          .has_score_threshold = has_threshold};
  const ir::ValueId found = c.node(OpKind::NonMaxSuppression, params,
                                   {c.operand_as(0, DType::F32), c.operand_as(1, DType::F32),
                                    c.operand_as(2, DType::I64), threshold(3), threshold(4)});
  const ir::ValueId selected = c.slice(found, 0, 0, rows);
  // Rows of -1 follow the boxes that are found.
  const ir::ValueId batches = c.slice(selected, 1, 0, 1);
  const ir::ValueId count =
      count_true(c, c.binary(kBinaryGreaterOrEqual, batches, int_scalar(c, 0)));
  if (llvm::Error error = c.bind(selected)) return error;
  importer.bind_extent(node, 0, {0, count});
  return llvm::Error::success();
}

// ---- TopK ----

// Returns values and indices of the `k` best; with a `count` only so many of them are valid.
llvm::Error top_k(const OnnxNode& node, Importer& importer, int32_t axis, int64_t k,
                  bool is_smallest, bool has_count) {
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  if (k < 0 || k > dims[axis])
    return input_error(node.name, "expected k in [0, {0}], found {1}", dims[axis], k);
  Compose c(node, importer);
  if (k == 0 || element_count(dims) == 0) {
    CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
    dims[axis] = k;
    for (size_t output = 0; output < 2; ++output) {
      if (!c.has_output(output)) continue;
      if (llvm::Error error =
              bind_empty(node, importer, output == 0 ? dtype : DType::I64, dims, output))
        return error;
    }
    return llvm::Error::success();
  }
  const ir::ValueId count =
      has_count ? clamp(c, c.reshape(c.operand_as(1, DType::I64), {}), 0, k) : ir::kNoId;
  const ir::ValueId x = c.operand(0);
  const TopKParams params = {
      .axis = axis, .k = static_cast<int32_t>(k), .is_smallest = is_smallest};
  const ir::ValueId places = c.node(OpKind::TopK, params, {x});
  for (size_t output = 0; output < 2; ++output) {
    if (!c.has_output(output)) continue;
    const ir::ValueId result =
        output == 1
            ? places
            : c.node(OpKind::GatherElements, GatherElementsParams{.axis = axis}, {x, places});
    if (llvm::Error error = c.bind(result, output)) return error;
    if (has_count) importer.bind_extent(node, output, {axis, count});
  }
  return llvm::Error::success();
}

llvm::Error import_top_k_7(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(k, node.int_or("k", -1));
  CODL_ASSIGN_OR_RETURN(axis_attribute, node.int_or("axis", -1));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(axis, normalized_axis(node, axis_attribute, dims.size()));
  return top_k(node, importer, axis, k, false, false);
}

llvm::Error import_top_k_10(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(axis_attribute, node.int_or("axis", -1));
  CODL_ASSIGN_OR_RETURN(largest, node.int_or("largest", 1));
  // Sorted results also satisfy an unsorted request.
  if (auto sorted = node.int_or("sorted", 1); !sorted) return sorted.takeError();
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(axis, normalized_axis(node, axis_attribute, dims.size()));
  CODL_ASSIGN_OR_RETURN(k, known_ints(node, importer, 1));
  if (k) {
    if (k->size() != 1) return input_error(node.name, "expected one k, found {0}", k->size());
    return top_k(node, importer, axis, k->front(), largest == 0, false);
  }
  for (size_t output = 0; output < 2; ++output)
    if (const auto declared = importer.declared_dims(node, output))
      if (declared->size() == dims.size())
        return top_k(node, importer, axis, (*declared)[axis], largest == 0, false);
  return top_k(node, importer, axis, dims[axis], largest == 0, true);
}

// ---- positions ----

// Writes `on` where the index along the new axis is the element's; an index outside [-depth, depth)
// marks nothing.
llvm::Error import_one_hot(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(axis_attribute, node.int_or("axis", -1));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(value_dims, importer.dims_of(node, 2));
  CODL_ASSIGN_OR_RETURN(axis, normalized_axis(node, axis_attribute, dims.size() + 1));
  if (value_dims.size() != 1 || value_dims[0] != 2)
    return input_error(node.name, "expected the values off and on, found other dims");
  int64_t depth = 0;
  if (importer.is_constant(node, 1)) {
    CODL_ASSIGN_OR_RETURN(elements, importer.float_constant(node, 1));
    if (elements.size() != 1 || !(elements[0] >= 0 && elements[0] <= kMaxDim))
      return input_error(node.name, "expected one depth of 0 or more");
    depth = static_cast<int64_t>(elements[0]);
  } else {
    const auto declared = importer.declared_dims(node, 0);
    if (!declared || declared->size() != dims.size() + 1)
      return needs_constant(node, importer, 1, "depth");
    depth = (*declared)[axis];
  }
  Dims64 index_dims = dims;
  index_dims.insert(index_dims.begin() + axis, 1);
  Dims64 result = index_dims;
  result[axis] = depth;
  if (llvm::Error error = check_dims(node, result)) return error;
  if (element_count(result) == 0) {
    CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 2));
    return bind_empty(node, importer, dtype, result);
  }
  Compose c(node, importer);
  const ir::ValueId index =
      c.reshape(from_front(c, c.operand_as(0, DType::I64), int_scalar(c, depth)), index_dims);
  const ir::ValueId places = along(c, iota(c, depth), axis, result.size());
  const ir::ValueId off = c.reshape(c.slice(c.operand(2), 0, 0, 1), {});
  const ir::ValueId on = c.reshape(c.slice(c.operand(2), 0, 1, 1), {});
  return c.bind(c.where(c.binary(kBinaryEqual, index, places), on, off));
}

// Returns column minus row for a [rows, columns] matrix.
ir::ValueId diagonals(Compose& c, int64_t rows, int64_t columns) {
  return c.sub(along(c, iota(c, columns), 1, 2), along(c, iota(c, rows), 0, 2));
}

llvm::Error import_trilu(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(upper, node.int_or("upper", 1));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
  if (dims.size() < 2)
    return input_error(node.name, "expected rank 2 or more, found {0}", dims.size());
  if (element_count(dims) == 0) return importer.bind_operand(node, 0);
  Compose c(node, importer);
  const ir::ValueId k =
      is_given(node, importer, 1) ? c.reshape(c.operand_as(1, DType::I64), {}) : int_scalar(c, 0);
  const ir::ValueId place = diagonals(c, dims[dims.size() - 2], dims.back());
  const ir::ValueId is_kept =
      c.binary(upper != 0 ? kBinaryGreaterOrEqual : kBinaryLessOrEqual, place, k);
  return c.bind(c.where(is_kept, c.operand(0), c.scalar(dtype, 0)));
}

llvm::Error import_eye_like(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(k, node.int_or("k", 0, IntegerUse::Data));
  CODL_ASSIGN_OR_RETURN(type, node.int_or("dtype", 0));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
  if (dims.size() != 2) return input_error(node.name, "expected rank 2, found {0}", dims.size());
  if (node.find("dtype") != nullptr) {
    const auto known = dtype_of_onnx(type);
    if (!known)
      return unsupported_error(node.name, "expected dtype of a number or bool, found {0}",
                               onnx_type_name(type));
    dtype = held_dtype(*known);
  }
  if (element_count(dims) == 0) return bind_empty(node, importer, dtype, dims);
  Compose c(node, importer);
  const ir::ValueId is_one =
      c.binary(kBinaryEqual, diagonals(c, dims[0], dims[1]), int_scalar(c, k));
  return c.bind(c.cast(is_one, dtype));
}

}  // namespace

llvm::ArrayRef<ImportEntry> select_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"Compress", 9, kNewestOpset, import_compress},
      {"EyeLike", 9, kNewestOpset, import_eye_like},
      {"NonMaxSuppression", 10, kNewestOpset, import_non_max_suppression},
      {"NonZero", 9, kNewestOpset, import_non_zero},
      {"OneHot", 9, kNewestOpset, import_one_hot},
      {"TopK", 1, 9, import_top_k_7},
      {"TopK", 10, kNewestOpset, import_top_k_10},
      {"Trilu", 14, kNewestOpset, import_trilu},
  };
  return kEntries;
}

}  // namespace codl::compiler
