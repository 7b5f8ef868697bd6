// Tests the kernels of 8-bit operands, on every instruction set of this processor, on random shapes
// whose results are exact: all scales are powers of two. So every byte must be the one that
// integers give, and so must every float.
#include <cmath>

#include "kernels/common/gemm/weight_grid.h"
#include "test/kernels/conv_case.h"
#include "test/kernels/cpu_runner.h"
#include "test/support/catch.h"

namespace codl::test {
namespace {

class ByteDice {
 public:
  explicit ByteDice(uint32_t seed) : random_(seed) {}
  // Returns a number in [low, high].
  int32_t roll(int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(random_);
  }
  bool one_in(int32_t count) { return roll(1, count) == 1; }
  // Returns a byte, often one of the extremes.
  int32_t byte() { return one_in(6) ? (one_in(2) ? -128 : 127) : roll(-128, 127); }

 private:
  std::mt19937 random_;
};

OperandShape as_bytes(OperandShape shape, float scale, int32_t zero_point) {
  shape.dtype = DType::I8;
  shape.scale = scale;
  shape.zero_point = zero_point;
  shape.bytes = kernels::stored_bytes(shape);
  return shape;
}

// Holds a step with its numbers: those of x, the residual and the weights as integers.
struct ByteStep {
  KernelCase item;
  std::vector<int32_t> x;  // [n][c][h][w]
  std::vector<int32_t> w;  // as ONNX has them
  std::vector<float> weight_scales;
  std::vector<float> bias;
  std::vector<int32_t> residual;  // as y
};

int64_t index_in(const OperandShape& shape, int64_t n, int64_t c, int64_t h, int64_t w) {
  if (shape.rank == 2) return n * shape.dims[1] + c;
  return ((n * shape.dims[1] + c) * shape.dims[2] + h) * shape.dims[3] + w;
}

// Calls with the place of each element that the memory holds, and its index in the value.
template <class Function>
void for_each_held(const OperandShape& shape, const Function& call) {
  int64_t strides[kMaxRank];
  kernels::strides_of(shape, strides);
  if (shape.rank == 2) {
    for (int64_t i = 0; i < kernels::element_count(shape); ++i)
      call(i, i, i % shape.dims[1], int64_t{0});
    return;
  }
  const int64_t lanes =
      shape.layout == Layout::Nhwc ? kernels::padded_channels(shape) : shape.dims[1];
  for (int64_t n = 0; n < shape.dims[0]; ++n)
    for (int64_t h = shape.row_begin; h < shape.row_end; ++h)
      for (int64_t w = 0; w < shape.dims[3]; ++w)
        for (int64_t c = 0; c < lanes; ++c)
          call(n * strides[0] + (h - shape.row_begin) * strides[2] + w * strides[3] + c,
               c < shape.dims[1] ? index_in(shape, n, c, h, w) : -1, c, h);
}

// Writes integers as the operand holds them, pad lanes with the zero point.
void write(const OperandShape& shape, const std::vector<int32_t>& integers, void* to) {
  for_each_held(shape, [&](int64_t place, int64_t index, int64_t, int64_t) {
    if (shape.dtype == DType::I8)
      static_cast<int8_t*>(to)[place] =
          static_cast<int8_t>(index < 0 ? shape.zero_point : integers[static_cast<size_t>(index)]);
    else
      static_cast<float*>(to)[place] =
          index < 0 ? 0 : static_cast<float>(integers[static_cast<size_t>(index)]);
  });
}

double real_of(const OperandShape& shape, int32_t integer) {
  return shape.dtype == DType::I8 ? double{shape.scale} * (integer - shape.zero_point) : integer;
}

double activate(double v, int32_t kind, double alpha, double beta) {
  if (kind == kUnaryRelu) return v < 0 ? 0 : v;
  if (kind == kUnaryClip) return std::min(std::max(v, alpha), beta);
  if (kind == kUnaryHardSigmoid) return std::min(std::max(alpha * v + beta, 0.0), 1.0);
  if (kind == kUnaryQuantize8)
    return alpha * std::min(std::max(std::nearbyint(v / alpha), -beta), 255 - beta);
  return v;
}

// Returns the sum of (qx - zx) qw for an output.
int64_t sum_of(const ByteStep& step, int64_t n, int64_t oc, int64_t oh, int64_t ow) {
  const OperandShape& x = step.item.operands[0];
  const OperandShape& w = step.item.operands[1];
  int64_t sum = 0;
  if (x.rank == 2) {
    for (int64_t k = 0; k < x.dims[1]; ++k)
      sum += int64_t{step.x[static_cast<size_t>(n * x.dims[1] + k)] - x.zero_point} *
             step.w[static_cast<size_t>(k * w.dims[1] + oc)];
    return sum;
  }
  const auto add = [&](const auto& params, int64_t first_channel) {
    for (int64_t ic = 0; ic < w.dims[1]; ++ic)
      for (int64_t i = 0; i < w.dims[2]; ++i)
        for (int64_t j = 0; j < w.dims[3]; ++j) {
          const int64_t row = oh * params.stride_h - params.pad_top + i * params.dilation_h;
          const int64_t column = ow * params.stride_w - params.pad_left + j * params.dilation_w;
          if (row < 0 || row >= x.dims[2] || column < 0 || column >= x.dims[3]) continue;
          const auto at = static_cast<size_t>(index_in(x, n, first_channel + ic, row, column));
          sum +=
              int64_t{step.x[at] - x.zero_point} *
              step.w[static_cast<size_t>(((oc * w.dims[1] + ic) * w.dims[2] + i) * w.dims[3] + j)];
        }
  };
  if (step.item.op == OpKind::DepthwiseConv2d) {
    add(params_of<DepthwiseConv2dParams>(step.item), oc);
  } else {
    const auto params = params_of<Conv2dParams>(step.item);
    add(params, oc / (w.dims[0] / params.groups) * w.dims[1]);
  }
  return sum;
}

// Writes the expected output; what the step does not compute stays as it is.
void write_expected(const ByteStep& step, void* to) {
  const OperandShape& y = step.item.operands.back();
  int32_t kind = 0;
  float alpha = 0;
  float beta = 0;
  const auto read = [&](const auto& params) {
    kind = params.activation;
    alpha = params.activation_alpha;
    beta = params.activation_beta;
  };
  if (step.item.op == OpKind::Conv2d) read(params_of<Conv2dParams>(step.item));
  if (step.item.op == OpKind::DepthwiseConv2d) read(params_of<DepthwiseConv2dParams>(step.item));
  if (step.item.op == OpKind::MatMul) read(params_of<MatMulParams>(step.item));
  const Range rows = kernels::rows_of_part(step.item.part_dim, step.item.part, y);
  const Range channels = kernels::channels_of_part(step.item.part_dim, step.item.part, y);
  for_each_held(y, [&](int64_t place, int64_t index, int64_t c, int64_t h) {
    if (y.rank == 4 && (h < rows.begin || h >= rows.end)) return;
    if (c < channels.begin || (c >= channels.end && (index >= 0 || channels.end < y.dims[1])))
      return;
    double v = 0;
    if (index >= 0) {
      const int64_t n = index / (y.rank == 2 ? y.dims[1] : y.dims[1] * y.dims[2] * y.dims[3]);
      const int64_t ow = y.rank == 2 ? 0 : index % y.dims[3];
      v = static_cast<double>(sum_of(step, n, c, h, ow)) * step.item.operands[0].scale *
              step.weight_scales[static_cast<size_t>(c)] +
          step.bias[static_cast<size_t>(c)];
      if (!step.residual.empty())
        v += real_of(step.item.operands[3], step.residual[static_cast<size_t>(index)]);
      v = activate(v, kind, alpha, beta);
    }
    if (y.dtype == DType::F32) {
      static_cast<float*>(to)[place] = static_cast<float>(v);
    } else {
      const double q = std::nearbyint(v / y.scale) + y.zero_point;
      static_cast<int8_t*>(to)[place] = static_cast<int8_t>(q < -128 ? -128 : q > 127 ? 127 : q);
    }
  });
}

// Draws the numbers of a step whose operands have their forms.
ByteStep draw(ByteDice& dice, KernelCase item) {
  ByteStep step;
  const OperandShape& w = item.operands[1];
  const auto count = [](const OperandShape& shape) {
    return static_cast<size_t>(kernels::element_count(shape));
  };
  for (size_t i = 0; i < count(item.operands[0]); ++i) step.x.push_back(dice.byte());
  for (size_t i = 0; i < count(w); ++i) step.w.push_back(dice.byte());
  const int32_t channels = item.operands[2].dims[0];
  for (int32_t c = 0; c < channels; ++c) {
    step.weight_scales.push_back(std::ldexp(1.0f, dice.roll(-9, -5)));
    step.bias.push_back(0.125f * static_cast<float>(dice.roll(-400, 400)));
  }
  if (item.operands.size() == 5)
    for (size_t i = 0; i < count(item.operands[3]); ++i) step.residual.push_back(dice.byte());
  step.item = std::move(item);
  return step;
}

GuardedMemory expected_of(const ByteStep& step) {
  GuardedMemory expected(static_cast<size_t>(step.item.operands.back().bytes));
  write_expected(step, expected.data());
  return expected;
}

// Runs the step; returns what is wrong, or "".
std::string run(const ByteStep& step, const GuardedMemory& expected, const KernelInfo& info,
                kernels::CpuKernel kernel, int32_t pieces) {
  const KernelCase& item = step.item;
  kernels::StepNeeds needs;
  if (const char* limit = kernels::check_step(step_of(info, item), &needs))
    return std::string("the contract expected ") + limit;
  std::vector<GuardedMemory> memory;
  for (const OperandShape& operand : item.operands)
    memory.emplace_back(static_cast<size_t>(operand.bytes));
  const OperandShape& w = item.operands[1];
  std::vector<float> weights(step.w.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    const size_t channel = w.rank == 2 ? i % static_cast<size_t>(w.dims[1])
                                       : i / (weights.size() / step.weight_scales.size());
    weights[i] = static_cast<float>(step.w[i]) * step.weight_scales[channel];
  }
  write(item.operands[0], step.x, memory[0].data());
  kernels::pack({info.packing, DType::I8}, w.dims, w.rank, groups_of(item), weights.data(),
                memory[1].data());
  kernels::pack({PackingKind::Bias, DType::F32}, item.operands[2].dims, 1, 1, step.bias.data(),
                memory[2].data());
  if (!step.residual.empty()) write(item.operands[3], step.residual, memory[3].data());
  std::vector<kernels::TensorView> views;
  for (size_t i = 0; i < memory.size(); ++i)
    views.push_back(kernels::make_view(item.operands[i], memory[i].data()));
  kernels::KernelArgs args = args_of(item, views);
  for (int32_t piece = pieces - 1; piece >= 0; --piece) {
    GuardedMemory scratch(static_cast<size_t>(needs.scratch_bytes));
    args.scratch = scratch.data();
    args.task_begin = needs.task_count * piece / pieces;
    args.task_end = needs.task_count * (piece + 1) / pieces;
    args.continues = false;
    if (args.task_begin < args.task_end) kernel(args);
    if (!scratch.has_whole_guards()) return "a write outside the scratch";
  }
  for (const GuardedMemory& operand : memory)
    if (!operand.has_whole_guards()) return "a write outside an operand";
  const auto* a = reinterpret_cast<const int8_t*>(expected.data());
  const auto* b = reinterpret_cast<const int8_t*>(memory.back().data());
  for (size_t i = 0; i < expected.bytes(); ++i) {
    if (a[i] == b[i]) continue;
    if (item.operands.back().dtype == DType::F32) {
      const size_t at = i / sizeof(float);
      if (expected.data()[at] == memory.back().data()[at]) continue;  // zeros of either sign
      return "element " + std::to_string(at) + ": expected " + std::to_string(expected.data()[at]) +
             ", found " + std::to_string(memory.back().data()[at]);
    }
    return "byte " + std::to_string(i) + ": expected " + std::to_string(a[i]) + ", found " +
           std::to_string(b[i]);
  }
  return "";
}

float power_of_two(ByteDice& dice, int32_t low, int32_t high) {
  return std::ldexp(1.0f, dice.roll(low, high));
}

// Chooses the forms of the operands, and an activation. Sums of `products` products of bytes lie
// in the range of the result, most of them.
template <class Params>
KernelCase in_bytes(ByteDice& dice, const KernelInfo& info, KernelCase item, double products) {
  auto params = params_of<Params>(item);
  const auto grid = [&](OperandShape shape, float scale) {
    return as_bytes(shape, scale, dice.one_in(3) ? 0 : dice.byte());
  };
  item.operands[0] = grid(item.operands[0], power_of_two(dice, -6, -4));
  OperandShape& w = item.operands[1];
  w.dtype = DType::I8;
  w.bytes = kernels::packed_bytes({info.packing, DType::I8}, w.dims, w.rank, groups_of(item));
  OperandShape& bias = item.operands[2];
  bias.bytes = kernels::packed_bytes({PackingKind::Bias, DType::F32}, bias.dims, 1, 1);
  if (item.operands.size() == 5 && dice.one_in(2))
    item.operands[3] = grid(item.operands[3], power_of_two(dice, -3, 0));
  OperandShape& y = item.operands.back();
  const int32_t spread = static_cast<int32_t>(std::log2(products) / 2);
  if (!dice.one_in(4)) y = grid(y, power_of_two(dice, spread - 4, spread));
  const int32_t kinds[] = {kUnaryIdentity, kUnaryRelu, kUnaryClip, kUnaryHardSigmoid,
                           kUnaryQuantize8};
  params.activation = kinds[dice.roll(0, 4)];
  params.activation_alpha = 0.25f;
  params.activation_beta = 4.5f;
  if (params.activation == kUnaryHardSigmoid) {
    params.activation_alpha = 0x1p-4f;
    params.activation_beta = 0.5f;
  }
  if (params.activation == kUnaryQuantize8) {
    // The result's own grid, more often than not.
    params.activation_alpha = y.scale > 0 && !dice.one_in(3) ? y.scale : 0.5f;
    params.activation_beta = static_cast<float>(y.scale > 0 ? y.zero_point + 128 : 10);
  }
  item.params = words_of(params);
  return item;
}

KernelCase random_convolution(ByteDice& dice, const KernelInfo& info) {
  ConvCase conv = {.name = "random"};
  const bool is_depthwise = info.op == OpKind::DepthwiseConv2d;
  conv.groups = !is_depthwise && dice.one_in(4) ? dice.roll(2, 3) : 1;
  conv.batch = dice.roll(1, 2);
  const auto channels = [&](int32_t most) {
    return dice.one_in(3) ? kChannelPanel * dice.roll(1, most / kChannelPanel) : dice.roll(1, most);
  };
  conv.in_c = conv.groups * channels(dice.one_in(4) ? 150 : 20);
  conv.out_c = conv.groups * channels(is_depthwise ? 150 : 50);
  ConvWindow& window = conv.window;
  window = {dice.roll(1, 5), dice.roll(1, 5), dice.roll(1, 3), dice.roll(1, 3), 1, 1,
            dice.roll(0, 4), dice.roll(0, 4), dice.roll(0, 4), dice.roll(0, 4)};
  if (dice.one_in(3)) window = k1x1;
  if (dice.one_in(3)) window = dice.one_in(2) ? k3x3 : dice.one_in(2) ? k3x3Stride2 : k5x5;
  if (dice.one_in(5)) window.dilation_h = window.dilation_w = dice.roll(2, 4);
  conv.in_h = dice.roll(1, 9) + (window.kernel_h - 1) * window.dilation_h;
  conv.in_w = dice.roll(1, 37) + (window.kernel_w - 1) * window.dilation_w;
  conv.has_residual = dice.one_in(4);
  const int32_t out_h = window.out_h(conv.in_h);
  if (dice.one_in(3)) {
    conv.rows.begin = dice.roll(0, out_h - 1);
    conv.rows.end = dice.roll(conv.rows.begin + 1, out_h);
    conv.is_part = dice.one_in(2);
  } else if (conv.groups == 1 && conv.out_c > 16 && dice.one_in(2)) {
    conv.channels = {16 * dice.roll(0, (conv.out_c - 1) / 16), conv.out_c};
    if (conv.channels.begin > 0 && dice.one_in(2)) conv.channels = {0, conv.channels.begin};
  }
  KernelCase item = make_conv_case(info.op, conv);
  // The rest of a window's pixels is another's.
  for (const size_t i : {size_t{0}, item.operands.size() - 1}) {
    OperandShape& map = item.operands[i];
    if (map.dims[1] % kChannelPanel != 0 || dice.one_in(2)) continue;
    map.pixel_stride = map.dims[1] + 4 * dice.roll(1, 9);
    map.bytes = kernels::stored_bytes(map);
  }
  const OperandShape& w = item.operands[1];
  const double products = double{1} * w.dims[1] * w.dims[2] * w.dims[3];
  return is_depthwise ? in_bytes<DepthwiseConv2dParams>(dice, info, item, products)
                      : in_bytes<Conv2dParams>(dice, info, item, products);
}

KernelCase random_product(ByteDice& dice, const KernelInfo& info) {
  const int32_t m = dice.one_in(3) ? 1 : dice.roll(1, 40);
  const int32_t k = dice.roll(1, dice.one_in(4) ? 700 : 90);
  const int32_t n = dice.roll(1, 200);
  KernelCase item = {
      "random",
      OpKind::MatMul,
      words_of(MatMulParams{}),
      {plain_operand({m, k}), packed_operand({k, n}), packed_operand({n}), plain_operand({m, n})}};
  if (n > 16 && dice.one_in(3)) {
    item.part_dim = SplitDim::OutputChannel;
    item.part = {16 * dice.roll(0, (n - 1) / 16), n};
  }
  return in_bytes<MatMulParams>(dice, info, item, k);
}

TEST_CASE("kernels of 8 bits compute what integers give", "[bytes]") {
#ifdef CODL_SLOW_RUN
  constexpr uint32_t kSteps = 80;
#else
  constexpr uint32_t kSteps = 400;
#endif
  for (const KernelInfo& info : kKernelInfos) {
    if (!info.has(Signature::Q8)) continue;
    for (uint32_t seed = 1; seed <= kSteps; ++seed) {
      ByteDice dice(seed);
      const ByteStep step = draw(dice, info.op == OpKind::MatMul ? random_product(dice, info)
                                                                 : random_convolution(dice, info));
      const int32_t pieces = dice.roll(1, 4);
      const GuardedMemory expected = expected_of(step);  // takes longest of all
      for (kernels::CpuTarget target : kernels::kCpuTargets) {
        const kernels::CpuKernel kernel = kernel_for_target(info, target);
        if (kernel == nullptr) continue;
        const std::string error = run(step, expected, info, kernel, pieces);
        if (!error.empty())
          FAIL_CHECK(info.symbol << " " << kernels::cpu_target_name(target) << ", seed " << seed
                                 << ": " << error);
      }
    }
  }
}

// Sums of bytes that differ by 255 from the zero point are the largest.
TEST_CASE("kernels of 8 bits have room for the largest sums", "[bytes]") {
  for (const KernelInfo& info : kKernelInfos) {
    if (!info.has(Signature::Q8) || info.op != OpKind::MatMul) continue;
    ByteDice dice(1);
    KernelCase item = {"largest",
                       OpKind::MatMul,
                       words_of(MatMulParams{}),
                       {plain_operand({3, 65536}), packed_operand({65536, 17}),
                        packed_operand({17}), plain_operand({3, 17})}};
    item = in_bytes<MatMulParams>(dice, info, item, 65536);
    MatMulParams params = {};
    item.params = words_of(params);
    item.operands[0] = as_bytes(item.operands[0], 1.0f, 127);
    item.operands.back() = plain_operand({3, 17});
    ByteStep step = draw(dice, item);
    for (int32_t& x : step.x) x = -128;
    for (int32_t& w : step.w) w = -128;
    for (float& bias : step.bias) bias = 0;
    const GuardedMemory expected = expected_of(step);
    for (kernels::CpuTarget target : kernels::kCpuTargets)
      if (const kernels::CpuKernel kernel = kernel_for_target(info, target)) {
        INFO(kernels::cpu_target_name(target));
        CHECK(run(step, expected, info, kernel, 1) == "");
        item.operands[0].dims[1] = item.operands[1].dims[0] = 65537;
        kernels::StepNeeds needs;
        CHECK(kernels::check_step(step_of(info, item), &needs) != nullptr);
      }
  }
}

TEST_CASE("the grid of weights is found", "[bytes]") {
  float scale = 0;
  const float zeros[] = {0, 0, 0};
  CHECK(kernels::find_channel_grid(zeros, 3, 1, &scale));
  CHECK(scale == 1);
  const float signs[] = {-0.3f, 0.3f, 0};
  CHECK(kernels::find_channel_grid(signs, 3, 1, &scale));
  CHECK(scale == 0.3f);
  const float folded[] = {127 * 0.01f * 0.7654321f, -3 * 0.01f * 0.7654321f};  // with a norm
  CHECK(kernels::find_channel_grid(folded, 2, 1, &scale));
  CHECK(std::fabs(scale - 0.01f * 0.7654321f) < 1e-8f);
  const float no_byte[] = {128, -127, 1};
  CHECK_FALSE(kernels::find_channel_grid(no_byte, 3, 1, &scale));
  const float off[] = {1, 0.5f, 0.004f, 0.7071f};
  CHECK_FALSE(kernels::find_channel_grid(off, 4, 1, &scale));
  const float infinite[] = {1, kSpecialInfinities.values[0]};
  CHECK_FALSE(kernels::find_channel_grid(infinite, 2, 1, &scale));
  const float nan[] = {kSpecialNan.values[0], 1};
  CHECK_FALSE(kernels::find_channel_grid(nan, 2, 1, &scale));
  ByteDice dice(1);
  for (int i = 0; i < 200; ++i) {
    const float wanted = 1e-4f * static_cast<float>(dice.roll(1, 100000));
    float weights[64];
    for (float& w : weights) w = wanted * static_cast<float>(dice.byte());
    weights[0] = wanted * (i % 2 == 0 ? -128.0f : 127.0f);
    weights[2] = wanted * 1.0f;
    REQUIRE(kernels::find_channel_grid(weights, 32, 2, &scale));
    CHECK(scale == wanted);
  }
}

}  // namespace
}  // namespace codl::test
