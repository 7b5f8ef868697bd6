#include "compiler/ops/shape_rules.h"

#include <algorithm>

#include "compiler/support/error.h"
#include "schema/plan_layout.h"

namespace codl::compiler {

llvm::Expected<ir::TensorType> checked_type(llvm::StringRef where, DType dtype,
                                            llvm::ArrayRef<int64_t> dims) {
  if (dims.size() > kMaxRank)
    return unsupported_error(where, "expected rank <= {0}, found {1}", kMaxRank, dims.size());
  ir::TensorType type;
  type.dtype = dtype;
  int64_t stored = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 1) return input_error(where, "expected positive dims, found {0}", dims[i]);
    if (dims[i] > kMaxDim)
      return unsupported_error(where, "expected dims <= {0}, found {1}", kMaxDim, dims[i]);
    type.dims.push_back(static_cast<int32_t>(dims[i]));
    const bool is_channel = dims.size() == 4 && i == 1;
    stored *= is_channel ? round_up(type.dims[i], kChannelPad) : dims[i];
    if (stored > kMaxElements)
      return unsupported_error(where, "expected at most {0} elements, found more", kMaxElements);
  }
  return type;
}

llvm::Error expect_typed(const ir::NodeView& node, uint32_t i, llvm::ArrayRef<DType> dtypes) {
  if (i >= node.input_count())
    return input_error(node.node.name, "expected operand {0}, found {1} operands", i,
                       node.input_count());
  if (dtypes.empty() || llvm::is_contained(dtypes, node.input(i).dtype))
    return llvm::Error::success();
  std::string names;
  for (DType dtype : dtypes)
    names += (names.empty() ? "" : " or ") + std::string(dtype_name(dtype));
  return unsupported_error(node.node.name, "expected operand {0} of type {1}, found {2}", i, names,
                           ir::to_string(node.input(i)));
}

llvm::Error expect_operand(const ir::NodeView& node, uint32_t i, int32_t rank, DType dtype) {
  if (i >= node.input_count())
    return input_error(node.node.name, "expected operand {0}, found {1} operands", i,
                       node.input_count());
  const ir::TensorType& type = node.input(i);
  if (type.dtype != dtype)
    return unsupported_error(node.node.name, "expected operand {0} of type {1}, found {2}", i,
                             dtype_name(dtype), ir::to_string(type));
  if (rank >= 0 && type.rank() != rank)
    return input_error(node.node.name, "expected operand {0} of rank {1}, found {2}", i, rank,
                       ir::to_string(type));
  return llvm::Error::success();
}

llvm::Error expect_operand_count(const ir::NodeView& node, uint32_t count) {
  if (node.input_count() != count)
    return input_error(node.node.name, "expected {0} operands, found {1}", count,
                       node.input_count());
  return llvm::Error::success();
}

llvm::Expected<llvm::SmallVector<int64_t, 8>> broadcast_dims(const ir::NodeView& node,
                                                             llvm::ArrayRef<uint32_t> operands) {
  size_t rank = 0;
  for (uint32_t operand : operands) rank = std::max(rank, node.input(operand).dims.size());
  llvm::SmallVector<int64_t, 8> dims(rank, 1);
  for (uint32_t operand : operands) {
    const ir::Dims& own = node.input(operand).dims;
    for (size_t i = 0; i < own.size(); ++i) {
      int64_t& dim = dims[rank - own.size() + i];
      if (own[i] == 1 || own[i] == dim) continue;
      if (dim == 1) {
        dim = own[i];
        continue;
      }
      std::string found;
      for (uint32_t other : operands)
        found += (found.empty() ? "" : " and ") + ir::to_string(node.input(other));
      return input_error(node.node.name, "expected operands that broadcast, found {0}", found);
    }
  }
  return dims;
}

llvm::Error check_window(llvm::StringRef where, const WindowAxis& axis) {
  auto check = [&](const char* name, int64_t number, int64_t least) -> llvm::Error {
    if (number < least || number > kMaxDim)
      return input_error(where, "expected {0} in [{1}, {2}], found {3}", name, least, kMaxDim,
                         number);
    return llvm::Error::success();
  };
  if (llvm::Error error = check("kernel size", axis.kernel, 1)) return error;
  if (llvm::Error error = check("stride", axis.stride, 1)) return error;
  if (llvm::Error error = check("dilation", axis.dilation, 1)) return error;
  if (llvm::Error error = check("pad", axis.pad_begin, 0)) return error;
  return check("pad", axis.pad_end, 0);
}

int64_t window_count(const WindowAxis& axis, bool ceil_mode) {
  const int64_t free = axis.in + axis.pad_begin + axis.pad_end - axis.extent();
  if (free < 0) return 0;
  int64_t count = free / axis.stride + 1;
  if (ceil_mode && free % axis.stride != 0 && axis.first_tap(count) < axis.in) ++count;
  return count;
}

Range window_input_range(const WindowAxis& axis, Range output) {
  const int64_t begin = axis.first_tap(output.begin);
  const int64_t end = axis.first_tap(output.end - 1) + axis.extent();
  const int64_t clipped_begin = std::clamp<int64_t>(begin, 0, axis.in - 1);
  const int64_t clipped_end = std::clamp<int64_t>(end, clipped_begin + 1, axis.in);
  return {static_cast<int32_t>(clipped_begin), static_cast<int32_t>(clipped_end)};
}

llvm::SmallVector<SplitRule, 2> split_rules(const ir::TensorType& output, bool height,
                                            bool channels) {
  llvm::SmallVector<SplitRule, 2> rules;
  if (output.rank() == 4 && height && output.dims[2] > 1)
    rules.push_back({SplitDim::Height, output.dims[2], 1});
  if (output.rank() >= 2 && channels && output.dims[1] > kChannelPanel)
    rules.push_back({SplitDim::OutputChannel, output.dims[1], kChannelPanel});
  return rules;
}

bool has_f32_kernels(const ir::NodeView& node) {
  return node.input(0).dtype == DType::F32 && node.output().dtype == DType::F32;
}

llvm::SmallVector<SplitRule, 2> elementwise_splits(const ir::NodeView& node) {
  const bool is_split = node.output().rank() == 4 && has_f32_kernels(node);
  return split_rules(node.output(), is_split, is_split);
}

Range whole_extent(const ir::TensorType& type, SplitDim dim) {
  if (dim == SplitDim::Height && type.rank() >= 3) return {0, type.dims[2]};
  if (dim == SplitDim::OutputChannel && type.rank() >= 2) return {0, type.dims[1]};
  return {0, 1};
}

bool always_in_nhwc(const ir::NodeView&) { return true; }

llvm::SmallVector<SplitRule, 2> no_splits(const ir::NodeView&) { return {}; }

Range whole_range(const ir::NodeView& node, uint32_t operand, SplitDim dim, Range) {
  return whole_extent(node.input(operand), dim);
}

Range same_range(const ir::NodeView& node, uint32_t operand, SplitDim dim, Range output) {
  const Range whole = whole_extent(node.input(operand), dim);
  // Every part reads all of a broadcast dim (extent 1 under a larger output), and all of a
  // constant.
  if (node.input_value(operand).is_constant) return whole;
  if (whole.count() != whole_extent(node.output(), dim).count()) return whole;
  return output;
}

}  // namespace codl::compiler
