// Functions that the rules of shape operators share: operands that hold dims, values without
// elements, and values whose extent is known only at run time.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/frontend/graph/compose.h"

namespace codl::compiler {

using Dims64 = llvm::SmallVector<int64_t, 4>;

int64_t element_count(llvm::ArrayRef<int64_t> dims);  // the largest int64 where it is more

// Dims of operand `i`; the largest where an extent is only known at run time.
llvm::Expected<Dims64> planned_dims(const OnnxNode& node, Importer& importer, size_t i);

// True if operand `i` is there and has elements: exporters write a tensor without elements for an
// operand that they leave out (the roi and scales of Resize).
bool is_given(const OnnxNode& node, const Importer& importer, size_t i);

// A constant of i64: a vector, or of the given dims.
OnnxTensor int_tensor(llvm::ArrayRef<int64_t> elements);
OnnxTensor int_tensor(llvm::ArrayRef<int64_t> elements, llvm::ArrayRef<int64_t> dims);

// Binds an output that has no elements. Such values exist while importing only.
llvm::Error bind_empty(const OnnxNode& node, Importer& importer, DType dtype,
                       llvm::ArrayRef<int64_t> dims, size_t output = 0);

// Input error unless the dims are 0 or more; Unsupported if they are more than the runtime takes.
llvm::Error check_dims(const OnnxNode& node, llvm::ArrayRef<int64_t> dims);

// The Unsupported error of an operand on which dims depend and that is computed at run time.
llvm::Error needs_constant(const OnnxNode& node, const Importer& importer, size_t i,
                           llvm::StringRef what);

// Integers of operand `i` when they are known now, else nothing.
llvm::Expected<std::optional<std::vector<int64_t>>> known_ints(
    const OnnxNode& node, Importer& importer, size_t i, IntegerUse use = IntegerUse::Setting);

// Input error if operand `i` is known now and has an index outside [-extent, extent) that is not
// `ignored`. Neighbours are indices into one extent after the other.
llvm::Error expect_indices(const OnnxNode& node, Importer& importer, size_t i,
                           llvm::ArrayRef<int64_t> extents,
                           std::optional<int64_t> ignored = std::nullopt);

// 0, 1 ... count - 1.
ir::ValueId iota(Compose& c, int64_t count);

// `x` shaped to be broadcast: a vector along dim `axis` of `rank` dims.
ir::ValueId along(Compose& c, ir::ValueId x, int64_t axis, size_t rank);

// Index arithmetic on i64. from_front: negative indices count from the end.
ir::ValueId int_scalar(Compose& c, int64_t value);
ir::ValueId from_front(Compose& c, ir::ValueId index, ir::ValueId extent);
ir::ValueId clamp(Compose& c, ir::ValueId x, int64_t low, int64_t high);

// The element of `per_axis` for dim `dim`: that which stands where `axes` (from the front) has it,
// or `fallback` if none does. The axes may be known at run time only, so they are compared.
ir::ValueId of_dim(Compose& c, ir::ValueId axes, ir::ValueId per_axis, int64_t dim,
                   int64_t fallback);

// The extents of operand `operand` go over to output `output`; `dim_of(d)` is the output's dim that
// the operand's dim `d` becomes, or -1 if there is none: an Unsupported error.
llvm::Error keep_extents(const OnnxNode& node, Importer& importer, size_t operand,
                         const std::function<int64_t(int32_t)>& dim_of, size_t output = 0);
llvm::Error unsupported_extent(const OnnxNode& node, int32_t dim);

}  // namespace codl::compiler
