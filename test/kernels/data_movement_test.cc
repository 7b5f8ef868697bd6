// Tests operators that move elements: their contracts, and their numbers.
#include <cmath>

#include "kernels/common/contract/loop_axes.h"
#include "kernels/concat/concat.h"
#include "kernels/convert/convert.h"
#include "kernels/transpose/transpose.h"
#include "test/kernels/step_for_tests.h"
#include "test/kernels/typed_tensor.h"
#include "test/support/catch.h"

namespace codl::kernels {
namespace {

TEST_CASE("concat takes inputs that add up to the output") {
  ConcatParams params;
  params.axis = 1;
  const auto check_cpu = [&](std::vector<OperandShape> operands) {
    return check({"concat_f32_cpu", &params, std::move(operands)});
  };
  CHECK(check_cpu({nhwc({1, 3, 4, 5}), nhwc({1, 6, 4, 5}), nhwc({1, 9, 4, 5})}) == "ok");
  CHECK(check_cpu({nhwc({1, 9, 4, 5}), nhwc({1, 9, 4, 5}, {1, 3})}) == "ok");
  CHECK(check_cpu({plain({2, 3}), plain({2, 3}), plain({2, 5})}) ==
        "input dims along the axis that add up to the output's");
  CHECK(check_cpu({plain({2, 3}), plain({3, 3}), plain({2, 6})}) ==
        "inputs like the output but for the axis");
  CHECK(check_cpu({plain({2, 3}), plain({2, 3, 1}), plain({2, 6})}) ==
        "inputs of the output's rank");
  CHECK(check_cpu({plain({1, 9, 4, 5}), nhwc({1, 9, 4, 5})}) == "inputs of the output's layout");
  CHECK(check_cpu({nhwc({1, 9, 4, 5}, {0, 2}), nhwc({1, 9, 4, 5}, {1, 3})}) ==
        "input rows of the part inside the operand");
  params.axis = 2;
  CHECK(check_cpu({nhwc({1, 3, 2, 5}), nhwc({1, 3, 2, 5}), nhwc({1, 3, 4, 5}, {0, 3})}) ==
        "all rows in memory for this axis and kernel");
  CHECK(check_cpu({nhwc({1, 3, 2, 5}, {0, 1}), nhwc({1, 3, 2, 5}), nhwc({1, 3, 4, 5})}) ==
        "all rows in memory for this axis and kernel");
  CHECK(check({"concat_f32_cpu",
               &params,
               {nhwc({1, 3, 4, 5}), nhwc({1, 3, 4, 5})},
               SplitDim::Height,
               {0, 2}}) ==
        "no part but rows of an Nhwc or Image2d output joined along axis 1 or 3");
  params.axis = 4;
  CHECK(check_cpu({nhwc({1, 9, 4, 5}), nhwc({1, 9, 4, 5})}) == "an axis of the output");
}

TEST_CASE("concat on a GPU joins inputs along the channels, at most eight images") {
  ConcatParams params;
  params.axis = 1;
  const auto check_images = [&](int32_t count) {
    StepForTest step = {"concat_f32_cl_image", &params, {}};
    step.operands.assign(static_cast<size_t>(count), image({1, 2, 3, 3}));
    step.operands.push_back(image({1, 2 * count, 3, 3}));
    return check(step);
  };
  const auto check_buffers = [&](int32_t count) {
    StepForTest step = {"concat_f32_cl_buffer", &params, {}};
    step.operands.assign(static_cast<size_t>(count), nhwc({1, 2, 3, 3}));
    step.operands.push_back(nhwc({1, 2 * count, 3, 3}));
    return check(step);
  };
  CHECK(check_images(8) == "ok");
  CHECK(check_images(9) == "at most 8 images");
  CHECK(check_buffers(15) == "ok");
  params.axis = 3;
  CHECK(check_buffers(2) == "axis 1 for a GPU kernel of channels");
}

TEST_CASE("concat on a GPU joins runs of elements along the other axes") {
  ConcatParams params;
  StepForTest step = {
      "concat_f32_cl_runs", &params, {nhwc({1, 2, 3, 3}), nhwc({1, 2, 3, 3}), nhwc({1, 2, 3, 6})}};
  params.axis = 3;
  CHECK(check(step) == "ok");
  step.operands[1].row_end = 2;
  CHECK(check(step) == "all rows in memory for this axis and kernel");
  params.axis = 1;
  CHECK(check(step) == "another axis than 1 for the kernel of runs");
}

TEST_CASE("transpose takes a permutation of the axes") {
  TransposeParams params;
  params.perm_0 = 1;
  params.perm_1 = 2;
  const auto check_cpu = [&](const OperandShape& x, const OperandShape& y) {
    return check({"transpose_f32_cpu", &params, {x, y}});
  };
  CHECK(check_cpu(plain({2, 3, 4}), plain({3, 4, 2})) == "ok");
  CHECK(check_cpu(plain({2, 3, 4}), plain({4, 3, 2})) ==
        "output dims that are the input's in order of perm");
  CHECK(check_cpu(plain({2, 3, 4}), plain({6, 4})) == "input and output of one rank");
  CHECK(check_cpu(nhwc({2, 3, 4, 5}), plain({3, 4, 2, 5})) == "Plain operands");
  params.perm_2 = 1;
  CHECK(check_cpu(plain({2, 3, 4}), plain({3, 4, 3})) == "a perm that names each axis once");
  params.perm_2 = 3;
  CHECK(check_cpu(plain({2, 3, 4}), plain({3, 4, 2})) == "a perm that names each axis once");
  params.perm_2 = -1;
  CHECK(check_cpu(plain({2, 3, 4}), plain({3, 4, 2})) == "a perm that names each axis once");
}

TEST_CASE("axes that both inputs step through as one become one loop") {
  LoopAxes axes;
  axes.append(2, 12, 0);
  axes.append(1, 99, 99);  // an extent of one is no loop
  axes.append(3, 4, 4);
  axes.append(4, 1, 1);
  REQUIRE(axes.count == 2);
  CHECK(axes.extents[1] == 12);
  // Element 17 of 24 is element 5 of the second dozen; 7 follow up to its end.
  const LoopAxes::Run run = axes.run_at(17, 24);
  CHECK(run.offsets[0] == 17);
  CHECK(run.offsets[1] == 5);
  CHECK(run.count == 7);
  CHECK(axes.run_at(17, 20).count == 3);
}

TEST_CASE("reshape keeps the number of elements") {
  const auto check_cpu = [](const OperandShape& x, const OperandShape& y) {
    return check({"reshape_f32_cpu", nullptr, {x, y}});
  };
  CHECK(check_cpu(plain({2, 6}), plain({12})) == "ok");
  CHECK(check_cpu(plain({}), plain({1, 1})) == "ok");
  CHECK(check_cpu(plain({2, 6}), plain({13})) == "input and output of as many elements");
  CHECK(check_cpu(nhwc({1, 4, 2, 2}), plain({16})) == "Plain operands");
}

TEST_CASE("convert takes the layouts of its row") {
  const auto check_row = [](std::string_view symbol, const OperandShape& x, const OperandShape& y) {
    return check({symbol, nullptr, {x, y}});
  };
  const OperandShape as_plain = plain({1, 3, 4, 5});
  const OperandShape as_nhwc = nhwc({1, 3, 4, 5});
  const OperandShape as_image = image({1, 3, 4, 5});
  const std::string wrong_input = "the kernel's input layout";
  CHECK(check_row("convert_f32_cpu", as_plain, as_nhwc) == "ok");
  CHECK(check_row("convert_f32_cl_buffer", as_nhwc, as_plain) == "ok");
  CHECK(check_row("convert_f32_cl_to_image", as_plain, as_image) == "ok");
  CHECK(check_row("convert_f32_cl_from_image", as_image, as_nhwc) == "ok");
  CHECK(check_row("convert_f32_cl_buffer", as_image, as_nhwc) == wrong_input);
  CHECK(check_row("convert_f32_cl_from_image", as_plain, as_nhwc) == wrong_input);
  CHECK(check_row("convert_f32_cl_to_image", as_image, as_image) == "ok");
  CHECK(check_row("convert_f32_cl_buffer", as_nhwc, as_image) == "the kernel's output layout");
  CHECK(check_row("convert_f32_cl_from_image", as_image, as_image) == "the kernel's output layout");
  CHECK(check_row("convert_f32_cpu", plain({3, 4}), plain({4, 3})) ==
        "input and output of the same dims");
}

TEST_CASE("convert copies rows that both sides hold") {
  const auto check_part = [](const OperandShape& x, const OperandShape& y, SplitDim dim,
                             Range part) {
    return check({"convert_f32_cpu", nullptr, {x, y}, dim, part});
  };
  const OperandShape low = nhwc({1, 32, 8, 5}, {0, 5});
  const OperandShape high = nhwc({1, 32, 8, 5}, {3, 8});
  CHECK(check_part(low, high, SplitDim::Height, {3, 5}) == "ok");
  CHECK(check_part(low, high, SplitDim::Height, {3, 6}) ==
        "input rows of the part inside the operand");
  CHECK(check_part(low, high, SplitDim::OutputChannel, {0, 16}) ==
        "input rows of the part inside the operand");
  CHECK(check_part(low, low, SplitDim::OutputChannel, {16, 32}) == "ok");
  CHECK(check_part(plain({4, 32}), plain({4, 32}), SplitDim::OutputChannel, {0, 16}) == "ok");
  CHECK(check_part(plain({4, 32, 2}), plain({4, 32, 2}), SplitDim::OutputChannel, {0, 16}) ==
        "rank 4, or columns of a matrix, for a part");
}

TEST_CASE("transpose on a GPU turns squares where both axes are long") {
  TransposeParams params;
  params.perm_1 = 2;
  params.perm_2 = 1;
  const auto is_square = [&](const OperandShape& x, const OperandShape& y) {
    const StepForTest step = {"transpose_f32_cl_buffer", &params, {x, y}};
    REQUIRE(check(step) == "ok");
    ClLaunch launch;
    launch_of(step.shape(), &launch);
    return launch.local[1] > 1;
  };
  CHECK(is_square(plain({5, 64, 40}), plain({5, 40, 64})));
  CHECK(!is_square(plain({5, 64, 3}), plain({5, 3, 64})));
  CHECK(!is_square(plain({5, 3, 64}), plain({5, 64, 3})));
  // These are more groups than a GPU has along any dim but the first.
  CHECK(is_square(plain({65535, 8, 8}), plain({65535, 8, 8})));
  CHECK(!is_square(plain({65536, 8, 8}), plain({65536, 8, 8})));
}

TEST_CASE("a movement reads what it writes") {
  SliceParams params;
  params.step_0 = 1;
  params.count_0 = 2;
  OperandShape x = plain({1000000});
  OperandShape y = plain({2});
  x.dtype = y.dtype = DType::I8;
  const StepWork work = work_of({"slice_any_cpu", &params, {x, y}});
  CHECK(work.read_bytes == 2);
  CHECK(work.written_bytes == 2);
}

// ---- what the kernels of any dtype compute
// ---------------------------------------------------------

using test::run_any;
using test::tensor;
using test::TypedTensor;

// Returns the expectation that the contract of <op>_any_cpu reports, or "".
std::string refusal(OpKind op, const void* params, const std::vector<TypedTensor>& inputs,
                    const TypedTensor& output) {
  std::string error;
  run_any(op, params, inputs, output, &error);
  return error;
}

TEST_CASE("slice steps forwards and backwards") {
  SliceParams params;
  params.start_0 = 4;
  params.step_0 = -2;
  params.count_0 = 3;
  const auto line = tensor<int64_t>({5}, {10, 11, 12, 13, 14});
  const auto backwards = tensor<int64_t>({3}, {14, 12, 10});
  CHECK(run_any(OpKind::Slice, &params, {line}, backwards) == backwards);

  params = {};
  params.count_0 = 2;
  params.start_1 = 1;
  params.start_2 = 2;
  params.step_0 = params.step_1 = 1;
  params.step_2 = -1;
  params.count_1 = 1;
  params.count_2 = 3;
  const auto box = tensor<int8_t>({2, 2, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  const auto rows = tensor<int8_t>({2, 1, 3}, {5, 4, 3, 11, 10, 9});
  CHECK(run_any(OpKind::Slice, &params, {box}, rows) == rows);

  // This has rank 5 and takes one column, every second plane.
  params = {.start_3 = 1,
            .start_4 = 1,
            .step_0 = 1,
            .step_1 = 2,
            .step_2 = 1,
            .step_3 = 1,
            .step_4 = 1,
            .count_0 = 1,
            .count_1 = 2,
            .count_2 = 2,
            .count_3 = 1,
            .count_4 = 1};
  const auto deep = tensor<float>(
      {1, 3, 2, 2, 2},
      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
  const auto corner = tensor<float>({1, 2, 2, 1, 1}, {3, 7, 19, 23});
  CHECK(run_any(OpKind::Slice, &params, {deep}, corner) == corner);
}

TEST_CASE("slice reads nothing outside its input") {
  const auto line = tensor<int64_t>({5}, {10, 11, 12, 13, 14});
  const auto two = tensor<int64_t>({2}, {0, 0});
  const auto refused = [&](int32_t start, int32_t step, int32_t count) {
    SliceParams params;
    params.start_0 = start;
    params.step_0 = step;
    params.count_0 = count;
    return refusal(OpKind::Slice, &params, {line}, two);
  };
  const std::string outside = "the first and the last element inside the input";
  CHECK(refused(3, 1, 2).empty());
  CHECK(refused(0, 4, 2).empty());
  CHECK(refused(4, 1, 2) == outside);
  CHECK(refused(-1, 1, 2) == outside);
  CHECK(refused(5, -1, 2) == outside);
  CHECK(refused(0, -1, 2) == outside);
  CHECK(refused(1, INT32_MAX, 2) == outside);
  CHECK(refused(4, INT32_MIN, 2) == outside);
  CHECK(refused(0, 0, 2) == "steps other than 0");
  CHECK(refused(0, 1, 3) == "counts that are the output's dims");
}

TEST_CASE("pad repeats as often as the pad needs") {
  PadParams params;
  const auto line = tensor<int64_t>({3}, {1, 2, 3});
  const auto padded = [&](int32_t kind, const TypedTensor& like) {
    params.kind = kind;
    return run_any(OpKind::Pad, &params, {line}, like);
  };
  params.begin_0 = 5;
  params.end_0 = 4;
  // These are numpy.pad([1, 2, 3], (5, 4), mode).
  const auto reflect = tensor<int64_t>({12}, {2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3});
  const auto wrap = tensor<int64_t>({12}, {2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1});
  const auto edge = tensor<int64_t>({12}, {1, 1, 1, 1, 1, 1, 2, 3, 3, 3, 3, 3});
  const auto zero = tensor<int64_t>({12}, {0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 0, 0});
  CHECK(padded(kPadReflect, reflect) == reflect);
  CHECK(padded(kPadWrap, wrap) == wrap);
  CHECK(padded(kPadEdge, edge) == edge);
  CHECK(padded(kPadConstant, zero) == zero);

  params = {};
  params.kind = kPadConstant;
  params.has_value = 1;
  params.begin_0 = 1;
  params.end_2 = 1;
  const auto box = tensor<float>({1, 2, 2}, {1, 2, 3, 4});
  const auto value = tensor<float>({}, {9});
  const auto framed = tensor<float>({2, 2, 3}, {9, 9, 9, 9, 9, 9, 1, 2, 9, 3, 4, 9});
  CHECK(run_any(OpKind::Pad, &params, {box, value}, framed) == framed);
  CHECK(refusal(OpKind::Pad, &params, {box}, framed) == "the operator's number of operands");
  CHECK(refusal(OpKind::Pad, &params, {box, tensor<float>({2}, {9, 9})}, framed) ==
        "a value of one element");

  params = {};
  params.kind = kPadReflect;
  params.begin_0 = 2;
  params.begin_1 = 1;
  params.end_1 = 1;
  const auto row = tensor<bool>({1, 2}, {true, false});
  const auto rows = tensor<bool>(
      {3, 4}, {false, true, false, true, false, true, false, true, false, true, false, true});
  CHECK(run_any(OpKind::Pad, &params, {row}, rows) == rows);
  params.begin_0 = -1;
  params.end_0 = 1;
  CHECK(refusal(OpKind::Pad, &params, {row}, tensor<bool>({1, 4}, {true, true, true, true})) ==
        "pads that are not negative");
}

TEST_CASE("a part of a pad needs the input rows that it repeats, one at least") {
  const auto check_rows = [](int32_t kind, Range part, Range input_rows) {
    PadParams params;
    params.kind = kind;
    params.begin_2 = 3;
    params.end_2 = 2;
    return check({"pad_f32_cpu",
                  &params,
                  {nhwc({1, 5, 4, 3}, input_rows), nhwc({1, 5, 9, 3}, part)},
                  SplitDim::Height,
                  part});
  };
  const char* const missing = "input rows of the part inside the operand";
  const struct {
    int32_t kind;
    Range part;
    Range needed;
  } cases[] = {
      {kPadConstant, {0, 3}, {0, 1}}, {kPadConstant, {2, 5}, {0, 2}},
      {kPadConstant, {7, 9}, {3, 4}}, {kPadEdge, {0, 2}, {0, 1}},
      {kPadEdge, {4, 9}, {1, 4}},     {kPadReflect, {0, 2}, {2, 4}},
      {kPadReflect, {2, 5}, {0, 2}},  {kPadReflect, {7, 9}, {1, 3}},
      {kPadReflect, {6, 8}, {2, 4}},  {kPadReflect, {0, 7}, {0, 4}},
      {kPadWrap, {0, 2}, {1, 3}},     {kPadWrap, {2, 4}, {0, 4}},
      {kPadWrap, {7, 9}, {0, 2}},
  };
  for (const auto& c : cases) {
    INFO("kind " << c.kind << ", rows " << c.part.begin << " to " << c.part.end);
    CHECK(check_rows(c.kind, c.part, c.needed) == "ok");
    if (c.needed.count() == 1) {
      CHECK(check_rows(c.kind, c.part, c.needed.begin == 0 ? Range{1, 2} : Range{2, 3}) == missing);
      continue;
    }
    CHECK(check_rows(c.kind, c.part, {c.needed.begin + 1, c.needed.end}) == missing);
    CHECK(check_rows(c.kind, c.part, {c.needed.begin, c.needed.end - 1}) == missing);
  }
}

TEST_CASE("a part of a pad is of channels where none are added") {
  PadParams params;
  params.kind = kPadConstant;
  const auto check_channels = [&](std::string_view symbol, int32_t added, SplitDim dim) {
    params.end_1 = added;
    return check({symbol,
                  &params,
                  {nhwc({1, 40, 4, 3}), nhwc({1, 40 + added, 4, 3})},
                  dim,
                  dim == SplitDim::Height ? Range{1, 2} : Range{16, 32}});
  };
  CHECK(check_channels("pad_f32_cpu", 0, SplitDim::OutputChannel) == "ok");
  CHECK(check_channels("pad_f32_cl_buffer", 0, SplitDim::OutputChannel) == "ok");
  CHECK(check_channels("pad_f32_cpu", 3, SplitDim::Height) == "ok");
  CHECK(check_channels("pad_f32_cpu", 3, SplitDim::OutputChannel) ==
        "no part of the channels where some are added");
  CHECK(check_channels("pad_f32_cl_buffer", 3, SplitDim::Height) == "pads of rows and columns");
}

TEST_CASE("gather clamps what lies outside") {
  GatherParams params;
  const auto data = tensor<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto indices = tensor<int64_t>({2, 2}, {-1, 0, 7, INT64_MIN});
  const auto rows = tensor<float>({2, 2, 2}, {5, 6, 1, 2, 5, 6, 1, 2});
  CHECK(run_any(OpKind::Gather, &params, {data, indices}, rows) == rows);
  params.axis = 1;
  const auto scalar = tensor<int64_t>({}, {1});
  const auto column = tensor<float>({3}, {2, 4, 6});
  CHECK(run_any(OpKind::Gather, &params, {data, scalar}, column) == column);
  const auto deep = tensor<int8_t>({1, 2, 1, 2, 1}, {1, 2, 3, 4});
  params.axis = 3;
  const auto three = tensor<int64_t>({3}, {1, -2, INT64_MAX});
  const auto picked = tensor<int8_t>({1, 2, 1, 3, 1}, {2, 1, 2, 4, 3, 4});
  CHECK(run_any(OpKind::Gather, &params, {deep, three}, picked) == picked);
  CHECK(refusal(OpKind::Gather, &params, {deep, three}, deep) ==
        "the data's dims with the indices' in place of the axis");
  CHECK(refusal(OpKind::Gather, &params, {deep, tensor<int32_t>({1}, {0})}, deep) ==
        "indices of dtype i64");
}

TEST_CASE("gather of elements takes one index per element") {
  GatherElementsParams params;
  const auto data = tensor<int8_t>({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const auto rows = tensor<int64_t>({2, 3}, {1, 2, 0, -1, 0, 99});
  const auto by_row = tensor<int8_t>({2, 3}, {4, 8, 3, 7, 2, 9});
  CHECK(run_any(OpKind::GatherElements, &params, {data, rows}, by_row) == by_row);
  params.axis = 1;
  const auto columns = tensor<int64_t>({2, 4}, {0, 0, -1, -9, 2, 1, 3, 0});
  const auto by_column = tensor<int8_t>({2, 4}, {1, 1, 3, 1, 6, 5, 6, 4});
  CHECK(run_any(OpKind::GatherElements, &params, {data, columns}, by_column) == by_column);
  const auto cube = tensor<int64_t>({2, 2, 1}, {1, 2, 3, 4});
  const auto swap = tensor<int64_t>({2, 2, 1}, {1, 0, 0, 0});
  const auto swapped = tensor<int64_t>({2, 2, 1}, {2, 1, 3, 3});
  CHECK(run_any(OpKind::GatherElements, &params, {cube, swap}, swapped) == swapped);
  const auto taller = tensor<int64_t>({4, 3}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  CHECK(refusal(OpKind::GatherElements, &params, {data, taller},
                tensor<int8_t>({4, 3}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})) ==
        "indices inside the data but for the axis");
}

TEST_CASE("gather by tuples takes elements and slices of a batch") {
  GatherNdParams params;
  const auto data = tensor<float>({2, 2}, {0, 1, 2, 3});
  const auto tuples = tensor<int64_t>({2, 2}, {0, 0, -1, 5});
  const auto elements = tensor<float>({2}, {0, 3});
  CHECK(run_any(OpKind::GatherNd, &params, {data, tuples}, elements) == elements);
  params.batch_dims = 1;
  const auto batches = tensor<int64_t>({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  const auto one_each = tensor<int64_t>({2, 1}, {1, 0});
  const auto rows = tensor<int64_t>({2, 2}, {2, 3, 4, 5});
  CHECK(run_any(OpKind::GatherNd, &params, {batches, one_each}, rows) == rows);
  const auto long_tuple = tensor<int64_t>({2, 3}, {0, 0, 0, 0, 0, 0});
  CHECK(refusal(OpKind::GatherNd, &params, {batches, long_tuple}, rows) ==
        "tuples no longer than the data's rank");
  params.batch_dims = 3;
  CHECK(refusal(OpKind::GatherNd, &params, {batches, one_each}, rows) ==
        "batch_dims below the ranks of data and indices");
}

TEST_CASE("scatter of elements applies updates in order") {
  ScatterElementsParams params;
  params.axis = 1;
  const auto data = tensor<float>({1, 5}, {1, 2, 3, 4, 5});
  const auto indices = tensor<int64_t>({1, 4}, {1, 1, -1, 4});
  const auto updates = tensor<float>({1, 4}, {10, 20, 30, 40});
  const auto scattered = [&](int32_t reduction, std::initializer_list<float> expected) {
    params.reduction = reduction;
    const auto y = tensor<float>({1, 5}, expected);
    return run_any(OpKind::ScatterElements, &params, {data, indices, updates}, y) == y;
  };
  CHECK(scattered(kScatterElementsNone, {1, 20, 3, 4, 40}));
  CHECK(scattered(kScatterElementsAdd, {1, 32, 3, 4, 75}));
  CHECK(scattered(kScatterElementsMul, {1, 400, 3, 4, 6000}));
  CHECK(scattered(kScatterElementsMin, {1, 2, 3, 4, 5}));
  CHECK(scattered(kScatterElementsMax, {1, 20, 3, 4, 40}));

  params.axis = 0;
  params.reduction = kScatterElementsAdd;
  const auto bytes = tensor<int8_t>({2, 2}, {100, 1, -100, 2});
  const auto rows = tensor<int64_t>({2, 1}, {0, 1});
  const auto large = tensor<int8_t>({2, 1}, {100, -100});
  const auto wrapped = tensor<int8_t>({2, 2}, {-56, 1, 56, 2});
  CHECK(run_any(OpKind::ScatterElements, &params, {bytes, rows, large}, wrapped) == wrapped);

  const auto flags = tensor<bool>({2}, {false, false});
  const auto second = tensor<int64_t>({1}, {1});
  const auto is_set = tensor<bool>({1}, {true});
  const auto flags_after = tensor<bool>({2}, {false, true});
  CHECK(refusal(OpKind::ScatterElements, &params, {flags, second, is_set}, flags_after) ==
        "a reduction of the dtype");
  params.reduction = kScatterElementsNone;
  CHECK(run_any(OpKind::ScatterElements, &params, {flags, second, is_set}, flags_after) ==
        flags_after);
}

TEST_CASE("a scattered update whose index is outside changes nothing") {
  const ScatterElementsParams params = {.axis = 0, .reduction = kScatterElementsAdd};
  const auto data = tensor<double>({3}, {1, 2, 3});
  const auto kept = tensor<double>({3}, {1, 2, 16777220});
  CHECK(run_any(OpKind::ScatterElements, &params,
                {data, tensor<int64_t>({5}, {3, -4, -1, INT64_MIN, INT64_MAX}),
                 tensor<double>({5}, {10, 20, 16777217, 40, 50})},
                data) == kept);
  const ScatterNdParams by_tuples = {};
  const auto map = tensor<int32_t>({2, 2}, {1, 2, 3, 4});
  CHECK(run_any(OpKind::ScatterNd, &by_tuples,
                {map, tensor<int64_t>({3, 2}, {0, 2, -3, 0, 1, -1}),
                 tensor<int32_t>({3}, {10, 20, 30})},
                map) == tensor<int32_t>({2, 2}, {1, 2, 3, 30}));
}

TEST_CASE("scattered integers wrap and keep their sign") {
  ScatterNdParams params;
  const auto at_0 = tensor<int64_t>({1, 1}, {0});
  params.reduction = kScatterElementsMul;
  const auto large = tensor<uint16_t>({1}, {65535});
  const auto one = tensor<uint16_t>({1}, {1});
  CHECK(run_any(OpKind::ScatterNd, &params, {large, at_0, large}, one) == one);
  const auto least = tensor<int64_t>({1}, {INT64_MIN});
  const auto minus_one = tensor<int64_t>({1}, {-1});
  CHECK(run_any(OpKind::ScatterNd, &params, {least, at_0, minus_one}, least) == least);
  params.reduction = kScatterElementsMax;
  CHECK(run_any(OpKind::ScatterNd, &params, {least, at_0, minus_one}, minus_one) == minus_one);
}

TEST_CASE("scatter by tuples writes elements and slices") {
  ScatterNdParams params;
  const auto line = tensor<int64_t>({4}, {1, 2, 3, 4});
  const auto places = tensor<int64_t>({3, 1}, {-1, 1, 1});
  const auto updates = tensor<int64_t>({3}, {9, 10, 11});
  const auto replaced = tensor<int64_t>({4}, {1, 11, 3, 9});
  CHECK(run_any(OpKind::ScatterNd, &params, {line, places, updates}, replaced) == replaced);
  params.reduction = kScatterElementsAdd;
  const auto box = tensor<int8_t>({2, 1, 2}, {1, 2, 3, 4});
  const auto twice = tensor<int64_t>({2, 1}, {1, -1});
  const auto slices = tensor<int8_t>({2, 1, 2}, {10, 20, 30, 40});
  const auto summed = tensor<int8_t>({2, 1, 2}, {1, 2, 43, 64});
  CHECK(run_any(OpKind::ScatterNd, &params, {box, twice, slices}, summed) == summed);
  CHECK(refusal(OpKind::ScatterNd, &params, {box, twice, tensor<int8_t>({2}, {1, 2})}, summed) ==
        "the updates' rank");
}

TEST_CASE("expand repeats dims of one and dims that are missing") {
  const auto row = tensor<int64_t>({1, 2}, {1, 2});
  const auto rows = tensor<int64_t>({2, 2, 2}, {1, 2, 1, 2, 1, 2, 1, 2});
  CHECK(run_any(OpKind::Expand, nullptr, {row}, rows) == rows);
  const auto column = tensor<int8_t>({2, 1}, {1, 2});
  const auto columns = tensor<int8_t>({2, 3}, {1, 1, 1, 2, 2, 2});
  CHECK(run_any(OpKind::Expand, nullptr, {column}, columns) == columns);
  const auto scalar = tensor<float>({}, {7});
  const auto deep = tensor<float>({1, 2, 1, 2, 1}, {7, 7, 7, 7});
  CHECK(run_any(OpKind::Expand, nullptr, {scalar}, deep) == deep);
  CHECK(refusal(OpKind::Expand, nullptr, {columns}, tensor<int8_t>({2, 1}, {1, 1})) ==
        "input dims that are 1 or the output's");
  CHECK(refusal(OpKind::Expand, nullptr, {columns}, tensor<int8_t>({3}, {1, 1, 1})) ==
        "inputs of at most the output's rank");
}

TEST_CASE("compress moves the slices that are wanted to the front") {
  CompressParams params;
  const auto data = tensor<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto rows = tensor<bool>({3}, {false, true, true});
  const auto by_row = tensor<float>({3, 2}, {3, 4, 5, 6, 0, 0});
  CHECK(run_any(OpKind::Compress, &params, {data, rows}, by_row) == by_row);
  params.axis = 1;
  const auto columns = tensor<bool>({1}, {true});
  const auto by_column = tensor<float>({3, 1}, {1, 3, 5});
  CHECK(run_any(OpKind::Compress, &params, {data, columns}, by_column) == by_column);
  const auto more = tensor<bool>({4}, {false, true, true, true});
  const auto second = tensor<float>({3, 2}, {2, 0, 4, 0, 6, 0});
  CHECK(run_any(OpKind::Compress, &params, {data, more}, second) == second);
  CHECK(refusal(OpKind::Compress, &params, {data, columns}, by_row) ==
        "an output of as many slices as may be taken");
}

TEST_CASE("non zero lists indices, then zeros") {
  const auto flags = tensor<bool>({2, 2}, {true, false, true, true});
  const auto places = tensor<int64_t>({2, 4}, {0, 1, 1, 0, 0, 0, 1, 0});
  CHECK(run_any(OpKind::NonZero, nullptr, {flags}, places) == places);
  const auto floats = tensor<float>({4}, {-0.0f, NAN, 0.0f, -1.0f});
  const auto two = tensor<int64_t>({1, 4}, {1, 3, 0, 0});
  CHECK(run_any(OpKind::NonZero, nullptr, {floats}, two) == two);
  const auto least = tensor<int64_t>({1, 1, 2}, {INT64_MIN, 0});
  const auto first = tensor<int64_t>({3, 2}, {0, 0, 0, 0, 0, 0});
  CHECK(run_any(OpKind::NonZero, nullptr, {least}, first) == first);
  const auto scalar = tensor<int8_t>({}, {3});
  const auto origin = tensor<int64_t>({1, 1}, {0});
  CHECK(run_any(OpKind::NonZero, nullptr, {scalar}, origin) == origin);
  CHECK(refusal(OpKind::NonZero, nullptr, {flags}, two) ==
        "an output of [rank, elements] of the input");
}

TEST_CASE("non max suppression keeps the best of boxes that overlap") {
  NonMaxSuppressionParams params;
  params.has_score_threshold = 1;
  // Boxes 0 and 1 overlap by 0.9 / 1.1, and so do 2 and 3; the corners of 1 and 3 are swapped.
  const auto boxes = tensor<float>(
      {1, 5, 4}, {0, 0, 1, 1, 1.1f, 1, 0.1f, 0, 10, 10, 11, 11, 11, 11, 10, 10.1f, 0, 100, 1, 101});
  const auto scores = tensor<float>({1, 2, 5}, {0.9f, 0.75f, 0.6f, 0.95f, 0.4f,  //
                                                0.5f, 0.5f, 0.1f, NAN, 0.5f});
  const auto found = [&](int64_t max_per_class, float iou, float score,
                         const std::vector<std::vector<int64_t>>& expected) {
    auto y = tensor<int64_t>({10, 3}, {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                       -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1});
    for (size_t i = 0; i < expected.size(); ++i)
      std::memcpy(&y.bytes[i * 24], expected[i].data(), 24);
    const auto result = run_any(OpKind::NonMaxSuppression, &params,
                                {boxes, scores, tensor<int64_t>({1}, {max_per_class}),
                                 tensor<float>({1}, {iou}), tensor<float>({}, {score})},
                                y);
    INFO(result);
    return result == y;
  };
  CHECK(found(10, 0.5f, 0.4f, {{0, 0, 3}, {0, 0, 0}, {0, 1, 0}, {0, 1, 4}}));
  CHECK(found(1, 0.5f, 0.4f, {{0, 0, 3}, {0, 1, 0}}));
  CHECK(found(10, 0.5f, 0.9f, {{0, 0, 3}}));
  CHECK(found(0, 0.5f, 0.0f, {}));
  CHECK(found(INT64_MIN, 0.5f, 0.0f, {}));
  CHECK(found(2, 0.99f, 0.4f, {{0, 0, 3}, {0, 0, 0}, {0, 1, 0}, {0, 1, 1}}));
  params.has_score_threshold = 0;
  CHECK(found(INT64_MAX, 0.5f, 2.0f,
              {{0, 0, 3}, {0, 0, 0}, {0, 0, 4}, {0, 1, 0}, {0, 1, 4}, {0, 1, 2}}));
}

TEST_CASE("boxes by their centers, of two batches") {
  NonMaxSuppressionParams params;
  params.is_center_point_box = 1;
  const auto boxes = tensor<float>({2, 2, 4}, {0.5f, 0.5f, 1, 1, 0.5f, 0.6f, 1, 1,  //
                                               5, 5, 1, 1, 9, 9, 2, 2});
  const auto scores = tensor<float>({2, 1, 2}, {0.1f, 0.2f, 0.3f, 0.3f});
  const auto y = tensor<int64_t>({4, 3}, {0, 0, 1, 1, 0, 0, 1, 0, 1, -1, -1, -1});
  CHECK(run_any(OpKind::NonMaxSuppression, &params,
                {boxes, scores, tensor<int64_t>({1}, {5}), tensor<float>({1}, {0.5f}),
                 tensor<float>({1}, {0})},
                y) == y);
}

TEST_CASE("what moves data takes every dtype") {
  ConcatParams concat;
  concat.axis = 1;
  const auto a = tensor<int64_t>({2, 1}, {1, 2});
  const auto b = tensor<int64_t>({2, 2}, {3, 4, 5, 6});
  const auto joined = tensor<int64_t>({2, 3}, {1, 3, 4, 2, 5, 6});
  CHECK(run_any(OpKind::Concat, &concat, {a, b}, joined) == joined);
  CHECK(refusal(OpKind::Concat, &concat, {a, tensor<float>({2, 2}, {3, 4, 5, 6})}, joined) ==
        "inputs of the output's dtype");

  TransposeParams transpose;
  transpose.perm_0 = 2;
  transpose.perm_2 = 1;
  const auto box = tensor<int8_t>({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  const auto turned = tensor<int8_t>({3, 1, 2}, {1, 4, 2, 5, 3, 6});
  CHECK(run_any(OpKind::Transpose, &transpose, {box}, turned) == turned);
  CHECK(refusal(OpKind::Transpose, &transpose, {box},
                tensor<uint8_t>({3, 1, 2}, {0, 0, 0, 0, 0, 0})) == "operands of one dtype");

  const auto flags = tensor<bool>({4}, {true, false, false, true});
  const auto square = tensor<bool>({2, 2}, {true, false, false, true});
  CHECK(run_any(OpKind::Reshape, nullptr, {flags}, square) == square);
  CHECK(run_any(OpKind::Convert, nullptr, {square}, square) == square);
  CHECK(refusal(OpKind::Reshape, nullptr, {flags}, tensor<int8_t>({2, 2}, {1, 0, 0, 1})) ==
        "operands of one dtype");
}

// Compares 70 x 50 x 3 of every element size with one loop over all elements.
TEST_CASE("transpose of many elements of every size") {
  TransposeParams params;
  params.perm_0 = 2;
  params.perm_1 = 1;
  for (DType dtype : {DType::Bool, DType::BF16, DType::I32, DType::F64}) {
    const size_t size = dtype_bytes(dtype);
    TypedTensor x =
        test::typed_tensor(dtype, {70, 50, 3}, std::vector<uint8_t>(70 * 50 * 3 * size));
    TypedTensor y = test::typed_tensor(dtype, {3, 50, 70}, x.bytes);
    for (size_t i = 0; i < x.bytes.size(); ++i) x.bytes[i] = static_cast<uint8_t>(i * 37 + i / 251);
    for (size_t i = 0; i < 70; ++i)
      for (size_t k = 0; k < 50; ++k)
        for (size_t m = 0; m < 3; ++m)
          std::memcpy(&y.bytes[((m * 50 + k) * 70 + i) * size],
                      &x.bytes[((i * 50 + k) * 3 + m) * size], size);
    CHECK(run_any(OpKind::Transpose, &params, {x}, y) == y);
  }
}

}  // namespace
}  // namespace codl::kernels
