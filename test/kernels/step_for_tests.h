// Makes steps by hand, for tests of contracts: operands fill their memory exactly, and a kernel is
// chosen by name.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel_table.h"
#include "kernels/work_table.h"
#include "schema/step_shape.h"
#include "test/support/catch.h"

namespace codl::kernels {

inline OperandShape operand(Layout layout, std::initializer_list<int32_t> dims, Range rows) {
  OperandShape shape;
  shape.layout = layout;
  for (int32_t dim : dims) shape.dims[shape.rank++] = dim;
  shape.row_begin = rows.begin;
  shape.row_end = rows.end;
  if (layout != Layout::Image2d)
    shape.bytes = static_cast<uint64_t>(stored_elements(shape)) * sizeof(float);
  return shape;
}
inline OperandShape plain(std::initializer_list<int32_t> dims) {
  return operand(Layout::Plain, dims, {0, 0});
}
inline OperandShape nhwc(std::initializer_list<int32_t> dims) {
  return operand(Layout::Nhwc, dims, {0, dims.begin()[2]});
}
inline OperandShape nhwc(std::initializer_list<int32_t> dims, Range rows) {
  return operand(Layout::Nhwc, dims, rows);
}
inline OperandShape image(std::initializer_list<int32_t> dims) {
  return operand(Layout::Image2d, dims, {0, dims.begin()[2]});
}
inline OperandShape image(std::initializer_list<int32_t> dims, Range rows) {
  return operand(Layout::Image2d, dims, rows);
}

struct StepForTest {
  std::string_view symbol;
  const void* params = nullptr;
  std::vector<OperandShape> operands;
  SplitDim part_dim = SplitDim::None;
  Range part = {};
  std::vector<int32_t> tile = {};

  StepShape shape() const {
    StepShape step;
    for (const KernelInfo& kernel : kKernelInfos)
      if (symbol == kernel.symbol) step.kernel = &kernel;
    step.params = params;
    step.operands = operands.data();
    step.operand_count = static_cast<uint32_t>(operands.size());
    step.part_dim = part_dim;
    step.part = part;
    step.tile = tile.data();
    step.tile_count = static_cast<uint32_t>(tile.size());
    return step;
  }
};

// Returns check_step()'s message, "ok" if the kernel may run the step.
inline std::string check(const StepForTest& step) {
  StepNeeds needs;
  const char* expected = check_step(step.shape(), &needs);
  return expected == nullptr ? "ok" : expected;
}

inline int32_t task_count(const StepForTest& step) {
  StepNeeds needs;
  return check_step(step.shape(), &needs) == nullptr ? needs.task_count : 0;
}

// Returns the counts of a step on such a processor. A GPU step has its tile.
inline StepWork work_of(const StepForTest& step, const WorkMachine& machine = {}) {
  REQUIRE(check(step) == "ok");
  StepWork work;
  count_work(step.shape(), machine, &work);
  return work;
}

}  // namespace codl::kernels
