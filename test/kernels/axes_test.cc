// Tests operators over axes: their numbers, by hand or from numpy, and what the contracts refuse.
#include <cmath>
#include <limits>

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

std::vector<float> floats_of(const TypedTensor& tensor) {
  std::vector<float> floats(tensor.bytes.size() / sizeof(float));
  std::memcpy(floats.data(), tensor.bytes.data(), tensor.bytes.size());
  return floats;
}

TypedTensor reduce(int32_t kind, int32_t axes_mask, const TypedTensor& x, const TypedTensor& like,
                   int32_t takes_last = 0) {
  const ReduceParams params = {.kind = kind, .axes_mask = axes_mask, .takes_last = takes_last};
  return run_any(OpKind::Reduce, &params, {x}, like);
}

// ---- Reduce -------------------------------------------------------------------------------------

TEST_CASE("reductions of a small matrix") {
  const auto x = tensor<float>({2, 3}, {1, -2, 3, 4, 5, -6});
  const auto rows = [&](int32_t kind) {
    return floats_of(reduce(kind, 2, x, tensor<float>({2, 1}, {0, 0})));
  };
  const auto columns = [&](int32_t kind) {
    return floats_of(reduce(kind, 1, x, tensor<float>({1, 3}, {0, 0, 0})));
  };
  CHECK(rows(kReduceSum) == std::vector<float>{2, 3});
  CHECK(columns(kReduceSum) == std::vector<float>{5, 3, -3});
  CHECK(rows(kReduceMean) == std::vector<float>{2.0f / 3, 1});
  CHECK(columns(kReduceMean) == std::vector<float>{2.5f, 1.5f, -1.5f});
  CHECK(rows(kReduceMax) == std::vector<float>{3, 5});
  CHECK(columns(kReduceMin) == std::vector<float>{1, -2, -6});
  CHECK(rows(kReduceProd) == std::vector<float>{-6, -120});
  CHECK(rows(kReduceL1) == std::vector<float>{6, 15});
  CHECK(columns(kReduceL1) == std::vector<float>{5, 7, 9});
  CHECK(rows(kReduceL2) == std::vector<float>{std::sqrt(14.0f), std::sqrt(77.0f)});
  CHECK(rows(kReduceSumSquare) == std::vector<float>{14, 77});
  CHECK(rows(kReduceLogSum) == std::vector<float>{std::log(2.0f), std::log(3.0f)});
  const auto powers = floats_of(reduce(kReduceLogSumExp, 3, x, tensor<float>({1, 1}, {0})));
  CHECK(std::fabs(powers[0] - 5.4203f) < 1e-4f);
}

TEST_CASE("an empty mask reduces every element alone") {
  const auto x = tensor<float>({2}, {-3, 4});
  CHECK(reduce(kReduceSum, 0, x, x) == x);
  CHECK(reduce(kReduceMax, 0, x, x) == x);
  CHECK(reduce(kReduceL2, 0, x, x) == tensor<float>({2}, {3, 4}));
  const auto scalar = tensor<int32_t>({}, {-7});
  CHECK(reduce(kReduceL1, 0, scalar, scalar) == tensor<int32_t>({}, {7}));
}

TEST_CASE("long sums keep their digits") {
  TypedTensor x = tensor<float>({1}, {0});
  constexpr int32_t kCount = 1 << 20;
  x.shape.dims[0] = kCount;
  x.bytes.resize(kCount * sizeof(float));
  x.shape.bytes = x.bytes.size();
  for (size_t i = 0; i < kCount; ++i) {
    const float element = 0.1f;
    std::memcpy(&x.bytes[i * sizeof(float)], &element, sizeof element);
  }
  const auto one = tensor<float>({1}, {0});
  CHECK(std::fabs(floats_of(reduce(kReduceMean, 1, x, one))[0] - 0.1f) < 1e-7f);
  CHECK(std::fabs(floats_of(reduce(kReduceLogSumExp, 1, x, one))[0] -
                  (std::log(static_cast<float>(kCount)) + 0.1f)) < 1e-5f);
}

TEST_CASE("powers of large numbers do not overflow") {
  const auto one = tensor<float>({1}, {0});
  const auto sum = [&](float a, float b) {
    return floats_of(reduce(kReduceLogSumExp, 1, tensor<float>({2}, {a, b}), one))[0];
  };
  CHECK(std::fabs(sum(1000, 1000) - (1000 + std::log(2.0f))) < 1e-3f);
  CHECK(sum(-kInfinity, -kInfinity) == -kInfinity);
  CHECK(sum(kInfinity, 1) == kInfinity);
  CHECK(std::isnan(sum(kNan, 1)));
}

TEST_CASE("integers wrap, divide towards zero and take roots downwards") {
  const auto i8 = [](int32_t kind, int8_t a, int8_t b) {
    return reduce(kind, 1, tensor<int8_t>({2}, {a, b}), tensor<int8_t>({1}, {0}));
  };
  CHECK(i8(kReduceSum, 100, 100) == tensor<int8_t>({1}, {-56}));
  CHECK(i8(kReduceMean, 100, 101) == tensor<int8_t>({1}, {100}));
  CHECK(i8(kReduceMean, -2, -1) == tensor<int8_t>({1}, {-1}));
  CHECK(i8(kReduceProd, 16, 16) == tensor<int8_t>({1}, {0}));
  CHECK(i8(kReduceL1, -128, 0) == tensor<int8_t>({1}, {-128}));
  CHECK(i8(kReduceL2, 3, -4) == tensor<int8_t>({1}, {5}));
  CHECK(i8(kReduceL2, 3, 3) == tensor<int8_t>({1}, {4}));
  CHECK(i8(kReduceL2, 127, 127) == tensor<int8_t>({1}, {127}));  // saturates
  CHECK(i8(kReduceLogSum, 0, 0) == tensor<int8_t>({1}, {-128}));
  constexpr uint64_t kHalf = uint64_t{1} << 63;
  const auto u64 = [](int32_t kind, uint64_t a, uint64_t b) {
    return reduce(kind, 1, tensor<uint64_t>({2}, {a, b}), tensor<uint64_t>({1}, {0}));
  };
  CHECK(u64(kReduceMax, 1, kHalf) == tensor<uint64_t>({1}, {kHalf}));
  CHECK(u64(kReduceMin, kHalf, 1) == tensor<uint64_t>({1}, {1}));
  CHECK(u64(kReduceSum, kHalf, kHalf) == tensor<uint64_t>({1}, {0}));
  CHECK(u64(kReduceMean, kHalf, 2) == tensor<uint64_t>({1}, {kHalf / 2 + 1}));
  CHECK(u64(kReduceL1, kHalf, 1) == tensor<uint64_t>({1}, {kHalf + 1}));
  const auto i64 = tensor<int64_t>({2}, {INT64_MIN, INT64_MAX});
  const auto one = tensor<int64_t>({1}, {0});
  CHECK(reduce(kReduceMin, 1, i64, one) == tensor<int64_t>({1}, {INT64_MIN}));
  CHECK(reduce(kReduceMax, 1, i64, one) == tensor<int64_t>({1}, {INT64_MAX}));
  CHECK(reduce(kReduceMean, 1, i64, one) == tensor<int64_t>({1}, {0}));
  const auto u16 = tensor<uint16_t>({3}, {65535, 0, 7});
  CHECK(reduce(kReduceMax, 1, u16, tensor<uint16_t>({1}, {0})) == tensor<uint16_t>({1}, {65535}));
}

TEST_CASE("or and and of bools") {
  const auto x = tensor<bool>({2, 2}, {true, false, false, false});
  const auto rows = tensor<bool>({2, 1}, {true, false});
  CHECK(reduce(kReduceMax, 2, x, rows) == rows);
  CHECK(reduce(kReduceMin, 2, x, rows) == tensor<bool>({2, 1}, {false, false}));
}

TEST_CASE("a NaN is the maximum and the minimum") {
  for (int32_t kind : {kReduceMax, kReduceMin}) {
    const auto x = tensor<float>({3, 2}, {1, 2, kNan, 5, 0, 3});
    const auto found = floats_of(reduce(kind, 1, x, tensor<float>({1, 2}, {0, 0})));
    CHECK(std::isnan(found[0]));
    CHECK(found[1] == (kind == kReduceMax ? 5 : 2));
  }
  const auto infinite = tensor<float>({2}, {-kInfinity, -kInfinity});
  CHECK(floats_of(reduce(kReduceMax, 1, infinite, tensor<float>({1}, {0})))[0] == -kInfinity);
}

TEST_CASE("doubles are reduced as such") {
  const auto x = tensor<double>({2, 2}, {16777216, 1, 3, 16777217});
  const auto like = tensor<double>({1, 2}, {0, 0});
  CHECK(reduce(kReduceSum, 1, x, like) == tensor<double>({1, 2}, {16777219, 16777218}));
  CHECK(reduce(kReduceMax, 1, x, like) == tensor<double>({1, 2}, {16777216, 16777217}));
  CHECK(reduce(kReduceArgMax, 2, x, tensor<int64_t>({2, 1}, {0, 0})) ==
        tensor<int64_t>({2, 1}, {0, 1}));
  const CumulateParams sums = {.axis = 1};
  CHECK(run_any(OpKind::Cumulate, &sums, {x}, x) ==
        tensor<double>({2, 2}, {16777216, 16777217, 3, 16777220}));
}

TEST_CASE("places of the largest and the smallest") {
  const auto x = tensor<int32_t>({2, 4}, {2, 7, 7, 1, -3, -3, -5, -5});
  const auto places = [&](int32_t kind, int32_t takes_last) {
    return reduce(kind, 2, x, tensor<int64_t>({2, 1}, {0, 0}), takes_last);
  };
  CHECK(places(kReduceArgMax, 0) == tensor<int64_t>({2, 1}, {1, 0}));
  CHECK(places(kReduceArgMax, 1) == tensor<int64_t>({2, 1}, {2, 1}));
  CHECK(places(kReduceArgMin, 0) == tensor<int64_t>({2, 1}, {3, 2}));
  CHECK(places(kReduceArgMin, 1) == tensor<int64_t>({2, 1}, {3, 3}));
  CHECK(reduce(kReduceArgMax, 1, x, tensor<int64_t>({1, 4}, {0, 0, 0, 0})) ==
        tensor<int64_t>({1, 4}, {0, 0, 0, 0}));
  const auto nan = tensor<float>({4}, {1, kNan, 9, kNan});
  const auto one = tensor<int64_t>({1}, {0});
  CHECK(reduce(kReduceArgMax, 1, nan, one) == tensor<int64_t>({1}, {1}));
  CHECK(reduce(kReduceArgMin, 1, nan, one, 1) == tensor<int64_t>({1}, {3}));
  // The line is longer than the kernel's lanes: equal elements lie in different lanes.
  TypedTensor line = tensor<uint8_t>({1}, {0});
  line.shape.dims[0] = 300;
  line.bytes.assign(300, 5);
  line.shape.bytes = 300;
  line.bytes[129] = line.bytes[140] = line.bytes[257] = 9;
  CHECK(reduce(kReduceArgMax, 1, line, one) == tensor<int64_t>({1}, {129}));
  CHECK(reduce(kReduceArgMax, 1, line, one, 1) == tensor<int64_t>({1}, {257}));
}

TEST_CASE("what a reduction refuses") {
  const auto refused = [](int32_t kind, int32_t mask, OperandShape x, OperandShape y) {
    const ReduceParams params = {.kind = kind, .axes_mask = mask};
    return check({"reduce_any_cpu", &params, {x, y}});
  };
  OperandShape indices = plain({2, 1});
  indices.dtype = DType::I64;
  indices.bytes = 16;
  CHECK(refused(kReduceSum, 2, plain({2, 3}), plain({2, 1})) == "ok");
  CHECK(refused(kReduceArgMax, 2, plain({2, 3}), indices) == "ok");
  CHECK(refused(kReduceSum, 2, plain({2, 3}), plain({2, 3})) == "reduced axes of 1");
  CHECK(refused(kReduceSum, 4, plain({2, 3}), plain({2, 3})) == "a mask of the input's axes");
  CHECK(refused(kReduceSum, -1, plain({2, 3}), plain({1, 1})) == "a mask of the input's axes");
  CHECK(refused(0, 2, plain({2, 3}), plain({2, 1})) == "a Reduce member as kind");
  CHECK(refused(13, 2, plain({2, 3}), plain({2, 1})) == "a Reduce member as kind");
  CHECK(refused(kReduceSum, 2, plain({2, 3}), indices) == "an output of the input's dtype");
  CHECK(refused(kReduceArgMax, 2, plain({2, 3}), plain({2, 1})) == "indices of i64");
  CHECK(refused(kReduceArgMax, 3, plain({2, 3}), plain({1, 1})) ==
        "one axis for ArgMax and ArgMin");
  CHECK(refused(kReduceSum, 4, nhwc({1, 3, 2, 2}), plain({1, 3, 1, 2})) == "plain operands");
}

// ---- TopK ---------------------------------------------------------------------------------------

TypedTensor top_k(const TypedTensor& x, int32_t axis, int32_t k, int32_t is_smallest,
                  const TypedTensor& like) {
  const TopKParams params = {.axis = axis, .k = k, .is_smallest = is_smallest};
  return run_any(OpKind::TopK, &params, {x}, like);
}

TEST_CASE("the best in order, the lower place first among equals") {
  const auto x = tensor<float>({2, 5}, {1, 3, 3, 2, 3, -1, -0.0f, 0, 5, -7});
  CHECK(top_k(x, 1, 4, 0, tensor<int64_t>({2, 4}, {0, 0, 0, 0, 0, 0, 0, 0})) ==
        tensor<int64_t>({2, 4}, {1, 2, 4, 3, 3, 1, 2, 0}));
  CHECK(top_k(x, 1, 2, 1, tensor<int64_t>({2, 2}, {0, 0, 0, 0})) ==
        tensor<int64_t>({2, 2}, {0, 3, 4, 0}));
  CHECK(top_k(x, 0, 1, 0, tensor<int64_t>({1, 5}, {0, 0, 0, 0, 0})) ==
        tensor<int64_t>({1, 5}, {0, 0, 0, 1, 0}));
  const auto all = tensor<int64_t>({5}, {4, 2, 0, 1, 3});
  CHECK(top_k(tensor<int8_t>({5}, {1, 0, 2, -128, 127}), 0, 5, 0, all) == all);
}

TEST_CASE("NaN is the largest, and whole ranges are in order") {
  const auto nan = tensor<float>({4}, {kInfinity, kNan, -kInfinity, kNan});
  const auto four = tensor<int64_t>({4}, {0, 0, 0, 0});
  CHECK(top_k(nan, 0, 4, 0, four) == tensor<int64_t>({4}, {1, 3, 0, 2}));
  CHECK(top_k(nan, 0, 4, 1, four) == tensor<int64_t>({4}, {2, 0, 1, 3}));
  const auto u64 = tensor<uint64_t>({4}, {0, UINT64_MAX, 1, uint64_t{1} << 63});
  CHECK(top_k(u64, 0, 4, 0, four) == tensor<int64_t>({4}, {1, 3, 2, 0}));
  const auto i64 = tensor<int64_t>({4}, {INT64_MIN, INT64_MAX, -1, 0});
  CHECK(top_k(i64, 0, 4, 1, four) == tensor<int64_t>({4}, {0, 2, 3, 1}));
  const auto f64 = tensor<double>({4}, {16777216, 16777217, double{kNan}, -16777217});
  CHECK(top_k(f64, 0, 4, 0, four) == tensor<int64_t>({4}, {2, 1, 0, 3}));
}

TEST_CASE("what TopK refuses") {
  const auto refused = [](int32_t axis, int32_t k, OperandShape y) {
    const TopKParams params = {.axis = axis, .k = k};
    y.dtype = DType::I64;
    y.bytes *= 2;
    return check({"top_k_any_cpu", &params, {plain({2, 3}), y}});
  };
  CHECK(refused(1, 2, plain({2, 2})) == "ok");
  CHECK(refused(1, 4, plain({2, 4})) == "k of 1 to the axis' extent");
  CHECK(refused(1, 0, plain({2, 1})) == "k of 1 to the axis' extent");
  CHECK(refused(2, 1, plain({2, 1})) == "an axis of the input");
  CHECK(refused(1, 2, plain({2, 3})) == "an output of the input's dims with k on the axis");
}

// ---- BatchMatMul --------------------------------------------------------------------------------

TEST_CASE("products of integers wrap, whatever the order of the operands") {
  const auto product = [](int32_t a_order, int32_t b_order, const TypedTensor& a,
                          const TypedTensor& b, const TypedTensor& like) {
    const BatchMatMulParams params = {.is_a_transposed = a_order, .is_b_transposed = b_order};
    return run_any(OpKind::BatchMatMul, &params, {a, b}, like);
  };
  const auto a = tensor<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto a_turned = tensor<int32_t>({3, 2}, {1, 4, 2, 5, 3, 6});
  const auto b = tensor<int32_t>({3, 2}, {7, -8, 9, 10, 11, 12});
  const auto b_turned = tensor<int32_t>({2, 3}, {7, 9, 11, -8, 10, 12});
  const auto y = tensor<int32_t>({2, 2}, {58, 48, 139, 90});
  CHECK(product(0, 0, a, b, y) == y);
  CHECK(product(1, 0, a_turned, b, y) == y);
  CHECK(product(0, 1, a, b_turned, y) == y);
  CHECK(product(1, 1, a_turned, b_turned, y) == y);
  const auto bytes = tensor<int8_t>({1, 2}, {100, -100});
  CHECK(product(0, 1, bytes, bytes, tensor<int8_t>({1, 1}, {0})) == tensor<int8_t>({1, 1}, {32}));
  const auto large = tensor<uint16_t>({1, 1}, {65535});
  CHECK(product(0, 0, large, large, large) == tensor<uint16_t>({1, 1}, {1}));
  const auto longs = tensor<int64_t>({2, 1, 1}, {INT64_MIN, 3});
  CHECK(product(0, 0, longs, tensor<int64_t>({1, 1}, {2}), longs) ==
        tensor<int64_t>({2, 1, 1}, {0, 6}));
}

TEST_CASE("what BatchMatMul refuses") {
  const auto refused = [](const char* symbol, OperandShape a, OperandShape b, OperandShape y) {
    const BatchMatMulParams params;
    return check({symbol, &params, {a, b, y}});
  };
  for (const char* symbol :
       {"batch_matmul_f32_cpu", "batch_matmul_f32_cl_buffer", "batch_matmul_any_cpu"}) {
    CHECK(refused(symbol, plain({4, 2, 3}), plain({3, 5}), plain({4, 2, 5})) == "ok");
    CHECK(refused(symbol, plain({2, 3}), plain({4, 5}), plain({2, 5})) ==
          "operands of one inner dim");
    CHECK(refused(symbol, plain({2, 3}), plain({3, 5}), plain({2, 6})) == "an output of [m, n]");
    CHECK(refused(symbol, plain({3}), plain({3, 5}), plain({1, 5})) ==
          "operands of rank 2 or more");
    CHECK(refused(symbol, plain({2, 2, 3}), plain({3, 3, 5}), plain({3, 2, 5})) ==
          "batch dims that broadcast");
    CHECK(refused(symbol, plain({1, 2, 3}), plain({3, 3, 5}), plain({1, 2, 5})) ==
          "an output of the broadcast batch");
    CHECK(refused(symbol, plain({2, 3}), plain({3, 5}), plain({1, 2, 5})) ==
          "an output of the larger rank");
  }
}

TEST_CASE("a tile of the buffer kernel of BatchMatMul has local sizes, and 4 or 8 columns") {
  const BatchMatMulParams params;
  const auto with_tile = [&](std::vector<int32_t> tile) {
    return check({"batch_matmul_f32_cl_buffer",
                  &params,
                  {plain({2, 3}), plain({3, 5}), plain({2, 5})},
                  SplitDim::None,
                  {},
                  std::move(tile)});
  };
  for (const int32_t columns : {4, 8}) CHECK(with_tile({4, 4, 4, columns}) == "ok");
  CHECK(with_tile({32, 2, 1}) == "ok");
  for (const int32_t columns : {INT32_MIN, -4, 0, 1, 5, 16, INT32_MAX})
    CHECK(with_tile({4, 4, 4, columns}) == "4 or 8 columns of a work-item");
  CHECK(with_tile({0, 4, 4, 4}) == "local sizes of 1 to 1024");
  CHECK(with_tile({1024, 1024, 1, 8}) == "at most 1024 work-items in a group");
  for (const auto& tile : {std::vector<int32_t>{4}, {4, 4, 4, 4, 4}})
    CHECK(with_tile(tile) == "no tile, or the three local sizes, for a GPU kernel");
}

TEST_CASE("a product is many tasks if it is long") {
  const BatchMatMulParams params;
  const auto tasks = [&](OperandShape a, OperandShape b, OperandShape y) {
    return task_count({"batch_matmul_f32_cpu", &params, {a, b, y}});
  };
  CHECK(tasks(plain({2, 3}), plain({3, 5}), plain({2, 5})) == 1);
  // Attention has two products: 3 heads, 7 and 2 blocks of columns.
  CHECK(tasks(plain({3, 197, 64}), plain({3, 64, 197}), plain({3, 197, 197})) == 32);
  CHECK(tasks(plain({3, 197, 197}), plain({3, 197, 64}), plain({3, 197, 64})) == 18);
}

// ---- Normalize and Softmax ----------------------------------------------------------------------

TEST_CASE("a normalized row has mean 0 and variance 1") {
  NormalizeParams params = {.axes_mask = 2};
  const auto x = tensor<float>({2, 2}, {1, 3, 1001, 1003});
  CHECK(run_any(OpKind::Normalize, &params, {x}, x) == tensor<float>({2, 2}, {-1, 1, -1, 1}));
  params.is_rms = 1;
  params.has_scale = 1;
  const auto row = tensor<float>({1, 2}, {3, 4});
  const auto found =
      floats_of(run_any(OpKind::Normalize, &params, {row, tensor<float>({2}, {1, 10})}, row));
  CHECK(std::fabs(found[0] - 3 / std::sqrt(12.5f)) < 1e-6f);
  CHECK(std::fabs(found[1] - 40 / std::sqrt(12.5f)) < 1e-5f);
}

TEST_CASE("what Normalize refuses") {
  const auto refused = [](int32_t mask, OperandShape x, OperandShape scale, OperandShape y) {
    const NormalizeParams params = {.axes_mask = mask, .has_scale = 1};
    return check({"normalize_f32_cpu", &params, {x, scale, y}});
  };
  const OperandShape map = nhwc({1, 3, 4, 5});
  CHECK(refused(12, map, plain({3, 1, 1}), map) == "ok");
  CHECK(refused(12, map, plain({4, 1, 1}), map) ==
        "plain scale and bias that broadcast to the input");
  CHECK(refused(12, map, nhwc({1, 3, 1, 1}), map) ==
        "plain scale and bias that broadcast to the input");
  CHECK(refused(2, plain({2, 3}), plain({1, 2, 3}), plain({2, 3})) ==
        "plain scale and bias that broadcast to the input");
  CHECK(refused(0, map, plain({1}), map) == "a mask of the input's axes");
  CHECK(refused(16, map, plain({1}), map) == "a mask of the input's axes");
  CHECK(refused(12, nhwc({1, 3, 4, 5}, {1, 4}), plain({1}), map) == "all rows in memory");
  CHECK(refused(12, plain({1, 3, 4, 5}), plain({1}), map) == "input and output of one layout");
  CHECK(refused(2, plain({2, 3}), plain({3}), plain({3, 3})) ==
        "input and output of the same dims");
}

TEST_CASE("a Normalize takes no activation but a function of f32") {
  const auto refused = [](int32_t activation) {
    const NormalizeParams params = {.axes_mask = 2, .activation = activation};
    return check({"normalize_f32_cpu", &params, {plain({2, 3}), plain({2, 3})}});
  };
  CHECK(refused(kUnaryTanh) == "ok");
  CHECK(refused(kUnaryIsNan) == "an activation of Unary");
  CHECK(refused(-1) == "an activation of Unary");
}

TEST_CASE("parts of a Normalize are channels of pixels that each have means of their own") {
  const auto refused = [](int32_t mask, const OperandShape& x, SplitDim dim, Range part) {
    const NormalizeParams params = {.axes_mask = mask};
    return check({"normalize_f32_cpu", &params, {x, x}, dim, part});
  };
  const char* const whole = "channels of pixels, each with means of its own, for a part of them";
  const OperandShape map = nhwc({2, 40, 4, 5});
  CHECK(refused(12, map, SplitDim::OutputChannel, {16, 40}) == "ok");
  CHECK(refused(13, map, SplitDim::OutputChannel, {0, 32}) == "ok");
  CHECK(refused(2, map, SplitDim::OutputChannel, {16, 40}) == whole);
  CHECK(refused(14, map, SplitDim::OutputChannel, {16, 40}) == whole);
  CHECK(refused(12, plain({2, 40, 4, 5}), SplitDim::OutputChannel, {16, 40}) == whole);
  CHECK(refused(12, map, SplitDim::OutputChannel, {16, 40 + 16}) ==
        "channels of the part inside the output");
  CHECK(refused(12, map, SplitDim::Height, {0, 2}) == "a kernel that can compute such a part");
}

TEST_CASE("a GPU takes three groups of axes of a kind") {
  const auto refused = [](int32_t mask) {
    const NormalizeParams params = {.axes_mask = mask};
    const OperandShape x = plain({2, 2, 2, 2, 2, 2, 2, 2});
    return check({"normalize_f32_cl_buffer", &params, {x, x}});
  };
  CHECK(refused(0b10101010) == "at most 3 groups of axes on a GPU");
  CHECK(refused(0b01010101) == "at most 3 groups of axes on a GPU");
  CHECK(refused(0b00101010) == "ok");
}

// Returns a vector kernel's result for one line of floats.
std::vector<float> run_line(const char* symbol, const void* params, std::vector<float> x) {
  const OperandShape shape = plain({static_cast<int32_t>(x.size())});
  std::vector<float> y(x.size());
  const TensorView views[2] = {make_view(shape, x.data()), make_view(shape, y.data())};
  KernelArgs args;
  args.params = params;
  args.operands = views;
  args.operand_count = 2;
  args.task_end = 1;
  for (const KernelInfo& kernel : kKernelInfos)
    if (std::string_view(symbol) == kernel.symbol) cpu_kernel(kernel)(args);
  return y;
}

// A mean's distances are first taken from the mean of its first elements.
TEST_CASE("a variance keeps its digits where a run begins far from its mean") {
  for (int32_t count : {700, 3000}) {  // one piece, two pieces
    std::vector<float> x(static_cast<size_t>(count));
    for (size_t i = 0; i < x.size(); ++i) x[i] = i < 16 ? 1e4f : 3.0f + static_cast<float>(i % 7);
    double mean = 0;
    double squares = 0;
    for (float each : x) mean += static_cast<double>(each) / count;
    for (float each : x)
      squares += (static_cast<double>(each) - mean) * (static_cast<double>(each) - mean);
    const NormalizeParams params = {.axes_mask = 1};
    const std::vector<float> y = run_line("normalize_f32_cpu", &params, x);
    for (size_t i = 0; i < x.size(); ++i) {
      const double expected = (static_cast<double>(x[i]) - mean) / std::sqrt(squares / count);
      CHECK(std::fabs(static_cast<double>(y[i]) - expected) < 1e-5 * (1 + std::fabs(expected)));
    }
  }
}

TEST_CASE("a NaN among the powers is in every result, minus infinity in none") {
  for (int32_t is_log : {0, 1}) {
    const SoftmaxParams params = {.axis = 0, .is_log = is_log};
    for (float each : run_line("softmax_f32_cpu", &params, {1, kNan, 3, 2}))
      CHECK(std::isnan(each));
    const auto masked = run_line("softmax_f32_cpu", &params, {1, -kInfinity, 1, -kInfinity});
    CHECK(std::fabs(masked[0] - (is_log ? std::log(0.5f) : 0.5f)) < 1e-6f);
    CHECK(masked[1] == (is_log ? -kInfinity : 0.0f));
    const auto large = run_line("softmax_f32_cpu", &params, {1e4f, 1e4f, 0});
    CHECK(std::fabs(large[1] - (is_log ? std::log(0.5f) : 0.5f)) < 1e-6f);
    CHECK(large[2] == (is_log ? -1e4f + std::log(0.5f) : 0.0f));
  }
}

}  // namespace
}  // namespace codl::kernels
