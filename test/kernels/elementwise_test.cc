// Tests operators that keep dims: their contracts, and their numbers.
#include <cmath>
#include <limits>

#include "kernels/binary/binary.h"
#include "kernels/cast/cast.h"
#include "kernels/common/reference/elements.h"
#include "kernels/softmax/softmax.h"
#include "kernels/unary/unary.h"
#include "kernels/work_table.h"
#include "test/kernels/cpu_runner.h"
#include "test/kernels/step_for_tests.h"
#include "test/kernels/typed_tensor.h"
#include "test/support/catch.h"

namespace codl::kernels {
namespace {

using test::kInfinity;
using test::kNan;
using test::run_any;
using test::tensor;
using test::TypedTensor;

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
  params.kind = 1000;
  CHECK(check_cpu(plain({1}), plain({1})) == "a member of Unary");
  params.kind = kUnaryNot;
  CHECK(check_cpu(plain({1}), plain({1})) == "dtypes that the member of Unary has");
}

// Plain outputs are in runs, too, and an operand of any broadcast is not.
TEST_CASE("values on buffers are in quads where a work-item has few registers") {
  UnaryParams unary;
  unary.kind = kUnarySigmoid;
  BinaryParams binary;
  binary.kind = kBinaryAdd;
  LrnParams lrn = {5, 1e-4f, 0.75f, 1};
  const auto check_quads = [](StepForTest step) {
    std::vector<int32_t> tile(kMaxTileInts);
    for (int32_t registers : {0, 192})
      CHECK(choose_tile(step.shape(), {.thread_registers = registers}, tile.data()) == 0);
    const double items = work_of(step).work_items;
    tile.resize(choose_tile(step.shape(), {.thread_registers = 64}, tile.data()));
    CHECK(tile == std::vector<int32_t>{32, 1, 1, 4});
    step.tile = tile;
    CHECK(check(step) == "ok");
    CHECK(work_of(step).work_items == 4 * items);
    step.tile[3] = 8;
    CHECK(check(step) == "4 or 16 channels in a work-item on a buffer");
  };
  const OperandShape map = nhwc({1, 64, 4, 4});
  const OperandShape row = plain({1, 1024});
  check_quads({"unary_f32_cl_buffer", &unary, {map, map}});
  check_quads({"unary_f32_cl_buffer", &unary, {row, row}});
  check_quads({"binary_f32_cl_buffer", &binary, {map, plain({64, 1, 1}), map}});
  check_quads({"binary_f32_cl_buffer", &binary, {row, row, row}});
  check_quads({"lrn_f32_cl_buffer", &lrn, {map, map}});
  StepForTest broadcast = {
      "binary_f32_cl_broadcast", &binary, {plain({2, 3}), plain({3}), plain({2, 3})}};
  std::vector<int32_t> tile(kMaxTileInts);
  CHECK(choose_tile(broadcast.shape(), {.thread_registers = 64}, tile.data()) == 0);
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
  params.activation = kUnaryIsNan;
  CHECK(check_cpu(plain({1}), plain({1}), plain({1})) == "an activation of Unary");
  params.kind = kBinaryLess;
  params.activation = kUnaryIdentity;
  CHECK(check_cpu(plain({1}), plain({1}), plain({1})) == "dtypes that the member of Binary has");
  params.kind = 0;
  CHECK(check_cpu(plain({1}), plain({1}), plain({1})) == "a member of Binary");
}

TEST_CASE("binary on a GPU takes an equal, a scalar, a per-channel or a one-pixel operand") {
  BinaryParams params;
  params.kind = kBinaryMul;
  const auto check_gpu = [&](const OperandShape& b) {
    return check({"binary_f32_cl_buffer", &params, {nhwc({2, 3, 4, 5}), b, nhwc({2, 3, 4, 5})}});
  };
  const std::string refusal =
      "inputs like the output, scalar, per channel or of one pixel on a GPU";
  CHECK(check_gpu(nhwc({2, 3, 4, 5})) == "ok");
  CHECK(check_gpu(plain({1, 1})) == "ok");
  CHECK(check_gpu(plain({1, 3, 1, 1})) == "ok");
  CHECK(check_gpu(plain({3, 1, 1})) == "ok");
  CHECK(check_gpu(nhwc({1, 3, 1, 1})) == "ok");
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

// ---- kernels of any dtype -----------------------------------------------------------------------

// Returns f of a vector, with the same length and dtype `Y`.
template <typename Y, typename X>
TypedTensor unary(int32_t kind, std::initializer_list<X> x, float alpha = 0, float beta = 0) {
  const UnaryParams params = {kind, alpha, beta};
  const auto count = static_cast<int32_t>(x.size());
  TypedTensor like = tensor<Y>({count}, {});
  like.shape.bytes = x.size() * sizeof(Y);
  return run_any(OpKind::Unary, &params, {tensor<X>({count}, x)}, like);
}

template <typename Y, typename X>
TypedTensor binary(int32_t kind, std::initializer_list<X> a, std::initializer_list<X> b) {
  const BinaryParams params = {.kind = kind};
  const auto count = static_cast<int32_t>(a.size());
  TypedTensor like = tensor<Y>({count}, {});
  like.shape.bytes = a.size() * sizeof(Y);
  return run_any(OpKind::Binary, &params, {tensor<X>({count}, a), tensor<X>({count}, b)}, like);
}

template <typename T>
TypedTensor vector(std::initializer_list<T> elements) {
  return tensor<T>({static_cast<int32_t>(elements.size())}, elements);
}

TypedTensor halves(DType dtype, std::initializer_list<uint16_t> bits) {
  TypedTensor result = vector<uint16_t>(bits);
  result.shape.dtype = dtype;
  return result;
}

TypedTensor cast(const TypedTensor& x, DType to) {
  const CastParams params = {static_cast<int32_t>(to)};
  TypedTensor like = x;
  like.shape.dtype = to;
  like.shape.bytes = static_cast<uint64_t>(element_count(x.shape)) * dtype_bytes(to);
  return run_any(OpKind::Cast, &params, {x}, like);
}

// Returns the number that every F32 CPU kernel of this processor, and the reference, computes for
// x.
std::vector<float> unary_values(int32_t kind, float alpha, float beta, float x) {
  std::vector<float> found = {unary_value_ref(kind, alpha, beta, x)};
  for (const KernelInfo& info : kKernelInfos)
    for (CpuTarget target : kCpuTargets) {
      if (std::string_view(info.symbol) != "unary_f32_cpu") continue;
      const CpuKernel kernel = test::kernel_for_target(info, target);
      if (kernel == nullptr) continue;
      float y = 0.0f;
      const UnaryParams params = {kind, alpha, beta};
      const TensorView views[] = {make_view(plain({1}), &x), make_view(plain({1}), &y)};
      KernelArgs args;
      args.params = &params;
      args.operands = views;
      args.operand_count = 2;
      args.task_end = 1;
      kernel(args);
      found.push_back(y);
    }
  return found;
}

struct UnaryValue {
  int32_t kind;
  float alpha;
  float beta;
  float x;
  float y;
};

TEST_CASE("unary functions at chosen points") {
  constexpr UnaryValue kValues[] = {
      {kUnaryRelu, 0, 0, -2, 0},
      {kUnaryLeakyRelu, 0.25f, 0, -2, -0.5f},
      {kUnaryClip, -1, 2, 7, 2},
      {kUnaryClip, 3, 2, 0, 2},
      {kUnarySigmoid, 0, 0, 0, 0.5f},
      {kUnarySigmoid, 0, 0, -200, 0},
      {kUnaryHardSigmoid, 0.2f, 0.5f, 1, 0.7f},
      {kUnaryHardSigmoid, 0.2f, 0.5f, 9, 1},
      {kUnaryHardSwish, 0, 0, 1, 0.6666667f},
      {kUnaryHardSwish, 0, 0, -4, 0},
      {kUnarySwish, 1, 0, 1, 0.7310586f},
      {kUnarySwish, 1.702f, 0, -1, -0.1542042f},
      {kUnarySwish, 1, 0, -3e38f, 0},
      {kUnaryGelu, 0, 0, 1, 0.8413447f},
      {kUnaryGelu, 0, 0, -30, 0},
      {kUnaryGeluTanh, 0, 0, 1, 0.8411920f},
      {kUnaryElu, 2, 0, -1, -1.2642411f},
      {kUnaryElu, 2, 0, 3, 3},
      {kUnarySelu, 1.6732632f, 1.0507010f, -1, -1.1113307f},
      {kUnarySelu, 1.6732632f, 1.0507010f, 2, 2.1014020f},
      {kUnaryCelu, 2, 0, -1, -0.7869387f},
      {kUnaryCelu, 2, 0, 1000, 1000},
      {kUnaryThresholdedRelu, 1, 0, 1, 0},
      {kUnaryThresholdedRelu, 1, 0, 1.5f, 1.5f},
      {kUnaryMish, 0, 0, 1, 0.8650984f},
      {kUnaryMish, 0, 0, 100, 100},
      {kUnarySoftplus, 0, 0, 0, 0.6931472f},
      {kUnarySoftplus, 0, 0, 1000, 1000},
      {kUnarySoftplus, 0, 0, -1000, 0},
      {kUnarySoftsign, 0, 0, -3, -0.75f},
      {kUnaryErf, 0, 0, 0.5f, 0.5204999f},
      {kUnaryErf, 0, 0, -9, -1},
      {kUnaryShrink, 0.5f, 1.5f, -2, -1.5f},
      {kUnaryShrink, 0.5f, 1.5f, 2, 1.5f},
      {kUnaryShrink, 0.5f, 1.5f, 1.5f, 0},
      {kUnaryAffine, 2, 0.5f, -3, -5.5f},
      {kUnaryQuantize8, 0.5f, 10, 0.75f, 1},
      {kUnaryQuantize8, 0.5f, 10, 0.25f, 0},
      {kUnaryQuantize8, 0.5f, 10, -1e9f, -5},
      {kUnaryQuantize8, 0.5f, 10, kInfinity, 122.5f},
      {kUnaryAffineHardSwish, 2, 1, 1, 2.3333333f},
      {kUnaryAffineHardSwish, 2, 1, -4, 1},
      {kUnaryAffineHardSwish, 2, 1, 4, 9},
      {kUnaryAbs, 0, 0, -3, 3},
      {kUnaryNeg, 0, 0, 3, -3},
      {kUnaryExp, 0, 0, 1, 2.7182817f},
      {kUnaryExp, 0, 0, 100, kInfinity},
      {kUnaryExp, 0, 0, -200, 0},
      {kUnaryExp, 0, 0, -kInfinity, 0},
      {kUnaryLog, 0, 0, 10, 2.3025851f},
      {kUnaryLog, 0, 0, 0, -kInfinity},
      {kUnaryLog, 0, 0, kInfinity, kInfinity},
      {kUnaryLog, 0, 0, -1, kNan},
      {kUnarySqrt, 0, 0, 2, 1.4142135f},
      {kUnarySqrt, 0, 0, -1, kNan},
      {kUnaryReciprocal, 0, 0, 0, kInfinity},
      {kUnaryCeil, 0, 0, -1.5f, -1},
      {kUnaryFloor, 0, 0, -1.5f, -2},
      {kUnaryRound, 0, 0, 0.5f, 0},
      {kUnaryRound, 0, 0, 1.5f, 2},
      {kUnaryRound, 0, 0, -2.5f, -2},
      {kUnaryRound, 0, 0, -0.50001f, -1},
      {kUnarySign, 0, 0, -0.001f, -1},
      {kUnarySign, 0, 0, 0, 0},
      {kUnarySign, 0, 0, kInfinity, 1},
      {kUnarySin, 0, 0, 1, 0.8414710f},
      {kUnarySin, 0, 0, 1e6f, -0.3499935f},
      {kUnaryCos, 0, 0, 3, -0.9899925f},
      {kUnaryTan, 0, 0, 1, 1.5574077f},
      {kUnaryAsin, 0, 0, 0.5f, 0.5235988f},
      {kUnaryAcos, 0, 0, 0.5f, 1.0471976f},
      {kUnaryAtan, 0, 0, kInfinity, 1.5707964f},
      {kUnarySinh, 0, 0, 1, 1.1752012f},
      {kUnaryCosh, 0, 0, 1, 1.5430806f},
      {kUnaryAsinh, 0, 0, 1, 0.8813736f},
      {kUnaryAcosh, 0, 0, 2, 1.3169579f},
      {kUnaryAtanh, 0, 0, 0.5f, 0.5493061f},
  };
  for (const UnaryValue& value : kValues)
    for (float found : unary_values(value.kind, value.alpha, value.beta, value.x)) {
      INFO(member_name(OpKind::Unary, value.kind)
           << "(" << value.x << ") = " << value.y << ", found " << found);
      CHECK(test::is_close(value.y, found, {1e-6f, 1e-6f}));
    }
}

TEST_CASE("a NaN stays a NaN, but not under comparisons") {
  for (const auto& [kind, parameter_count, use] : kActivations)
    for (float found : unary_values(kind, 0.5f, 0.75f, kNan)) {
      INFO(member_name(OpKind::Unary, kind));
      if (kind == kUnaryThresholdedRelu || kind == kUnaryShrink)
        CHECK(found == 0.0f);
      else
        CHECK(std::isnan(found));
    }
  const float nan_and_numbers[] = {kNan, 1.0f, 2.0f};
  for (int32_t kind : {kBinaryMin, kBinaryMax}) {
    CHECK(std::isnan(binary_value_ref(kind, nan_and_numbers[0], nan_and_numbers[1])));
    CHECK(std::isnan(binary_value_ref(kind, nan_and_numbers[1], nan_and_numbers[0])));
  }
  CHECK(unary<bool, float>(kUnaryIsNan, {kNan, 1.0f, kInfinity}) ==
        vector<bool>({true, false, false}));
  CHECK(binary<bool, float>(kBinaryEqual, {kNan, 1.0f}, {kNan, 1.0f}) ==
        vector<bool>({false, true}));
  CHECK(binary<bool, float>(kBinaryLessOrEqual, {kNan, 1.0f}, {1.0f, 1.0f}) ==
        vector<bool>({false, true}));
}

TEST_CASE("infinities are found by their sign") {
  const std::initializer_list<float> x = {-kInfinity, kInfinity, kNan, 3.0f};
  CHECK(unary<bool, float>(kUnaryIsInf, x, 1, 1) == vector<bool>({true, true, false, false}));
  CHECK(unary<bool, float>(kUnaryIsInf, x, 1, 0) == vector<bool>({true, false, false, false}));
  CHECK(unary<bool, float>(kUnaryIsInf, x, 0, 1) == vector<bool>({false, true, false, false}));
}

TEST_CASE("functions of integers wrap") {
  CHECK(unary<int8_t, int8_t>(kUnaryAbs, {-128, -3, 5}) == vector<int8_t>({-128, 3, 5}));
  CHECK(unary<uint64_t, uint64_t>(kUnaryAbs, {~0ull}) == vector<uint64_t>({~0ull}));
  CHECK(unary<int16_t, int16_t>(kUnaryNeg, {-32768, 7}) == vector<int16_t>({-32768, -7}));
  CHECK(unary<int32_t, int32_t>(kUnarySign, {-9, 0, 4}) == vector<int32_t>({-1, 0, 1}));
  CHECK(unary<uint64_t, uint64_t>(kUnarySign, {~0ull, 0}) == vector<uint64_t>({1, 0}));
  CHECK(unary<int64_t, int64_t>(kUnaryRelu, {-9, 4}) == vector<int64_t>({0, 4}));
  CHECK(unary<uint64_t, uint64_t>(kUnaryRelu, {~0ull}) == vector<uint64_t>({~0ull}));
  CHECK(unary<int8_t, int8_t>(kUnaryClip, {-128, 0, 127}, -3, 1e9f) ==
        vector<int8_t>({-3, 0, 127}));
  CHECK(unary<uint8_t, uint8_t>(kUnaryBitwiseNot, {0, 0xf0}) == vector<uint8_t>({0xff, 0x0f}));
  CHECK(unary<bool, bool>(kUnaryNot, {true, false}) == vector<bool>({false, true}));
}

TEST_CASE("integer arithmetic wraps and never traps") {
  CHECK(binary<int8_t, int8_t>(kBinaryAdd, {127, -128}, {1, -1}) == vector<int8_t>({-128, 127}));
  CHECK(binary<uint8_t, uint8_t>(kBinarySub, {3}, {5}) == vector<uint8_t>({254}));
  CHECK(binary<int32_t, int32_t>(kBinaryMul, {1 << 20}, {1 << 12}) == vector<int32_t>({0}));
  CHECK(binary<int32_t, int32_t>(kBinaryDiv, {-3, 3, 7, INT32_MIN}, {2, -2, 0, -1}) ==
        vector<int32_t>({-1, -1, 0, INT32_MIN}));
  CHECK(binary<int64_t, int64_t>(kBinaryDiv, {INT64_MIN, 5}, {-1, 0}) ==
        vector<int64_t>({INT64_MIN, 0}));
  CHECK(binary<uint64_t, uint64_t>(kBinaryDiv, {~0ull, 9}, {2, ~0ull}) ==
        vector<uint64_t>({~0ull / 2, 0}));
  CHECK(binary<int64_t, int64_t>(kBinaryPow, {3, -2, 2, 0, -1, 2}, {4, 3, -1, 0, -3, 64}) ==
        vector<int64_t>({81, -8, 0, 1, -1, 0}));
  CHECK(binary<uint64_t, uint64_t>(kBinaryMax, {~0ull, 1}, {1, 2}) == vector<uint64_t>({~0ull, 2}));
  CHECK(binary<int64_t, int64_t>(kBinaryMin, {-1, 1}, {1, 2}) == vector<int64_t>({-1, 1}));
  CHECK(binary<int32_t, int32_t>(kBinaryPRelu, {-3, 3}, {5, 5}) == vector<int32_t>({-15, 3}));
}

// 2^24 + 1, which f32 cannot hold.
constexpr double kOdd = 16777217;

TEST_CASE("doubles are computed with as such") {
  const auto two = [](int32_t kind, double a, double b, const TypedTensor& expected) {
    BinaryParams params;
    params.kind = kind;
    CHECK(run_any(OpKind::Binary, &params, {tensor<double>({1}, {a}), tensor<double>({}, {b})},
                  expected) == expected);
  };
  two(kBinaryAdd, kOdd, 2, tensor<double>({1}, {16777219}));
  two(kBinarySub, kOdd, 2, tensor<double>({1}, {16777215}));
  two(kBinaryMul, kOdd, 3, tensor<double>({1}, {50331651}));
  two(kBinaryDiv, 50331651, 3, tensor<double>({1}, {kOdd}));
  two(kBinaryPow, 4097, 2, tensor<double>({1}, {16785409}));
  two(kBinaryMax, kOdd, 16777216, tensor<double>({1}, {kOdd}));
  two(kBinaryMod, -kOdd, 16777216, tensor<double>({1}, {16777215}));
  two(kBinaryFmod, -kOdd, 16777216, tensor<double>({1}, {-1}));
  two(kBinaryEqual, kOdd, 16777216, tensor<bool>({1}, {false}));
  two(kBinaryGreater, kOdd, 16777216, tensor<bool>({1}, {true}));
  const auto one = [](int32_t kind, double x, const TypedTensor& expected) {
    UnaryParams params;
    params.kind = kind;
    params.beta = 1;
    CHECK(run_any(OpKind::Unary, &params, {tensor<double>({1}, {x})}, expected) == expected);
  };
  one(kUnaryNeg, kOdd, tensor<double>({1}, {-kOdd}));
  one(kUnaryAbs, -kOdd, tensor<double>({1}, {kOdd}));
  one(kUnaryFloor, kOdd + 0.5, tensor<double>({1}, {kOdd}));
  one(kUnaryRound, kOdd - 0.25, tensor<double>({1}, {kOdd}));
  one(kUnaryIdentity, kOdd, tensor<double>({1}, {kOdd}));
  one(kUnaryIsNan, kNan, tensor<bool>({1}, {true}));
  one(kUnaryIsInf, kInfinity, tensor<bool>({1}, {true}));
  one(kUnaryIsInf, 1e300, tensor<bool>({1}, {false}));
}

TEST_CASE("Mod has the sign of the divisor, Fmod that of the dividend") {
  const std::initializer_list<int32_t> a = {-4, 7, 5, 4, -7, 8, 9, INT32_MIN};
  const std::initializer_list<int32_t> b = {2, -3, 8, -2, 3, 5, 0, -1};
  CHECK(binary<int32_t, int32_t>(kBinaryMod, a, b) == vector<int32_t>({0, -2, 5, 0, 2, 3, 0, 0}));
  CHECK(binary<int32_t, int32_t>(kBinaryFmod, a, b) == vector<int32_t>({0, 1, 5, 0, -1, 3, 0, 0}));
  CHECK(binary<uint64_t, uint64_t>(kBinaryMod, {~0ull}, {10}) == vector<uint64_t>({5}));
  CHECK(binary<float, float>(kBinaryMod, {-3.0f, 3.0f, 0.0f, -7.5f},
                             {kInfinity, -2.0f, -2.0f, 2.0f}) ==
        vector<float>({kInfinity, -1.0f, -0.0f, 0.5f}));
  CHECK(binary<float, float>(kBinaryFmod, {-3.0f, 3.0f, -7.5f}, {kInfinity, -2.0f, 2.0f}) ==
        vector<float>({-3.0f, 1.0f, -1.5f}));
}

TEST_CASE("shifts outside the width leave nothing but the sign") {
  CHECK(binary<int8_t, int8_t>(kBinaryShiftLeft, {64, -64, -8, 4, 1}, {1, 1, 8, 127, -1}) ==
        vector<int8_t>({-128, -128, 0, 0, 0}));
  CHECK(binary<int32_t, int32_t>(kBinaryShiftRight, {-8, 4, -1, INT32_MIN}, {-1, -32, -64, 31}) ==
        vector<int32_t>({-1, 0, -1, -1}));
  CHECK(binary<uint16_t, uint16_t>(kBinaryShiftRight, {0x8000, 4}, {15, 16}) ==
        vector<uint16_t>({1, 0}));
  CHECK(binary<int64_t, int64_t>(kBinaryShiftRight, {-16, 16}, {2, 64}) ==
        vector<int64_t>({-4, 0}));
  CHECK(binary<uint64_t, uint64_t>(kBinaryShiftRight, {~0ull, ~0ull}, {63, 64}) ==
        vector<uint64_t>({1, 0}));
}

TEST_CASE("logic and bits") {
  const std::initializer_list<bool> a = {false, false, true, true};
  const std::initializer_list<bool> b = {false, true, false, true};
  CHECK(binary<bool, bool>(kBinaryAnd, a, b) == vector<bool>({false, false, false, true}));
  CHECK(binary<bool, bool>(kBinaryOr, a, b) == vector<bool>({false, true, true, true}));
  CHECK(binary<bool, bool>(kBinaryXor, a, b) == vector<bool>({false, true, true, false}));
  CHECK(binary<bool, bool>(kBinaryEqual, a, b) == vector<bool>({true, false, false, true}));
  CHECK(binary<uint8_t, uint8_t>(kBinaryBitwiseAnd, {12}, {10}) == vector<uint8_t>({8}));
  CHECK(binary<int16_t, int16_t>(kBinaryBitwiseOr, {12}, {-16}) == vector<int16_t>({-4}));
  CHECK(binary<int64_t, int64_t>(kBinaryBitwiseXor, {12}, {10}) == vector<int64_t>({6}));
  CHECK(binary<bool, uint64_t>(kBinaryGreater, {~0ull, 1}, {1, 2}) == vector<bool>({true, false}));
  CHECK(binary<bool, int8_t>(kBinaryLess, {-1, 1}, {1, 1}) == vector<bool>({true, false}));
}

TEST_CASE("integers broadcast over five dims") {
  const BinaryParams params = {.kind = kBinaryAdd};
  // In a[i, k] + b[j, 0], a steps over the first and the last axis, b over the second.
  CHECK(run_any(OpKind::Binary, &params,
                {tensor<int16_t>({2, 1, 1, 1, 3}, {1, 2, 3, 4, 5, 6}),
                 tensor<int16_t>({2, 1, 1, 1}, {10, 20})},
                tensor<int16_t>({2, 2, 1, 1, 3}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})) ==
        tensor<int16_t>({2, 2, 1, 1, 3}, {11, 12, 13, 21, 22, 23, 14, 15, 16, 24, 25, 26}));
}

TEST_CASE("where chooses between inputs that broadcast") {
  CHECK(run_any(OpKind::Where, nullptr,
                {tensor<bool>({2, 1}, {true, false}), tensor<int64_t>({3}, {1, 2, 3}),
                 tensor<int64_t>({}, {-7})},
                tensor<int64_t>({2, 3}, {0, 0, 0, 0, 0, 0})) ==
        tensor<int64_t>({2, 3}, {1, 2, 3, -7, -7, -7}));
  CHECK(run_any(OpKind::Where, nullptr,
                {tensor<bool>({5}, {true, false, true, true, false}),
                 tensor<uint8_t>({2, 1, 1}, {1, 2}), tensor<uint8_t>({1, 5}, {9, 8, 7, 6, 5})},
                tensor<uint8_t>({2, 1, 5}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0})) ==
        tensor<uint8_t>({2, 1, 5}, {1, 8, 1, 1, 5, 2, 8, 2, 2, 5}));
  const auto check_where = [&](OperandShape condition, const OperandShape& a, const OperandShape& b,
                               const OperandShape& y) {
    condition.dtype = DType::Bool;
    return check({"where_any_cpu", nullptr, {condition, a, b, y}});
  };
  CHECK(check_where(plain({3, 1}), plain({4}), plain({}), plain({3, 4})) == "ok");
  CHECK(check_where(plain({3, 1}), plain({2}), plain({}), plain({3, 4})) ==
        "input dims that are 1 or the output's");
  CHECK(check_where(plain({1}), plain({1}), plain({}), plain({4})) ==
        "output dims that the inputs broadcast to");
  CHECK(check_where(plain({1, 1, 4}), plain({1}), plain({}), plain({4})) ==
        "inputs of at most the output's rank");
  CHECK(check({"where_any_cpu", nullptr, {plain({4}), plain({4}), plain({4}), plain({4})}}) ==
        "a condition of type bool");
}

TEST_CASE("a cast of floats goes towards zero and saturates") {
  const TypedTensor x =
      vector<float>({-2.7f, 2.7f, 300.0f, -1e30f, 1e30f, kNan, -kInfinity, -0.5f});
  CHECK(cast(x, DType::I8) == vector<int8_t>({-2, 2, 127, -128, 127, 0, -128, 0}));
  CHECK(cast(x, DType::U8) == vector<uint8_t>({0, 2, 255, 0, 255, 0, 0, 0}));
  CHECK(cast(x, DType::I64) ==
        vector<int64_t>({-2, 2, 300, INT64_MIN, INT64_MAX, 0, INT64_MIN, 0}));
  CHECK(cast(x, DType::U64) == vector<uint64_t>({0, 2, 300, 0, ~0ull, 0, 0, 0}));
  CHECK(cast(x, DType::U32) == vector<uint32_t>({0, 2, 300, 0, ~0u, 0, 0, 0}));
  CHECK(cast(vector<float>({0.0f, -0.0f, 0.1f, kNan}), DType::Bool) ==
        vector<bool>({false, false, true, true}));
  CHECK(cast(vector<double>({1e300, 0.1, 9007199254740993.0}), DType::F32) ==
        vector<float>({kInfinity, 0.1f, 9007199254740992.0f}));
}

TEST_CASE("a cast of integers wraps, and rounds once to a float") {
  CHECK(cast(vector<int64_t>({300, -1, 1ll << 40}), DType::U8) == vector<uint8_t>({44, 255, 0}));
  CHECK(cast(vector<uint8_t>({255}), DType::I8) == vector<int8_t>({-1}));
  CHECK(cast(vector<int32_t>({-5, 0}), DType::Bool) == vector<bool>({true, false}));
  CHECK(cast(vector<bool>({true, false}), DType::F32) == vector<float>({1.0f, 0.0f}));
  CHECK(cast(vector<uint64_t>({~0ull}), DType::F32) == vector<float>({18446744073709551616.0f}));
  // Through f64 it would be 2^60: 2^60 + 2^36 is halfway to the next float.
  CHECK(cast(vector<int64_t>({(1ll << 60) + (1ll << 36) + 1}), DType::F32) ==
        vector<float>({1152921642045800448.0f}));
  CHECK(cast(vector<int64_t>({-3}), DType::F64) == vector<double>({-3.0}));
}

TEST_CASE("a cast to a float of 16 bits rounds to the nearest, ties to even") {
  const TypedTensor x = vector<float>({1.0f, -2.0f, 65504.0f, 65519.0f, 65520.0f, 6e-8f, 2e-8f,
                                       1.00048828125f, 1.00146484375f, kInfinity, -0.0f, 6.1e-5f});
  const TypedTensor f16 = halves(DType::F16, {0x3c00, 0xc000, 0x7bff, 0x7bff, 0x7c00, 0x0001,
                                              0x0000, 0x3c00, 0x3c02, 0x7c00, 0x8000, 0x03ff});
  CHECK(cast(x, DType::F16) == f16);
  CHECK(cast(cast(x, DType::F16), DType::F32) ==
        vector<float>({1.0f, -2.0f, 65504.0f, 65504.0f, kInfinity, 0x1p-24f, 0.0f, 1.0f,
                       1.001953125f, kInfinity, -0.0f, 0x1.ff8p-15f}));
  CHECK(cast(vector<float>({1.0f, 3.4e38f, 1.00390625f, 1.01171875f, 1e-40f}), DType::BF16) ==
        halves(DType::BF16, {0x3f80, 0x7f80, 0x3f80, 0x3f82, 0x0001}));
  CHECK(cast(halves(DType::BF16, {0x3f80, 0xff80, 0x0001}), DType::F32) ==
        vector<float>({1.0f, -kInfinity, 0x1p-133f}));
  // Every number of 16 bits is restored; a NaN stays a NaN.
  for (DType dtype : {DType::F16, DType::BF16})
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      const auto half = static_cast<uint16_t>(bits);
      double number;
      uint16_t back;
      load_floats(dtype, &half, 1, 1, &number);
      store_floats(dtype, &number, 1, &back);
      if (back != half && !std::isnan(number)) FAIL("bits " << bits << " came back as " << back);
    }
}

TEST_CASE("cumulate adds or multiplies along an axis, from either end") {
  const auto cumulate = [](CumulateParams params, const TypedTensor& x) {
    return run_any(OpKind::Cumulate, &params, {x}, x);
  };
  const TypedTensor x = tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(cumulate({.axis = 1}, x) == tensor<float>({2, 3}, {1, 3, 6, 4, 9, 15}));
  CHECK(cumulate({.axis = 0}, x) == tensor<float>({2, 3}, {1, 2, 3, 5, 7, 9}));
  CHECK(cumulate({.axis = 1, .is_exclusive = 1}, x) == tensor<float>({2, 3}, {0, 1, 3, 0, 4, 9}));
  CHECK(cumulate({.axis = 1, .is_reverse = 1}, x) == tensor<float>({2, 3}, {6, 5, 3, 15, 11, 6}));
  CHECK(cumulate({.axis = 1, .is_exclusive = 1, .is_reverse = 1}, x) ==
        tensor<float>({2, 3}, {5, 3, 0, 11, 6, 0}));
  CHECK(cumulate({.axis = 1, .is_product = 1, .is_exclusive = 1}, x) ==
        tensor<float>({2, 3}, {1, 1, 2, 1, 4, 20}));
  CHECK(cumulate({.axis = 0}, vector<uint8_t>({200, 100, 1})) == vector<uint8_t>({200, 44, 45}));
  CHECK(cumulate({.axis = 0, .is_product = 1}, vector<uint16_t>({65535, 65535})) ==
        vector<uint16_t>({65535, 1}));
  const CumulateParams outside = {.axis = 2};
  CHECK(check({"cumulate_any_cpu", &outside, {plain({2, 3}), plain({2, 3})}}) ==
        "an axis of the output");
}

}  // namespace
}  // namespace codl::kernels
