#include "compiler/frontend/graph/shape_operands.h"

#include <limits>
#include <numeric>

#include "compiler/support/error.h"
#include "schema/plan_layout.h"

namespace codl::compiler {

int64_t element_count(llvm::ArrayRef<int64_t> dims) {
  if (llvm::is_contained(dims, 0)) return 0;
  int64_t count = 1;
  for (int64_t dim : dims)
    if (__builtin_mul_overflow(count, dim, &count)) return std::numeric_limits<int64_t>::max();
  return count;
}

llvm::Expected<Dims64> planned_dims(const OnnxNode& node, Importer& importer, size_t i) {
  if (!node.has_input(i) || importer.extents_of(node, i).empty()) return importer.dims_of(node, i);
  CODL_ASSIGN_OR_RETURN(value, importer.extent_operand(node, i));
  const ir::Dims& dims = importer.type(value).dims;
  return Dims64(dims.begin(), dims.end());
}

bool is_given(const OnnxNode& node, const Importer& importer, size_t i) {
  if (!node.has_input(i)) return false;
  if (!importer.extents_of(node, i).empty()) return true;
  auto dims = importer.dims_of(node, i);
  if (!dims) {
    llvm::consumeError(dims.takeError());
    return false;
  }
  return element_count(*dims) != 0;
}

OnnxTensor int_tensor(llvm::ArrayRef<int64_t> elements) {
  return int_tensor(elements, {static_cast<int64_t>(elements.size())});
}

OnnxTensor int_tensor(llvm::ArrayRef<int64_t> elements, llvm::ArrayRef<int64_t> dims) {
  OnnxTensor tensor;
  tensor.dtype = DType::I64;
  tensor.dims.assign(dims.begin(), dims.end());
  tensor.bytes = bytes_of(elements);
  return tensor;
}

llvm::Error bind_empty(const OnnxNode& node, Importer& importer, DType dtype,
                       llvm::ArrayRef<int64_t> dims, size_t output) {
  if (llvm::Error error = check_dims(node, dims)) return error;
  if (element_count(dims) > 0)
    return input_error(node.name, "expected operands with elements, found one without");
  OnnxTensor tensor;
  tensor.dtype = dtype;
  tensor.dims.assign(dims.begin(), dims.end());
  importer.bind_constant(node, std::move(tensor), output);
  return llvm::Error::success();
}

llvm::Error check_dims(const OnnxNode& node, llvm::ArrayRef<int64_t> dims) {
  if (dims.size() > kMaxRank)
    return unsupported_error(node.name, "expected rank <= {0}, found {1}", kMaxRank, dims.size());
  int64_t count = 1;
  for (int64_t dim : dims) {
    if (dim < 0) return input_error(node.name, "expected dims of 0 or more, found {0}", dim);
    if (dim > kMaxDim)
      return unsupported_error(node.name, "expected dims <= {0}, found {1}", kMaxDim, dim);
    count *= dim;
    if (count > kMaxElements)
      return unsupported_error(node.name, "expected at most {0} elements, found more",
                               kMaxElements);
  }
  return llvm::Error::success();
}

llvm::Error needs_constant(const OnnxNode& node, const Importer& importer, size_t i,
                           llvm::StringRef what) {
  if (!node.has_input(i))
    return input_error(node.name, "expected input {0} of {1}, found {2} inputs", i, node.op_type,
                       node.inputs.size());
  const std::string advice = importer.how_to_fix(node, i);
  return unsupported_error(
      node.name, "expected the {0} of {1} to be constant, found '{2}', computed at run time{3}",
      what, node.op_type, node.inputs[i],
      advice.empty() ? " (fix the dims it depends on with --input-shape, or fold it into the model)"
                     : advice);
}

llvm::Error expect_indices(const OnnxNode& node, Importer& importer, size_t i,
                           llvm::ArrayRef<int64_t> extents, std::optional<int64_t> ignored) {
  if (!importer.is_constant(node, i)) return llvm::Error::success();
  CODL_ASSIGN_OR_RETURN(indices, importer.int_constant(node, i, IntegerUse::Data));
  for (size_t k = 0; k < indices.size(); ++k) {
    const int64_t extent = extents[k % extents.size()];
    if ((indices[k] < -extent || indices[k] >= extent) && indices[k] != ignored)
      return input_error(node.name, "expected indices in [{0}, {1}) in '{2}', found {3}", -extent,
                         extent, node.inputs[i], indices[k]);
  }
  return llvm::Error::success();
}

llvm::Expected<std::optional<std::vector<int64_t>>> known_ints(const OnnxNode& node,
                                                               Importer& importer, size_t i,
                                                               IntegerUse use) {
  if (!importer.is_constant(node, i)) return std::nullopt;
  CODL_ASSIGN_OR_RETURN(elements, importer.int_constant(node, i, use));
  return std::vector<int64_t>(elements.begin(), elements.end());
}

ir::ValueId iota(Compose& c, int64_t count) {
  // Longer lists are counted at run time, because a model of a few bytes can ask for many elements.
  constexpr int64_t kMaxListed = 4096;
  if (count > kMaxListed) {
    const CumulateParams params = {.axis = 0, .is_exclusive = 1};
    return c.node(OpKind::Cumulate, params, {c.filled(DType::I64, 1, {count})});
  }
  std::vector<int64_t> elements(count);
  std::iota(elements.begin(), elements.end(), 0);
  return c.ints(elements, {count});
}

ir::ValueId along(Compose& c, ir::ValueId x, int64_t axis, size_t rank) {
  Dims64 dims(rank, 1);
  dims[axis] = -1;
  int64_t count = 1;
  for (int32_t dim : c.dims(x)) count *= dim;
  dims[axis] = count;
  return c.reshape(x, dims);
}

ir::ValueId int_scalar(Compose& c, int64_t value) { return c.ints({value}, {}); }

ir::ValueId from_front(Compose& c, ir::ValueId index, ir::ValueId extent) {
  const ir::ValueId is_negative = c.binary(kBinaryLess, index, int_scalar(c, 0));
  return c.where(is_negative, c.add(index, extent), index);
}

ir::ValueId clamp(Compose& c, ir::ValueId x, int64_t low, int64_t high) {
  return c.binary(kBinaryMin, c.binary(kBinaryMax, x, int_scalar(c, low)), int_scalar(c, high));
}

ir::ValueId of_dim(Compose& c, ir::ValueId axes, ir::ValueId per_axis, int64_t dim,
                   int64_t fallback) {
  const ir::ValueId is_dim = c.binary(kBinaryEqual, axes, int_scalar(c, dim));
  const ir::ValueId difference = c.sub(per_axis, int_scalar(c, fallback));
  const ir::ValueId picked = c.where(is_dim, difference, int_scalar(c, 0));
  return c.add(c.reduce(kReduceSum, picked, {0}, false), int_scalar(c, fallback));
}

llvm::Error unsupported_extent(const OnnxNode& node, int32_t dim) {
  return unsupported_error(
      node.name, "expected an operand of known dims, found dim {0} known at run time only", dim);
}

llvm::Error keep_extents(const OnnxNode& node, Importer& importer, size_t operand,
                         const std::function<int64_t(int32_t)>& dim_of, size_t output) {
  // The list is copied, because binding may move the importer's.
  const std::vector<Importer::Extent> extents = importer.extents_of(node, operand).vec();
  for (Importer::Extent extent : extents) {
    const int64_t dim = dim_of(extent.dim);
    if (dim < 0) return unsupported_extent(node, extent.dim);
    importer.bind_extent(node, output, {static_cast<int32_t>(dim), extent.count});
  }
  return llvm::Error::success();
}

}  // namespace codl::compiler
