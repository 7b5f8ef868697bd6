// Tests operators over maps and sequences: their numbers, and what their contracts refuse.
#include <cmath>
#include <random>

#include "kernels/depth_to_space/depth_to_space.h"
#include "kernels/recurrent/recurrent.h"
#include "kernels/resize/resize.h"
#include "test/kernels/step_for_tests.h"
#include "test/kernels/typed_tensor.h"
#include "test/support/catch.h"

namespace codl::test {
namespace {

using kernels::check;
using kernels::plain;

ConvNdParams unit_conv() {
  ConvNdParams params;
  params.groups = 1;
  params.stride_0 = params.stride_1 = params.stride_2 = 1;
  params.dilation_0 = params.dilation_1 = params.dilation_2 = 1;
  return params;
}

PoolNdParams unit_pool(int32_t kind, int32_t kernel) {
  PoolNdParams params;
  params.kind = kind;
  params.kernel_0 = kernel;
  params.kernel_1 = params.kernel_2 = 1;
  params.stride_0 = params.stride_1 = params.stride_2 = 1;
  params.dilation_0 = params.dilation_1 = params.dilation_2 = 1;
  return params;
}

TEST_CASE("a convolution over a line, with stride, dilation and padding") {
  ConvNdParams params = unit_conv();
  params.has_bias = 1;
  params.stride_0 = 2;
  params.dilation_0 = 2;
  params.pad_begin_0 = 1;
  // The windows are at -1, 1 and 3: 0 + 2 * 10, 2 + 4 * 10, 4 + 0.
  CHECK(run_any(OpKind::ConvNd, &params,
                {tensor<float>({1, 1, 5}, {1, 2, 3, 4, 5}), tensor<float>({1, 1, 2}, {1, 10}),
                 tensor<float>({1}, {0.5f})},
                tensor<float>({1, 1, 3}, {0, 0, 0})) ==
        tensor<float>({1, 1, 3}, {20.5f, 42.5f, 4.5f}));
}

TEST_CASE("a convolution of integers is exact, and wraps") {
  const ConvNdParams params = unit_conv();
  const auto y = tensor<int32_t>({1, 1, 2}, {16777217, -2147483648});
  CHECK(run_any(OpKind::ConvNd, &params,
                {tensor<int32_t>({1, 1, 3}, {4096, 1, 2147483647}),
                 tensor<int32_t>({1, 1, 2}, {4096, 1})},
                y) == tensor<int32_t>({1, 1, 2}, {16777217, -2147479553}));
}

TEST_CASE("a transposed convolution spreads each input over its window") {
  ConvNdParams params = unit_conv();
  params.is_transposed = 1;
  params.stride_0 = 2;
  params.pad_begin_0 = 1;
  // Adds 1 and 2 times (1, 10, 100), two apart: 1 10 102 20 200 without its first.
  CHECK(run_any(OpKind::ConvNd, &params,
                {tensor<float>({1, 1, 2}, {1, 2}), tensor<float>({1, 1, 3}, {1, 10, 100})},
                tensor<float>({1, 1, 5}, {0, 0, 0, 0, 0})) ==
        tensor<float>({1, 1, 5}, {10, 102, 20, 200, 0}));
}

TEST_CASE("a convolution's weights fit its channels and groups") {
  ConvNdParams params = unit_conv();
  const auto with = [&](std::vector<kernels::OperandShape> operands) {
    return check({"conv_nd_any_cpu", &params, std::move(operands)});
  };
  CHECK(with({plain({1, 4, 5}), plain({6, 4, 3}), plain({1, 6, 3})}) == "ok");
  CHECK(with({plain({1, 4, 5}), plain({6, 2, 3}), plain({1, 6, 3})}) == "weights for the channels");
  params.groups = 2;
  CHECK(with({plain({1, 4, 5}), plain({6, 2, 3}), plain({1, 6, 3})}) == "ok");
  CHECK(with({plain({1, 5, 5}), plain({6, 2, 3}), plain({1, 6, 3})}) ==
        "groups that divide the input and output channels");
  CHECK(with({plain({1, 4}), plain({6, 2}), plain({1, 6})}) == "operands of one rank, 3 to 5");
  params.stride_0 = 0;
  CHECK(with({plain({1, 4, 5}), plain({6, 2, 3}), plain({1, 6, 3})}) == "stride of 1 to 2^24");
}

TEST_CASE("pooling over a line") {
  const TypedTensor x = tensor<float>({1, 1, 5}, {3, -4, 0, 12, 5});
  const TypedTensor like = tensor<float>({1, 1, 4}, {0, 0, 0, 0});
  PoolNdParams params = unit_pool(kPoolNdMax, 2);
  CHECK(run_any(OpKind::PoolNd, &params, {x}, like) == tensor<float>({1, 1, 4}, {3, 0, 12, 12}));
  params.kind = kPoolNdAverage;
  CHECK(run_any(OpKind::PoolNd, &params, {x}, like) ==
        tensor<float>({1, 1, 4}, {-0.5f, -2, 6, 8.5f}));
  params.kind = kPoolNdLp;
  params.p = 2;
  CHECK(run_any(OpKind::PoolNd, &params, {x}, like) == tensor<float>({1, 1, 4}, {5, 4, 12, 13}));
}

TEST_CASE("an average counts the padding it is told to, and nothing behind it") {
  PoolNdParams params = unit_pool(kPoolNdAverage, 3);
  params.stride_0 = 2;
  params.pad_begin_0 = params.pad_end_0 = 1;
  params.ceil_mode = 1;
  const TypedTensor x = tensor<float>({1, 1, 4}, {2, 4, 6, 8});
  const TypedTensor like = tensor<float>({1, 1, 3}, {0, 0, 0});
  // The windows are at -1, 1 and 3; the last runs past the padded end by one.
  CHECK(run_any(OpKind::PoolNd, &params, {x}, like) == tensor<float>({1, 1, 3}, {3, 6, 8}));
  params.count_include_pad = 1;
  CHECK(run_any(OpKind::PoolNd, &params, {x}, like) == tensor<float>({1, 1, 3}, {2, 6, 4}));
}

TEST_CASE("a maximum of integers, and where it is") {
  PoolNdParams params = unit_pool(kPoolNdMax, 2);
  params.kernel_1 = 2;
  const TypedTensor x = tensor<int8_t>({1, 1, 2, 3}, {-5, -7, -1, -5, -6, -9});
  CHECK(run_any(OpKind::PoolNd, &params, {x}, tensor<int8_t>({1, 1, 1, 2}, {0, 0})) ==
        tensor<int8_t>({1, 1, 1, 2}, {-5, -1}));
  params.kind = kPoolNdMaxIndex;
  const TypedTensor like = tensor<int64_t>({1, 1, 1, 2}, {0, 0});
  // The first of the two -5 wins.
  CHECK(run_any(OpKind::PoolNd, &params, {x}, like) == tensor<int64_t>({1, 1, 1, 2}, {0, 2}));
  params.is_column_major = 1;
  CHECK(run_any(OpKind::PoolNd, &params, {x}, like) == tensor<int64_t>({1, 1, 1, 2}, {0, 4}));
}

TEST_CASE("a window of padding gives the lowest number") {
  PoolNdParams params = unit_pool(kPoolNdMax, 1);
  params.pad_begin_0 = params.pad_end_0 = 1;
  CHECK(run_any(OpKind::PoolNd, &params, {tensor<uint8_t>({1, 1, 1}, {7})},
                tensor<uint8_t>({1, 1, 3}, {0, 0, 0})) == tensor<uint8_t>({1, 1, 3}, {0, 7, 0}));
  CHECK(run_any(OpKind::PoolNd, &params, {tensor<int16_t>({1, 1, 1}, {7})},
                tensor<int16_t>({1, 1, 3}, {0, 0, 0})) ==
        tensor<int16_t>({1, 1, 3}, {INT16_MIN, 7, INT16_MIN}));
}

ResizeParams unit_resize(int32_t kind, int32_t coordinates, float scale) {
  ResizeParams params;
  params.kind = kind;
  params.coordinates = coordinates;
  params.nearest = kResizeRoundPreferFloor;
  params.cubic_coefficient = -0.75f;
  params.scale_0 = scale;
  return params;
}

TEST_CASE("resizing a line") {
  const TypedTensor x = tensor<float>({2}, {0, 4});
  const TypedTensor like = tensor<float>({4}, {0, 0, 0, 0});
  ResizeParams params = unit_resize(kResizeNearest, kResizeAsymmetric, 2);
  CHECK(run_any(OpKind::Resize, &params, {x}, like) == tensor<float>({4}, {0, 0, 4, 4}));
  params.nearest = kResizeCeil;
  CHECK(run_any(OpKind::Resize, &params, {x}, like) == tensor<float>({4}, {0, 4, 4, 4}));
  params = unit_resize(kResizeLinear, kResizeHalfPixel, 2);
  CHECK(run_any(OpKind::Resize, &params, {x}, like) == tensor<float>({4}, {0, 1, 3, 4}));
  params.coordinates = kResizeAsymmetric;
  CHECK(run_any(OpKind::Resize, &params, {x}, like) == tensor<float>({4}, {0, 2, 4, 4}));
}

TEST_CASE("resizing by a scale that is not in the parameters") {
  ResizeParams params = unit_resize(kResizeLinear, kResizeAsymmetric, 0);
  params.has_scales = 1;
  const TypedTensor x = tensor<float>({2}, {0, 4});
  const TypedTensor like = tensor<float>({4}, {0, 0, 0, 0});
  CHECK(run_any(OpKind::Resize, &params, {x, tensor<float>({1}, {2})}, like) ==
        tensor<float>({4}, {0, 2, 4, 4}));
  for (float scale : {0.0f, -1.0f, 1e-40f, 1e30f, __builtin_nanf(""), __builtin_inff()})
    for (int32_t is_antialias : {0, 1}) {
      params.is_antialias = is_antialias;
      CHECK(
          !run_any(OpKind::Resize, &params, {x, tensor<float>({1}, {scale})}, like).bytes.empty());
    }
}

TEST_CASE("a quotient of extents hits whole elements") {
  // ONNX Runtime takes elements 6 and 13 when 28 become 4.
  kernels::ResizeLine line;
  REQUIRE(kernels::resize_line(kResizeAsymmetric, {28, 4}, &line));
  for (int32_t o = 0; o < 4; ++o)
    CHECK(kernels::resize_nearest(line, kResizeFloor, o, 28) == 7 * o);
  REQUIRE(kernels::resize_line(kResizeHalfPixel, {20, 6}, &line));
  CHECK(kernels::resize_nearest(line, kResizeRoundPreferCeil, 4, 20) == 15);
  CHECK(kernels::resize_nearest(line, kResizeRoundPreferFloor, 4, 20) == 14);
}

TEST_CASE("positions by a scale are rounded to f32") {
  kernels::ResizeLine line;
  // 6 / 1.2: f32 has 1.2000000477 instead.
  REQUIRE(kernels::resize_line(kResizeAsymmetric, {7, 8, 1.2f}, &line));
  CHECK(kernels::resize_nearest(line, kResizeFloor, 6, 7) == 5);
  // It is not near enough to become 15, as in ONNX Runtime.
  REQUIRE(kernels::resize_line(kResizeAsymmetric, {30, 18, 0.6f}, &line));
  CHECK(kernels::resize_nearest(line, kResizeFloor, 9, 30) == 14);
  // 9 / 1.2 = 7.4999995 is half.
  REQUIRE(kernels::resize_line(kResizeAsymmetric, {9, 10, 1.2f}, &line));
  CHECK(kernels::resize_nearest(line, kResizeRoundPreferCeil, 9, 9) == 8);
  for (float scale : {-1.0f, 1e-9f, 1e9f, __builtin_nanf("")})
    CHECK_FALSE(kernels::resize_line(kResizeAsymmetric, {4, 2, scale}, &line));
  CHECK_FALSE(kernels::resize_line(kResizeTfCropAndResize, {4, 8, 2.0f}, &line));
  kernels::ResizeAxis computed = {4, 2, 0.6f};
  computed.has_whole_length = false;
  CHECK_FALSE(kernels::resize_line(kResizeAlignCorners, computed, &line));
}

// Returns the element that Nearest takes, by positions in floating point.
int32_t nearest_by_point(int32_t coordinates, const kernels::ResizeAxis& axis, int32_t nearest,
                         int32_t o) {
  const double p = kernels::resize_point(coordinates, axis, o);
  const double floor = std::floor(p);
  const bool is_next = nearest == kResizeRoundPreferFloor  ? p - floor > 0.5
                       : nearest == kResizeRoundPreferCeil ? p - floor >= 0.5
                       : nearest == kResizeCeil            ? p > floor
                                                           : false;
  return kernels::resize_clamp(static_cast<int64_t>(floor) + (is_next ? 1 : 0), axis.in);
}

TEST_CASE("positions in integers are those in floating point") {
  std::mt19937 random(7);
  const auto below = [&](uint32_t count) { return static_cast<int32_t>(random() % count); };
#ifdef CODL_SLOW_RUN
  constexpr int32_t kAxes = 200;
#else
  constexpr int32_t kAxes = 2000;
#endif
  int32_t lines = 0;
  for (int32_t i = 0; i < kAxes; ++i) {
    kernels::ResizeAxis axis;
    axis.in = 1 + below(i % 10 == 0 ? 2000 : 150);
    const int32_t how = below(4);
    if (how == 0) axis.scale = static_cast<float>(1 + below(59)) / 10;
    if (how == 1)
      axis.scale = static_cast<float>(1 + below(60)) / static_cast<float>(1 + below(60));
    if (how == 2) axis.scale = static_cast<float>(1 + below(40000)) / 10000;
    axis.out = axis.scale == 0 ? 1 + below(300) : static_cast<int32_t>(axis.in * axis.scale);
    if (axis.out < 1) continue;
    for (int32_t coordinates :
         {kResizeHalfPixel, kResizeHalfPixelSymmetric, kResizePytorchHalfPixel, kResizeAlignCorners,
          kResizeAsymmetric, kResizeTfHalfPixelForNn}) {
      kernels::ResizeLine line;
      if (!kernels::resize_line(coordinates, axis, &line)) continue;
      ++lines;
      for (int32_t o = 0; o < axis.out; ++o)
        for (int32_t nearest :
             {kResizeRoundPreferFloor, kResizeRoundPreferCeil, kResizeFloor, kResizeCeil}) {
          const int32_t found = kernels::resize_nearest(line, nearest, o, axis.in);
          const int32_t wanted = nearest_by_point(coordinates, axis, nearest, o);
          if (found == wanted) continue;
          INFO(coordinates << " " << nearest << ": " << axis.in << " to " << axis.out << " by "
                           << axis.scale << ", " << o);
          REQUIRE(found == wanted);
        }
    }
  }
  CHECK(lines > 5 * kAxes);  // nearly all have a line
}

TEST_CASE("the length that corners are aligned with") {
  // 7 elements by 1.5 become 10 in a model whose scales are known, 10.5 if an operand gives them.
  const kernels::ResizeAxis known = {7, 10, 1.5f};
  CHECK(kernels::resize_point(kResizeAlignCorners, known, 9) == 6.0);
  kernels::ResizeAxis computed = known;
  computed.has_whole_length = false;
  CHECK(kernels::resize_point(kResizeAlignCorners, computed, 9) == 9 * 6.0 / 9.5);
}

TEST_CASE("an extrapolated element of any dtype") {
  ResizeParams params = unit_resize(kResizeNearest, kResizeTfCropAndResize, 2);
  params.has_roi = 1;
  params.extrapolation_value = -3;
  CHECK(run_any(OpKind::Resize, &params,
                {tensor<int64_t>({2}, {int64_t{1} << 40, 5}), tensor<float>({2}, {0, 2})},
                tensor<int64_t>({4}, {0, 0, 0, 0})) ==
        tensor<int64_t>({4}, {int64_t{1} << 40, 5, -3, -3}));
}

TEST_CASE("a map is resized from the rows it looks at") {
  ResizeParams params = unit_resize(kResizeLinear, kResizeHalfPixel, 1);
  params.scale_1 = 1;
  params.scale_2 = params.scale_3 = 2;
  const auto with = [&](Range held, Range part) {
    return check({"resize_f32_cpu",
                  &params,
                  {kernels::nhwc({1, 3, 4, 5}, held), kernels::nhwc({1, 3, 8, 10})},
                  SplitDim::Height,
                  part});
  };
  // Row 2 lies between rows 0 and 1, row 4 between 1 and 2.
  CHECK(with({0, 3}, {2, 5}) == "ok");
  CHECK(with({1, 3}, {2, 5}) == "input rows of the part inside the operand");
  CHECK(with({0, 2}, {2, 5}) == "input rows of the part inside the operand");
  params.scale_1 = 2;
  CHECK(with({0, 4}, {2, 5}) == "rows and columns of a map, resized by constant scales");
}

TEST_CASE("blocks of channels become blocks of pixels") {
  DepthToSpaceParams params;
  params.block_h = params.block_w = 2;
  const TypedTensor x = tensor<uint8_t>({1, 4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(run_any(OpKind::DepthToSpace, &params, {x},
                tensor<uint8_t>({1, 1, 2, 4}, {0, 0, 0, 0, 0, 0, 0, 0})) ==
        tensor<uint8_t>({1, 1, 2, 4}, {1, 3, 2, 4, 5, 7, 6, 8}));
  params.crop_top = params.crop_left = 1;
  CHECK(run_any(OpKind::DepthToSpace, &params, {x}, tensor<uint8_t>({1, 1, 1, 3}, {0, 0, 0})) ==
        tensor<uint8_t>({1, 1, 1, 3}, {7, 6, 8}));
}

TEST_CASE("blocks of pixels lie inside the blocks of channels") {
  DepthToSpaceParams params;
  params.block_h = params.block_w = 2;
  params.crop_top = 1;
  const auto with = [&](std::initializer_list<int32_t> y) {
    return check(
        {"depth_to_space_f32_cpu", &params, {kernels::nhwc({1, 4, 3, 4}), kernels::nhwc(y)}});
  };
  CHECK(with({1, 1, 5, 8}) == "ok");
  CHECK(with({1, 1, 6, 8}) == "output pixels of the input's");
  CHECK(with({1, 1, 5, 9}) == "output pixels of the input's");
}

TEST_CASE("a grid names places, whatever it holds") {
  GridSampleParams params;
  params.kind = kGridSampleLinear;
  params.padding = kGridSampleZeros;
  params.aligns_corners = 1;
  const TypedTensor x = tensor<float>({1, 1, 3}, {0, 10, 20});
  const float nan = __builtin_nanf("");
  const TypedTensor grid = tensor<float>({1, 6, 1}, {-1, -0.5f, 1, 1.5f, nan, 1e30f});
  const TypedTensor like = tensor<float>({1, 1, 6}, {0, 0, 0, 0, 0, 0});
  CHECK(run_any(OpKind::GridSample, &params, {x, grid}, like) ==
        tensor<float>({1, 1, 6}, {0, 5, 20, 10, 0, 0}));
  params.padding = kGridSampleReflection;
  const TypedTensor reflected = run_any(OpKind::GridSample, &params, {x, grid}, like);
  REQUIRE(reflected.bytes.size() == 24);
  float turned_back;
  std::memcpy(&turned_back, &reflected.bytes[12], sizeof turned_back);
  CHECK(turned_back == 15);
}

TEST_CASE("a region is cut into bins") {
  RoiAlignParams params;
  params.output_h = 1;
  params.output_w = 2;
  params.sampling_ratio = 1;
  params.spatial_scale = 1;
  const TypedTensor x = tensor<float>({1, 1, 2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  // Bins of 1 x 2 pixels from (0, 0) on; samples at (0.5, 1) and (0.5, 3), between the rows.
  const TypedTensor like = tensor<float>({1, 1, 1, 2}, {0, 0});
  CHECK(run_any(OpKind::RoiAlign, &params,
                {x, tensor<float>({1, 4}, {0, 0, 4, 1}), tensor<int64_t>({1}, {0})},
                like) == tensor<float>({1, 1, 1, 2}, {3, 5}));
  for (int32_t ratio : {0, 2}) {
    params.sampling_ratio = ratio;
    const float inf = __builtin_inff();
    CHECK(!run_any(OpKind::RoiAlign, &params,
                   {x, tensor<float>({1, 4}, {-inf, 1e20f, inf, __builtin_nanf("")}),
                    tensor<int64_t>({1}, {INT64_MIN})},
                   like)
               .bytes.empty());
  }
  params.sampling_ratio = 1 << 20;
  CHECK(check({"roi_align_any_cpu",
               &params,
               {plain({1, 1, 2, 4}), plain({1, 4}), tensor<int64_t>({1}, {0}).shape,
                plain({1, 1, 1, 2})}}) == "a sampling ratio of 0 to 1024");
}

TEST_CASE("a recurrent network remembers, up to the length of each sequence") {
  RecurrentParams params;
  params.kind = kRecurrentRnn;
  params.has_lengths = 1;
  params.activation_0 = kUnaryIdentity;
  // h = x + 10 h; the second sequence has one step.
  const std::vector<TypedTensor> inputs = {
      tensor<float>({2, 2, 1}, {1, 2, 3, 4}), tensor<float>({1, 1, 1}, {1}),
      tensor<float>({1, 1, 1}, {10}), tensor<int64_t>({2}, {2, 1})};
  const TypedTensor like = tensor<float>({4, 1, 2, 1}, {0, 0, 0, 0, 0, 0, 0, 0});
  CHECK(run_any(OpKind::Recurrent, &params, inputs, like) ==
        tensor<float>({4, 1, 2, 1}, {1, 2, 13, 0, 13, 2, 0, 0}));
  params.direction = 1;
  CHECK(run_any(OpKind::Recurrent, &params, inputs, like) ==
        tensor<float>({4, 1, 2, 1}, {31, 2, 3, 0, 31, 2, 0, 0}));
}

TEST_CASE("a recurrent network's operands fit each other") {
  RecurrentParams params;
  params.kind = kRecurrentGru;
  params.has_bias = 1;
  const auto with = [&](std::vector<kernels::OperandShape> operands) {
    return check({"recurrent_any_cpu", &params, std::move(operands)});
  };
  CHECK(with({plain({5, 2, 3}), plain({1, 12, 3}), plain({1, 12, 4}), plain({1, 24}),
              plain({7, 1, 2, 4})}) == "ok");
  CHECK(with({plain({5, 2, 3}), plain({1, 12, 3}), plain({1, 12, 4}), plain({1, 12}),
              plain({7, 1, 2, 4})}) == "a bias [d, 2 * g * h]");
  CHECK(with({plain({5, 2, 3}), plain({1, 16, 3}), plain({1, 16, 4}), plain({1, 24}),
              plain({7, 1, 2, 4})}) == "weights [d, g * h, i]");
  CHECK(with({plain({5, 2, 3}), plain({1, 12, 3}), plain({1, 12, 4}), plain({1, 24}),
              plain({5, 1, 2, 4})}) == "an output [s + 2, d, b, h]");
  params.has_c0 = 1;
  CHECK(with({plain({5, 2, 3}), plain({1, 12, 3}), plain({1, 12, 4}), plain({1, 24}),
              plain({1, 2, 4}), plain({7, 1, 2, 4})}) == "cell states and peepholes of an Lstm");
}

}  // namespace
}  // namespace codl::test
