// One step to be timed: everything of StepShape but the kernel, owned.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "schema/step_shape.h"
#include "schema/tables.h"

namespace codl::kernels {

struct StepCase {
  OpKind op = OpKind::Conv2d;
  std::vector<int32_t> params;         // the bytes of the op's Params struct
  std::vector<OperandShape> operands;  // the output last
  SplitDim part_dim = SplitDim::None;
  Range part;
  bool has_warm_weights = false;  // caches keep the weights from run to run
};

template <typename Params>
std::vector<int32_t> words_of(const Params& params) {
  std::vector<int32_t> words(sizeof(Params) / 4);
  std::memcpy(words.data(), &params, sizeof(Params));
  return words;
}

// Returns OperandShape::bytes of an operand that is not packed.
inline uint64_t memory_bytes(const OperandShape& shape) {
  if (shape.layout == Layout::Image2d) return 0;
  return stored_bytes(shape);
}

// Returns the bytes of all operands: images count too, and packed operands as if they were not.
inline size_t operand_bytes(const StepCase& item) {
  size_t bytes = 0;
  for (const OperandShape& shape : item.operands) bytes += static_cast<size_t>(stored_bytes(shape));
  return bytes;
}

// Packed operands.
inline size_t weight_bytes(const StepCase& item) {
  size_t bytes = 0;
  for (const OperandShape& shape : item.operands)
    if (shape.layout == Layout::Packed) bytes += static_cast<size_t>(shape.bytes);
  return bytes;
}

// Borrows the case: a StepCase, or one of the tests', which has the same members.
template <typename Case>
StepShape step_of(const KernelInfo& kernel, const Case& item) {
  StepShape step;
  step.kernel = &kernel;
  step.params = item.params.data();
  step.operands = item.operands.data();
  step.operand_count = static_cast<uint32_t>(item.operands.size());
  step.part_dim = item.part_dim;
  step.part = item.part;
  return step;
}

}  // namespace codl::kernels
