// Expands sparse tensors of ONNX.
#pragma once

#include "compiler/frontend/onnx/onnx_model.h"

namespace codl::compiler {

// Limits the bytes of all expanded sparse tensors of a model: a few bytes of the file can ask for
// any number.
inline constexpr int64_t kMaxSparseBytes = int64_t{1} << 28;

// Returns the tensor with the values at their indices and zeros elsewhere. `indices` are [n] into
// the flat tensor or [n, rank], where n is the number of values. They ascend, as ONNX demands, so
// none appears twice. No dim is negative. The tensor's bytes are taken from `bytes_left`; if that
// has fewer, the tensor has a problem instead. Returns an Input error for indices of another form,
// outside the dims, or in another order.
llvm::Expected<OnnxTensor> dense_tensor(llvm::StringRef where, llvm::ArrayRef<int64_t> dims,
                                        const OnnxTensor& values, const OnnxTensor& indices,
                                        int64_t& bytes_left);

}  // namespace codl::compiler
