// Covers both layouts to both layouts; squares of 4 by 4 and what is left over; windows on both
// sides.
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> convert_cases() {
  std::vector<KernelCase> cases;
  const auto add = [&](const char* name, const OperandShape& x, const OperandShape& y,
                       SplitDim part_dim = SplitDim::None, Range part = {}) {
    cases.push_back({name, OpKind::Convert, {}, {x, y}, part_dim, part});
  };
  add("scalar", plain_operand({}), plain_operand({}));
  add("matrix", plain_operand({5, 7}), plain_operand({5, 7}));
  add("rank 3", plain_operand({2, 5, 7}), plain_operand({2, 5, 7}));
  add("rank 5", plain_operand({2, 3, 2, 5, 3}), plain_operand({2, 3, 2, 5, 3}));
  add("rank 8", plain_operand({1, 2, 1, 3, 1, 2, 1, 2}), plain_operand({1, 2, 1, 3, 1, 2, 1, 2}));
  // Adds `rows` of x and of y; a Plain operand has all rows.
  const auto add_layouts = [&](const char* name, std::initializer_list<int32_t> dims,
                               SplitDim part_dim = SplitDim::None, Range part = {},
                               Range x_rows = {}, Range y_rows = {}) {
    add(name, plain_operand(dims), plain_operand(dims), part_dim, part);
    add(name, plain_operand(dims), nhwc_operand(dims, y_rows), part_dim, part);
    add(name, nhwc_operand(dims, x_rows), nhwc_operand(dims, y_rows), part_dim, part);
    // A Plain y has every row, so without a part it needs every row of x.
    add(name, nhwc_operand(dims, part_dim == SplitDim::Height ? x_rows : Range{}),
        plain_operand(dims), part_dim, part);
  };
  for (int32_t channels : {1, 3, 4, 5, 16, 17, 21, 149})
    for (int32_t columns : {1, 4, 7}) add_layouts("channels", {2, channels, 3, columns});
  add_layouts("windows", {2, 21, 8, 5}, SplitDim::None, {}, {1, 7}, {2, 5});
  add_layouts("part of rows", {2, 21, 8, 5}, SplitDim::Height, {3, 5}, {0, 5}, {3, 8});
  add_layouts("windows, even", {2, 22, 8, 5}, SplitDim::None, {}, {1, 7}, {2, 5});
  add_layouts("part of rows, even", {2, 22, 8, 5}, SplitDim::Height, {3, 5}, {0, 5}, {3, 8});
  add_layouts("part of channels, even", {2, 38, 4, 6}, SplitDim::OutputChannel, {16, 38});
  for (Range channels : {Range{0, 16}, Range{16, 32}, Range{16, 37}, Range{32, 37}})
    add_layouts("part of channels", {2, 37, 4, 6}, SplitDim::OutputChannel, channels);
  for (Range columns : {Range{0, 16}, Range{16, 37}})
    add("columns of a matrix", plain_operand({3, 37}), plain_operand({3, 37}),
        SplitDim::OutputChannel, columns);
  add_layouts("part of channels, rows held", {2, 37, 8, 3}, SplitDim::OutputChannel, {16, 37},
              {1, 7}, {2, 5});
  add_layouts("tasks", {2, 21, 5, 80});
  add_layouts("image for a network", {1, 3, 6, 1001});
  for (DType dtype : {DType::Bool, DType::F16, DType::I32, DType::I64})
    add("dtype", typed_operand(dtype, {1, 3, 2, 5}), typed_operand(dtype, {1, 3, 2, 5}));
  return cases;
}

}  // namespace codl::test
