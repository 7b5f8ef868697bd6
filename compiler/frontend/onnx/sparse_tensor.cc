#include "compiler/frontend/onnx/sparse_tensor.h"

#include <algorithm>

#include "compiler/support/error.h"
#include "compiler/support/large_bytes.h"

namespace codl::compiler {
namespace {

// Returns the flat index of one value's `index`, or -1 if it is outside.
int64_t place_of(llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> dims) {
  int64_t place = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (index[i] < 0 || index[i] >= dims[i]) return -1;
    place = place * dims[i] + index[i];
  }
  return place;
}

}  // namespace

llvm::Expected<OnnxTensor> dense_tensor(llvm::StringRef where, llvm::ArrayRef<int64_t> dims,
                                        const OnnxTensor& values, const OnnxTensor& indices,
                                        int64_t& bytes_left) {
  for (const OnnxTensor* part : {&values, &indices})
    if (!part->problem.empty()) return *part;
  OnnxTensor tensor;
  tensor.dtype = values.dtype;
  tensor.dims.assign(dims.begin(), dims.end());
  if (dims.size() > kMaxRank) {
    tensor.problem = "rank " + std::to_string(dims.size());
    return tensor;
  }
  const int64_t count = values.element_count();
  const bool is_flat = indices.dims.size() == 1;
  llvm::SmallVector<int64_t, 4> expected = {count};
  if (!is_flat) expected.push_back(static_cast<int64_t>(dims.size()));
  if (values.dims.size() != 1 || indices.dtype != DType::I64 || indices.dims != expected)
    return input_error(where, "expected a vector of values and i64 indices {0}, found {1}{2}",
                       dims_text(expected), dtype_name(indices.dtype), dims_text(indices.dims));
  const int64_t elements = tensor.element_count();
  const auto bytes = static_cast<int64_t>(dtype_bytes(tensor.dtype));
  bytes_left -= elements * bytes;
  if (bytes_left < 0) {
    tensor.problem = "sparse data of more than " + std::to_string(kMaxSparseBytes) + " bytes";
    return tensor;
  }
  const llvm::SmallVector<int64_t, 4> index_dims =
      is_flat ? llvm::SmallVector<int64_t, 4>{elements} : tensor.dims;
  LargeBytes dense(elements * bytes);
  int64_t last = -1;
  for (int64_t i = 0; i < count; ++i) {
    const auto index = indices.as<int64_t>().slice(i * index_dims.size(), index_dims.size());
    const int64_t place = place_of(index, index_dims);
    if (place <= last)
      return input_error(where, "expected indices inside {0} that ascend, found others at {1}",
                         dims_text(dims), i);
    std::copy_n(values.bytes.begin() + i * bytes, bytes, dense.begin() + place * bytes);
    last = place;
  }
  tensor.bytes = std::move(dense);
  return tensor;
}

}  // namespace codl::compiler
