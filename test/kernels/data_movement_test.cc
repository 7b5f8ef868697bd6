// Contracts of the operators that move elements: concat, transpose, reshape, convert.
#include "kernels/common/loop_axes.h"
#include "kernels/concat/concat.h"
#include "kernels/convert/convert.h"
#include "kernels/transpose/transpose.h"
#include "test/kernels/step_for_tests.h"
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
        "all rows in memory for axis 0 or 2");
  CHECK(check_cpu({nhwc({1, 3, 2, 5}, {0, 1}), nhwc({1, 3, 2, 5}), nhwc({1, 3, 4, 5})}) ==
        "all rows in memory for axis 0 or 2");
  CHECK(check({"concat_f32_cpu",
               &params,
               {nhwc({1, 3, 4, 5}), nhwc({1, 3, 4, 5})},
               SplitDim::Height,
               {0, 2}}) ==
        "no part but rows of an Nhwc or Image2d output joined along axis 1 or 3");
  params.axis = 4;
  CHECK(check_cpu({nhwc({1, 9, 4, 5}), nhwc({1, 9, 4, 5})}) == "an axis of the output");
}

TEST_CASE("concat on a GPU joins at most eight inputs along the channels") {
  ConcatParams params;
  params.axis = 1;
  StepForTest step = {"concat_f32_cl_buffer", &params, {}};
  step.operands.assign(8, nhwc({1, 2, 3, 3}));
  step.operands.push_back(nhwc({1, 16, 3, 3}));
  CHECK(check(step) == "ok");
  step.operands.back() = nhwc({1, 2, 3, 3});
  step.operands.push_back(nhwc({1, 18, 3, 3}));
  CHECK(check(step) == "at most 8 inputs on a GPU");
  params.axis = 3;
  CHECK(check(step) == "axis 1 on a GPU");
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
  const std::string wrong_input = "the input layout of the kernel's row";
  CHECK(check_row("convert_f32_cpu", as_plain, as_nhwc) == "ok");
  CHECK(check_row("convert_f32_cl_buffer", as_nhwc, as_plain) == "ok");
  CHECK(check_row("convert_f32_cl_to_image", as_plain, as_image) == "ok");
  CHECK(check_row("convert_f32_cl_from_image", as_image, as_nhwc) == "ok");
  CHECK(check_row("convert_f32_cl_buffer", as_image, as_nhwc) == wrong_input);
  CHECK(check_row("convert_f32_cl_from_image", as_plain, as_nhwc) == wrong_input);
  CHECK(check_row("convert_f32_cl_to_image", as_image, as_image) == wrong_input);
  CHECK(check_row("convert_f32_cl_buffer", as_nhwc, as_image) ==
        "the output layout of the kernel's row");
  CHECK(check_row("convert_f32_cl_from_image", as_image, as_image) ==
        "the output layout of the kernel's row");
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

}  // namespace
}  // namespace codl::kernels
