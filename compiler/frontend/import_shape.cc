// Operators that move or rename elements: Flatten, Reshape, Squeeze, Unsqueeze, Transpose, Concat.
//
// Squeeze, Unsqueeze and Concat also work on integer constants: exporters compute the shape that a
// Reshape takes by them.
#include <optional>

#include "compiler/frontend/rules.h"
#include "compiler/support/error.h"
#include "kernels/common/contract.h"
#include "schema/plan_layout.h"
#include "schema/tables.h"

namespace codl::compiler {
namespace {

using Dims64 = llvm::SmallVector<int64_t, 4>;

// The first input with other dims: a Reshape node, or an integer constant.
llvm::Error reshape_to(const OnnxNode& node, Importer& importer, const Dims64& dims) {
  if (importer.is_constant(node, 0)) {
    CODL_ASSIGN_OR_RETURN(view, importer.constant(node, 0));
    OnnxTensor tensor;
    tensor.dtype = view.dtype;
    tensor.dims = dims;
    tensor.bytes = view.bytes.vec();
    const size_t elements = view.bytes.size() / dtype_bytes(view.dtype);
    if (static_cast<size_t>(tensor.element_count()) != elements)
      return input_error(node.name, "expected {0} elements, found {1}", elements,
                         tensor.element_count());
    importer.bind_constant(node, std::move(tensor));
    return llvm::Error::success();
  }
  CODL_ASSIGN_OR_RETURN(x, importer.operand(node, 0));
  CODL_ASSIGN_OR_RETURN(output, importer.append_reshape(node, "", x, dims));
  importer.bind(node, output);
  return llvm::Error::success();
}

llvm::Error squeeze(const OnnxNode& node, Importer& importer,
                    std::optional<llvm::ArrayRef<int64_t>> axes) {
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
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
  return reshape_to(node, importer, kept);
}

llvm::Error unsqueeze(const OnnxNode& node, Importer& importer, llvm::ArrayRef<int64_t> axes) {
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
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
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) result.push_back(is_new[i] ? 1 : dims[next++]);
  return reshape_to(node, importer, result);
}

// Dims of an integer constant joined along its only axis.
llvm::Error concat_int_constants(const OnnxNode& node, Importer& importer) {
  OnnxTensor tensor;
  tensor.dtype = DType::I64;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    CODL_ASSIGN_OR_RETURN(view, importer.constant(node, i));
    if (view.dtype != DType::I64 || view.dims.size() != 1)
      return unsupported_error(node.name, "expected integer vectors, found '{0}'", node.inputs[i]);
    tensor.bytes.insert(tensor.bytes.end(), view.bytes.begin(), view.bytes.end());
  }
  tensor.dims = {static_cast<int64_t>(tensor.bytes.size() / sizeof(int64_t))};
  importer.bind_constant(node, std::move(tensor));
  return llvm::Error::success();
}

// [product of dims before axis, product of the others].
llvm::Error import_flatten(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(axis, node.int_or("axis", 1));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  const int64_t rank = static_cast<int64_t>(dims.size());
  if (axis < -rank || axis > rank)
    return input_error(node.name, "expected an axis in [{0}, {1}], found {2}", -rank, rank, axis);
  const int64_t first_inner = axis < 0 ? axis + rank : axis;
  Dims64 flat = {1, 1};
  for (int64_t i = 0; i < rank; ++i) flat[i < first_inner ? 0 : 1] *= dims[i];
  return reshape_to(node, importer, flat);
}

llvm::Error import_reshape(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(shape, importer.int_constant(node, 1));
  CODL_ASSIGN_OR_RETURN(allowzero, node.int_or("allowzero", 0));
  if (shape.size() > kMaxRank)
    return unsupported_error(node.name, "expected rank <= {0}, found {1}", kMaxRank, shape.size());
  Dims64 result;
  int inferred = -1;
  int64_t known = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t dim = shape[i];
    if (dim == 0 && allowzero == 0) {
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
    int64_t count = 1;
    for (int64_t dim : dims) count *= dim;
    if (known == 0 || count % known != 0)
      return input_error(node.name, "expected dims that divide {0} elements, found {1}", count,
                         known);
    result[inferred] = count / known;
  }
  return reshape_to(node, importer, result);
}

llvm::Error import_squeeze_7(const OnnxNode& node, Importer& importer) {
  if (node.find("axes") == nullptr) return squeeze(node, importer, std::nullopt);
  CODL_ASSIGN_OR_RETURN(axes, node.ints_or("axes", {}));
  return squeeze(node, importer, llvm::ArrayRef<int64_t>(axes));
}

llvm::Error import_squeeze_13(const OnnxNode& node, Importer& importer) {
  if (!node.has_input(1)) return squeeze(node, importer, std::nullopt);
  CODL_ASSIGN_OR_RETURN(axes, importer.int_constant(node, 1));
  return squeeze(node, importer, axes);
}

llvm::Error import_unsqueeze_7(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(axes, node.ints_or("axes", {}));
  return unsqueeze(node, importer, axes);
}

llvm::Error import_unsqueeze_13(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(axes, importer.int_constant(node, 1));
  return unsqueeze(node, importer, axes);
}

llvm::Error import_transpose(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(x, importer.operand(node, 0));
  const int32_t rank = importer.type(x).rank();
  std::vector<int64_t> reversed;
  for (int32_t i = rank; i-- > 0;) reversed.push_back(i);
  CODL_ASSIGN_OR_RETURN(perm, node.ints_or("perm", reversed, rank));
  int32_t perm_by_dim[kMaxRank] = {};
  for (int32_t i = 0; i < rank; ++i) {
    if (perm[i] < 0 || perm[i] >= rank)
      return input_error(node.name, "expected perm in [0, {0}), found {1}", rank, perm[i]);
    perm_by_dim[i] = static_cast<int32_t>(perm[i]);
  }
  const TransposeParams params = {perm_by_dim[0], perm_by_dim[1], perm_by_dim[2], perm_by_dim[3],
                                  perm_by_dim[4], perm_by_dim[5], perm_by_dim[6], perm_by_dim[7]};
  CODL_ASSIGN_OR_RETURN(output, importer.append(node, "", OpKind::Transpose, params, {x}));
  importer.bind(node, output);
  return llvm::Error::success();
}

llvm::Error import_concat(const OnnxNode& node, Importer& importer) {
  if (node.find("axis") == nullptr)
    return input_error(node.name, "expected attribute 'axis', found none");
  CODL_ASSIGN_OR_RETURN(axis_attribute, node.int_or("axis", 0));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(axis, normalized_axis(node, axis_attribute, dims.size()));
  CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
  if (dtype == DType::I64) return concat_int_constants(node, importer);
  if (node.inputs.size() == 1) return importer.bind_operand(node, 0);

  std::vector<ir::ValueId> pieces;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    CODL_ASSIGN_OR_RETURN(piece, importer.operand(node, i));
    pieces.push_back(piece);
  }
  // A step has room for this many inputs beside its output; a longer list is joined from the front.
  constexpr size_t kMaxPieces = kernels::kMaxOperands - 1;
  while (pieces.size() > kMaxPieces) {
    llvm::SmallVector<ir::ValueId, 4> front(pieces.begin(), pieces.begin() + kMaxPieces);
    CODL_ASSIGN_OR_RETURN(joined, importer.append(node, "front", OpKind::Concat,
                                                  ConcatParams{.axis = axis}, std::move(front)));
    pieces.erase(pieces.begin(), pieces.begin() + kMaxPieces);
    pieces.insert(pieces.begin(), joined);
  }
  llvm::SmallVector<ir::ValueId, 4> inputs(pieces.begin(), pieces.end());
  CODL_ASSIGN_OR_RETURN(output, importer.append(node, "", OpKind::Concat,
                                                ConcatParams{.axis = axis}, std::move(inputs)));
  importer.bind(node, output);
  return llvm::Error::success();
}

constexpr ImportRow kRows[] = {
    {"Concat", 7, kNewestOpset, import_concat},
    {"Flatten", 7, kNewestOpset, import_flatten},
    {"Reshape", 7, kNewestOpset, import_reshape},
    {"Squeeze", 7, 12, import_squeeze_7},
    {"Squeeze", 13, kNewestOpset, import_squeeze_13},
    {"Transpose", 7, kNewestOpset, import_transpose},
    {"Unsqueeze", 7, 12, import_unsqueeze_7},
    {"Unsqueeze", 13, kNewestOpset, import_unsqueeze_13},
};

}  // namespace

llvm::ArrayRef<ImportRow> shape_rows() { return kRows; }

}  // namespace codl::compiler
