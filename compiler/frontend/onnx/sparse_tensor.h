// Sparse tensors of ONNX, written out.
#pragma once

#include "compiler/frontend/onnx/onnx_model.h"

namespace codl::compiler {

// Bytes of all sparse tensors of a model, written out: a few bytes of the file stand for as many as
// they like.
inline constexpr int64_t kMaxSparseBytes = int64_t{1} << 28;

// The values at their indices, zeros elsewhere. `indices`: [n] into the flat tensor or [n, rank], n
// being the number of values. They ascend, as ONNX demands, so that none is there twice. No dim is
// negative. The tensor's bytes are taken from `bytes_left`; it has a problem instead if they are
// more. Input error for indices of another form, outside the dims, or in another order.
llvm::Expected<OnnxTensor> dense_tensor(llvm::StringRef where, llvm::ArrayRef<int64_t> dims,
                                        const OnnxTensor& values, const OnnxTensor& indices,
                                        int64_t& bytes_left);

}  // namespace codl::compiler
