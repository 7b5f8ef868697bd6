// Covers every kind and layout, pads of none, few and more than the dim, with and without a value.
#pragma once

#include "kernels/pad/pad.h"
#include "test/kernels/kernel_case.h"

namespace codl::test {

// Adds parts: pads are fewer than the rows of x, or more; some parts lie in the pad altogether.
inline void add_pad_parts(const std::vector<KernelCase>& whole_cases,
                          std::vector<KernelCase>* cases) {
  const auto add = [&](const KernelCase& whole, SplitDim dim, Range part, const char* name) {
    KernelCase item = whole;
    item.name += name;
    item.part_dim = dim;
    item.part = part;
    cases->push_back(item);
  };
  for (const KernelCase& whole : whole_cases) {
    const OperandShape& x = whole.operands.front();
    const OperandShape& y = whole.operands.back();
    const auto params = params_of<PadParams>(whole);
    const int32_t last = y.dims[2];
    for (Range rows : {Range{0, 1}, Range{0, last / 2}, Range{last / 2 - 1, last / 2 + 1},
                       Range{last / 2, last}, Range{last - 2, last}}) {
      add(whole, SplitDim::Height, rows, ", part of rows");
      // Holds no more rows than the part needs.
      const Range held = kernels::pad_input_range(params.kind, params.begin_2, rows, x.dims[2]);
      KernelCase& with = cases->emplace_back(cases->back());
      with.name += ", only those held";
      with.operands.front() = nhwc_operand({x.dims[0], x.dims[1], x.dims[2], x.dims[3]}, held);
      with.operands.back() = nhwc_operand({y.dims[0], y.dims[1], y.dims[2], y.dims[3]}, rows);
    }
    if (x.dims[1] != y.dims[1]) continue;
    const int32_t channels = y.dims[1];
    for (Range part : {Range{0, 16}, Range{16, 32}, Range{16, channels}, Range{32, channels}})
      if (part.begin < part.end && part.end <= channels)
        add(whole, SplitDim::OutputChannel, part, ", part of channels");
  }
}

inline std::vector<KernelCase> pad_cases() {
  std::vector<KernelCase> cases;
  const auto add = [&](const char* name, int32_t kind, bool has_value, const OperandShape& x,
                       const std::vector<int32_t>& begin, const std::vector<int32_t>& end) {
    KernelCase item;
    item.name = name;
    item.op = OpKind::Pad;
    item.params.assign(sizeof(PadParams) / 4, 0);
    item.params[0] = kind;
    item.params[1] = has_value ? 1 : 0;
    OperandShape y = x;  // Nhwc: all rows held
    for (size_t i = 0; i < begin.size(); ++i) {
      item.params[2 + i] = begin[i];
      item.params[2 + kMaxRank + i] = end[i];
      y.dims[i] += begin[i] + end[i];
    }
    if (y.layout == Layout::Nhwc) y.row_end = y.dims[2];
    y.bytes = static_cast<uint64_t>(kernels::stored_elements(y)) * dtype_bytes(y.dtype);
    item.operands = {x};
    if (has_value) item.operands.push_back(typed_operand(x.dtype, {}));
    item.operands.push_back(y);
    cases.push_back(item);
  };
  for (int32_t kind : {kPadConstant, kPadReflect, kPadEdge, kPadWrap}) {
    add("scalar", kind, false, plain_operand({}), {}, {});
    add("no pad", kind, false, plain_operand({3, 5}), {0, 0}, {0, 0});
    add("vector", kind, false, plain_operand({5}), {2}, {3});
    add("more than the dim", kind, false, plain_operand({3, 2}), {7, 1}, {4, 9});
    add("dims of one", kind, false, plain_operand({1, 4, 1}), {2, 0, 1}, {0, 1, 3});
    add("map", kind, false, plain_operand({2, 3, 6, 7}), {0, 0, 1, 2}, {0, 0, 3, 1});
    add("rank 5", kind, false, plain_operand({2, 3, 4, 5, 3}), {0, 0, 1, 2, 1}, {0, 0, 2, 0, 1});
    add("rank 8", kind, false, plain_operand({1, 2, 1, 2, 3, 1, 2, 2}), {0, 1, 0, 0, 1, 0, 0, 1},
        {1, 0, 0, 1, 0, 0, 0, 1});
    for (int32_t channels : {1, 4, 5, 16, 35})
      add("pixels", kind, false, nhwc_operand({2, channels, 5, 4}), {0, 0, 1, 2}, {0, 0, 3, 1});
    add("no pixels", kind, false, nhwc_operand({1, 3, 5, 4}), {0, 0, 0, 0}, {0, 0, 0, 0});
    add("pixels of one", kind, false, nhwc_operand({1, 3, 1, 1}), {0, 0, 2, 0}, {0, 0, 1, 3});
    add("more pixels than there are", kind, false, nhwc_operand({1, 8, 2, 3}), {0, 0, 5, 7},
        {0, 0, 4, 9});
    add("tasks of pixels", kind, false, nhwc_operand({2, 17, 30, 40}), {0, 0, 1, 1}, {0, 0, 1, 1});
    for (DType dtype : {DType::Bool, DType::U16, DType::I64})
      add("dtype", kind, false, typed_operand(dtype, {3, 4}), {1, 2}, {2, 1});
  }
  for (int32_t channels : {1, 4, 7, 20})
    for (int32_t end : {0, 1, 5, 16}) {
      add("channels behind", kPadConstant, end == 5, nhwc_operand({2, channels, 5, 4}),
          {0, 0, 0, 0}, {0, end, 0, 0});
      add("channels and pixels", kPadConstant, end == 5, nhwc_operand({2, channels, 5, 4}),
          {0, 3, 1, 2}, {0, end, 3, 1});
    }
  add("value", kPadConstant, true, plain_operand({2, 3}), {1, 1}, {0, 2});
  add("value of pixels", kPadConstant, true, nhwc_operand({2, 3, 4, 5}), {0, 0, 1, 1},
      {0, 0, 0, 2});
  add("value of a dtype", kPadConstant, true, typed_operand(DType::I8, {2, 3}), {1, 1}, {0, 2});
  std::vector<KernelCase> parts;
  cases.swap(parts);
  for (int32_t kind : {kPadConstant, kPadReflect, kPadEdge, kPadWrap}) {
    add("few pads", kind, kind == kPadConstant, nhwc_operand({2, 37, 6, 4}), {0, 0, 1, 2},
        {0, 0, 3, 1});
    add("many pads", kind, false, nhwc_operand({1, 21, 3, 3}), {0, 0, 7, 2}, {0, 0, 8, 5});
    add("one row", kind, kind == kPadConstant, nhwc_operand({1, 5, 1, 3}), {0, 0, 2, 1},
        {0, 0, 3, 1});
  }
  add("channels added", kPadConstant, true, nhwc_operand({2, 7, 5, 4}), {0, 3, 1, 2}, {0, 5, 3, 1});
  cases.swap(parts);
  add_pad_parts(parts, &cases);
  return cases;
}

}  // namespace codl::test
