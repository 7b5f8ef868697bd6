// Contracts of the operators that keep dims: unary, binary, softmax.
#include "kernels/binary/binary.h"
#include "kernels/softmax/softmax.h"
#include "kernels/unary/unary.h"
#include "test/kernels/step_for_tests.h"
#include "test/support/catch.h"

namespace codl::kernels {
namespace {

TEST_CASE("unary takes operands of one layout, dims and enough rows") {
  UnaryParams params;
  params.kind = kUnaryTanh;
  const auto check_cpu = [&](const OperandShape& x, const OperandShape& y) {
    return check({"unary_f32_cpu", &params, {x, y}});
  };
  CHECK(check_cpu(plain({}), plain({})) == "ok");
  CHECK(check_cpu(nhwc({2, 3, 4, 5}), nhwc({2, 3, 4, 5}, {1, 3})) == "ok");
  CHECK(check_cpu(plain({2, 3, 4, 5}), nhwc({2, 3, 4, 5})) == "input and output of one layout");
  CHECK(check_cpu(plain({2, 3}), plain({3, 2})) == "input and output of the same dims");
  CHECK(check_cpu(plain({2}), plain({2, 1})) == "input and output of the same dims");
  CHECK(check_cpu(nhwc({2, 3, 4, 5}, {0, 2}), nhwc({2, 3, 4, 5}, {1, 3})) ==
        "input rows of the part inside the operand");
  CHECK(check({"unary_f32_cpu",
               &params,
               {plain({2, 3, 4, 5}), plain({2, 3, 4, 5})},
               SplitDim::Height,
               {0, 2}}) == "no part of a Plain output");
  CHECK(check({"unary_f32_cl_buffer", &params, {image({1, 3, 4, 5}), image({1, 3, 4, 5})}}) ==
        "no image for a buffer kernel");
  params.kind = 6;
  CHECK(check_cpu(plain({1}), plain({1})) == "a member of Unary");
}

TEST_CASE("binary broadcasts dims of one, aligned from the right") {
  BinaryParams params;
  params.kind = kBinaryAdd;
  const auto check_cpu = [&](const OperandShape& a, const OperandShape& b, const OperandShape& y) {
    return check({"binary_f32_cpu", &params, {a, b, y}});
  };
  CHECK(check_cpu(plain({2, 1, 4}), plain({3, 1}), plain({2, 3, 4})) == "ok");
  CHECK(check_cpu(nhwc({2, 3, 4, 5}), plain({3, 1, 1}), nhwc({2, 3, 4, 5})) == "ok");
  CHECK(check_cpu(nhwc({1, 3, 1, 1}), nhwc({2, 1, 4, 5}), nhwc({2, 3, 4, 5})) == "ok");
  CHECK(check_cpu(plain({2}), plain({3}), plain({3})) == "input dims that are 1 or the output's");
  CHECK(check_cpu(plain({1, 1, 3}), plain({3}), plain({3})) ==
        "inputs of at most the output's rank");
  CHECK(check_cpu(plain({1}), plain({1}), plain({2})) ==
        "output dims that the inputs broadcast to");
  CHECK(check_cpu(nhwc({1, 3, 4, 5}), plain({1}), plain({1, 3, 4, 5})) ==
        "inputs Plain or of the output's layout");
  CHECK(check_cpu(nhwc({1, 3, 4, 5}, {0, 3}), plain({1}), nhwc({1, 3, 4, 5})) ==
        "input rows of the part inside the operand");
  CHECK(check({"binary_f32_cpu",
               &params,
               {plain({1, 3, 4, 5}), plain({1}), plain({1, 3, 4, 5})},
               SplitDim::Height,
               {0, 2}}) == "no part of a Plain output");
  params.activation = 6;
  CHECK(check_cpu(plain({1}), plain({1}), plain({1})) == "an activation of Unary");
  params.kind = 0;
  CHECK(check_cpu(plain({1}), plain({1}), plain({1})) == "a member of Binary");
}

TEST_CASE("binary on a GPU takes an equal, a scalar or a per-channel operand") {
  BinaryParams params;
  params.kind = kBinaryMul;
  const auto check_gpu = [&](const OperandShape& b) {
    return check({"binary_f32_cl_buffer", &params, {nhwc({2, 3, 4, 5}), b, nhwc({2, 3, 4, 5})}});
  };
  const std::string refusal = "inputs like the output, scalar or per channel on a GPU";
  CHECK(check_gpu(nhwc({2, 3, 4, 5})) == "ok");
  CHECK(check_gpu(plain({1, 1})) == "ok");
  CHECK(check_gpu(plain({1, 3, 1, 1})) == "ok");
  CHECK(check_gpu(plain({3, 1, 1})) == "ok");
  CHECK(check_gpu(nhwc({1, 3, 1, 1})) == refusal);
  CHECK(check_gpu(plain({5})) == refusal);
  CHECK(check_gpu(plain({2, 3, 1, 1})) == refusal);
  CHECK(check({"binary_f32_cl_buffer",
               &params,
               {image({1, 3, 4, 5}), plain({1}), image({1, 3, 4, 5})}}) ==
        "no image for a buffer kernel");
}

TEST_CASE("softmax needs its whole axis in memory") {
  SoftmaxParams params;
  const auto check_axis = [&](int32_t axis, const OperandShape& x, const OperandShape& y) {
    params.axis = axis;
    return check({"softmax_f32_cpu", &params, {x, y}});
  };
  const OperandShape whole = nhwc({1, 3, 4, 5});
  const OperandShape half = nhwc({1, 3, 4, 5}, {2, 4});
  CHECK(check_axis(1, half, half) == "ok");
  CHECK(check_axis(2, whole, whole) == "ok");
  CHECK(check_axis(2, half, half) == "all rows in memory for axis 2");
  CHECK(check_axis(1, whole, half) == "input and output that hold the same rows");
  CHECK(check_axis(1, plain({1, 3, 4, 5}), whole) == "input and output of one layout");
  CHECK(check_axis(0, plain({3, 4}), plain({4, 3})) == "input and output of the same dims");
  CHECK(check_axis(2, plain({3, 4}), plain({3, 4})) == "an axis of the output");
  CHECK(check_axis(-1, plain({3, 4}), plain({3, 4})) == "an axis of the output");
  CHECK(check_axis(0, plain({}), plain({})) == "an axis of the output");
}

TEST_CASE("small elementwise steps are one task, large ones enough for eight workers") {
  UnaryParams params;
  params.kind = kUnaryRelu;
  CHECK(task_count({"unary_f32_cpu", &params, {nhwc({1, 16, 7, 7}), nhwc({1, 16, 7, 7})}}) == 1);
  CHECK(task_count({"unary_f32_cpu", &params, {nhwc({1, 64, 56, 56}), nhwc({1, 64, 56, 56})}}) ==
        32);
  CHECK(task_count({"unary_f32_cpu", &params, {plain({1000000}), plain({1000000})}}) == 32);
}

}  // namespace
}  // namespace codl::kernels
