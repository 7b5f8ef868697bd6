// Declares functions that the rules of shape operators share: operands that hold dims, values
// without elements, and values whose extent is known only at run time.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/frontend/graph/compose.h"

namespace codl::compiler {

using Dims64 = llvm::SmallVector<int64_t, 4>;

int64_t element_count(llvm::ArrayRef<int64_t> dims);  // at most the largest int64

// Returns the dims of operand `i`; the largest if an extent is known only at run time.
llvm::Expected<Dims64> planned_dims(const OnnxNode& node, Importer& importer, size_t i);

// Returns true if operand `i` is given and has elements. Exporters write a tensor without elements
// for an operand that they leave out (the roi and scales of Resize).
bool is_given(const OnnxNode& node, const Importer& importer, size_t i);

// Makes a constant of i64: a vector, or with the given dims.
OnnxTensor int_tensor(llvm::ArrayRef<int64_t> elements);
OnnxTensor int_tensor(llvm::ArrayRef<int64_t> elements, llvm::ArrayRef<int64_t> dims);

// Binds an output that has no elements. Such values exist only in the importer.
llvm::Error bind_empty(const OnnxNode& node, Importer& importer, DType dtype,
                       llvm::ArrayRef<int64_t> dims, size_t output = 0);

// Returns an Input error unless the dims are 0 or more; Unsupported error if they are more than the
// runtime takes.
llvm::Error check_dims(const OnnxNode& node, llvm::ArrayRef<int64_t> dims);

// Returns the Unsupported error about an operand that decides dims and is computed at run time.
llvm::Error needs_constant(const OnnxNode& node, const Importer& importer, size_t i,
                           llvm::StringRef what);

// Returns the integers of operand `i` if they are known now, else nothing.
llvm::Expected<std::optional<std::vector<int64_t>>> known_ints(
    const OnnxNode& node, Importer& importer, size_t i, IntegerUse use = IntegerUse::Setting);

// Returns an Input error if operand `i` is known now and has an index outside [-extent, extent)
// that is not `ignored`. Indices refer to the extents in turn.
llvm::Error expect_indices(const OnnxNode& node, Importer& importer, size_t i,
                           llvm::ArrayRef<int64_t> extents,
                           std::optional<int64_t> ignored = std::nullopt);

// Returns 0, 1 ... count - 1.
ir::ValueId iota(Compose& c, int64_t count);

// Reshapes the vector `x` to be broadcast: it lies along dim `axis` of `rank` dims.
ir::ValueId along(Compose& c, ir::ValueId x, int64_t axis, size_t rank);

// Index arithmetic on i64. from_front() adds the extent to negative indices.
ir::ValueId int_scalar(Compose& c, int64_t value);
ir::ValueId from_front(Compose& c, ir::ValueId index, ir::ValueId extent);
ir::ValueId clamp(Compose& c, ir::ValueId x, int64_t low, int64_t high);

// Returns the element of `per_axis` for dim `dim`: the one at the position where `axes` (from the
// front) has the dim, or `fallback`. It compares at run time, because the axes may be known only
// then.
ir::ValueId of_dim(Compose& c, ir::ValueId axes, ir::ValueId per_axis, int64_t dim,
                   int64_t fallback);

// Passes the extents of operand `operand` on to output `output`. `dim_of(d)` returns the output's
// dim that the operand's dim `d` becomes, or -1 for an Unsupported error.
llvm::Error keep_extents(const OnnxNode& node, Importer& importer, size_t operand,
                         const std::function<int64_t(int32_t)>& dim_of, size_t output = 0);
llvm::Error unsupported_extent(const OnnxNode& node, int32_t dim);

}  // namespace codl::compiler
