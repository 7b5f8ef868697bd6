// Tests the checks that check_step() does for every operator.
#include "kernels/kernel_table.h"

#include <string>
#include <string_view>
#include <utility>

#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/ref.h"
#include "kernels/work_table.h"
#include "test/kernels/conv_case.h"
#include "test/kernels/step_for_tests.h"
#include "test/support/catch.h"

namespace codl::kernels {
namespace {

const UnaryParams kRelu = {kUnaryRelu, 0.0f, 0.0f};

std::string check_unary(const OperandShape& x, const OperandShape& y, SplitDim dim = SplitDim::None,
                        Range part = {}) {
  return check({"unary_f32_cpu", &kRelu, {x, y}, dim, part});
}

TEST_CASE("every kernel has a contract, a reference and its function or text") {
  std::string texts(kernels::kClTextBytes, '\0');
  REQUIRE(kernels::unpack_cl_texts(texts.data()));
  for (const KernelInfo& info : kKernelInfos) {
    INFO(info.symbol);
    CHECK(contract_of(info.op).check != nullptr);
    CHECK(work_of(info.op).work != nullptr);
    CHECK(ref_kernel(info.op) != nullptr);
    const bool is_cpu = info.processor == Processor::Cpu;
    CHECK((cpu_kernel(info) != nullptr) == is_cpu);
    const kernels::ClText text = cl_text(info, texts.data());
    CHECK((text.parts[0] == nullptr) == is_cpu);
    if (!is_cpu) CHECK(std::string(text.parts[2]).find(info.symbol) != std::string::npos);
    // codlc counts the time of kernels that it considers the reference's plain loops.
    CHECK(info.is_reference() == (is_cpu && cpu_kernel(info) == ref_kernel(info.op)));
    if (is_cpu)
      CHECK(cpu_kernel_targets(info)->baseline != nullptr);
    else
      CHECK(contract_of(info.op).launch != nullptr);
  }
}

TEST_CASE("a step has 2 to 16 operands, aligned parameters and few tile numbers") {
  const OperandShape x = nhwc({1, 3, 4, 5});
  CHECK(check({"unary_f32_cpu", &kRelu, {x}}) == "2 to 16 operands");
  CHECK(check({"unary_f32_cpu", &kRelu, std::vector<OperandShape>(17, x)}) == "2 to 16 operands");
  CHECK(check({"unary_f32_cpu", nullptr, {x, x}}) == "4-byte aligned parameters");
  CHECK(check({"unary_f32_cpu", reinterpret_cast<const char*>(&kRelu) + 2, {x, x}}) ==
        "4-byte aligned parameters");
  CHECK(check({"unary_f32_cpu", &kRelu, {x, x}, SplitDim::None, {}, std::vector<int32_t>(9, 1)}) ==
        "at most 8 tile numbers");
}

TEST_CASE("a launch takes what it has room for, and says if there was more") {
  ClLaunch launch;
  for (uint32_t i = 0; i < ClLaunch::kMaxScalars; ++i) launch.add(i);
  for (uint32_t i = 0; i < ClLaunch::kMaxDefines; ++i) launch.define("A", static_cast<int32_t>(i));
  CHECK(check_launch(launch) == nullptr);
  for (const int more : {0, 1}) {
    ClLaunch over = launch;
    if (more == 0) over.add(1);
    if (more == 1) over.define("B", 1);
    CHECK(std::string_view(check_launch(over)) == "a launch of at most 100 scalars and 16 defines");
    CHECK(over.scalar_count == ClLaunch::kMaxScalars);
    CHECK(over.define_count == ClLaunch::kMaxDefines);
    CHECK(over.scalars[ClLaunch::kMaxScalars - 1] == ClLaunch::kMaxScalars - 1);
  }
}

OperandShape as_halves(OperandShape shape) {
  shape.dtype = DType::F16;
  shape.bytes /= 2;
  return shape;
}

// Returns HALVES of prelude.cl, or -1 if no operand is of halves.
int32_t halves_of(const StepShape& step) {
  ClLaunch launch;
  launch_of(step, &launch);
  for (uint32_t i = 0; i < launch.define_count; ++i)
    if (std::string_view(launch.defines[i].name) == "HALVES") return launch.defines[i].value;
  return -1;
}

TEST_CASE("values may be halves where the kernel says so, and each operand for itself") {
  const OperandShape x = nhwc({1, 3, 4, 5});
  const OperandShape half = as_halves(x);
  for (const auto& [from, to] : {std::pair{half, x}, {x, half}, {half, half}})
    CHECK(check({"unary_f32_cl_buffer", &kRelu, {from, to}}) == "ok");
  CHECK(check({"unary_f32_cl_image",
               &kRelu,
               {as_halves(image({1, 3, 4, 5})), image({1, 3, 4, 5})}}) == "ok");
  const OperandShape line = plain({64});
  CHECK(check({"unary_f32_cl_buffer", &kRelu, {as_halves(line), line}}) == "ok");
  CHECK(check({"reshape_f32_cl_buffer", nullptr, {line, as_halves(line)}}) == "ok");
  OperandShape cut = half;
  cut.bytes -= 1;
  CHECK(check({"unary_f32_cl_buffer", &kRelu, {cut, x}}) == "operand memory as large as its shape");
  OperandShape integers = half;
  integers.dtype = DType::I16;
  CHECK(check({"unary_f32_cl_buffer", &kRelu, {integers, x}}) ==
        "operands of a dtype that the kernel takes");

  // Bit 0 of HALVES is the first input, bit 15 the output.
  const auto halves = [](const StepForTest& step) { return halves_of(step.shape()); };
  CHECK(halves({"unary_f32_cl_buffer", &kRelu, {x, x}}) == -1);
  CHECK(halves({"unary_f32_cl_buffer", &kRelu, {half, x}}) == 1);
  CHECK(halves({"unary_f32_cl_buffer", &kRelu, {x, half}}) == 1 << 15);
  // Two halves with 4 pad lanes each replace 4 bytes.
  const StepWork work = work_of({"unary_f32_cl_buffer", &kRelu, {half, half}});
  const StepWork float_work = work_of({"unary_f32_cl_buffer", &kRelu, {x, x}});
  CHECK(work.read_bytes == 0.5 * float_work.read_bytes);
  CHECK(work.written_bytes == 0.5 * float_work.written_bytes);
}

TEST_CASE("weights may be halves as values may, a bias is floats") {
  const MatMulParams params = {};
  OperandShape w = plain({20, 48});
  OperandShape bias = plain({48});
  w.layout = bias.layout = Layout::Packed;
  const OperandShape x = plain({3, 20});
  const OperandShape y = plain({3, 48});
  const auto check_halves = [&](SignatureSet signatures,
                                const std::vector<OperandShape>& operands) {
    const StepForTest test = {"matmul_f32_cl_buffer", &params, operands};
    StepShape step = test.shape();
    KernelInfo kernel = *step.kernel;
    kernel.signatures = signatures;
    step.kernel = &kernel;
    StepNeeds needs;
    if (const char* expected = check_step(step, &needs)) return std::string(expected);
    return std::to_string(halves_of(step));
  };
  const OperandShape half_w = as_halves(w);
  OperandShape cut = half_w;
  cut.bytes -= 2;
  for (const SignatureSet signature : {kF16Store, kF16}) {
    CHECK(check_halves(kF32 | signature, {x, w, bias, y}) == "-1");
    CHECK(check_halves(kF32 | signature, {x, half_w, bias, y}) == "2");
    CHECK(check_halves(kF32 | signature, {as_halves(x), half_w, bias, as_halves(y)}) ==
          std::to_string(1 << 15 | 3));
    CHECK(check_halves(kF32 | signature, {x, half_w, as_halves(bias), y}) ==
          "a packed bias of one value per column");
    CHECK(check_halves(kF32 | signature, {x, cut, bias, y}) ==
          "packed weights of their shape's size");
  }
  CHECK(check_halves(kF32, {x, half_w, bias, y}) == "operands of a dtype that the kernel takes");
}

TEST_CASE("convolutions with halves add in halves, many products in runs") {
  // Counts of products of an output: 128, 135 and 169.
  const test::ConvWindow k13x13 = {13, 13, 1, 1, 1, 1, 6, 6, 6, 6};
  const test::ConvCase few = {.name = "", .in_c = 128, .out_c = 8, .window = test::k1x1};
  const test::ConvCase more = {.name = "", .in_c = 15, .out_c = 8};
  const test::ConvCase large = {.name = "", .in_c = 1, .out_c = 8, .window = k13x13};
  for (const KernelInfo& info : kKernelInfos) {
    const bool has_runs = info.op == OpKind::Conv2d;
    if (!info.has(Signature::F16) || (!has_runs && info.op != OpKind::DepthwiseConv2d)) continue;
    const auto arithmetic = [&](const test::ConvCase& conv, Signature signature) {
      const test::KernelCase item =
          test::in_forms(info, {signature, test::Halves::Even}, make_conv_case(info.op, conv));
      return half_arithmetic_of(step_of(info, with_images(info, item)));
    };
    const HalfArithmetic many = has_runs ? HalfArithmetic::Runs : HalfArithmetic::None;
    INFO(info.symbol);
    CHECK(arithmetic(few, Signature::F32) == HalfArithmetic::None);
    for (const Signature signature : {Signature::F16Store, Signature::F16}) {
      if (!info.has(signature)) continue;
      CHECK(arithmetic(few, signature) == HalfArithmetic::Halves);
      CHECK(arithmetic(more, signature) == (has_runs ? many : HalfArithmetic::Halves));
      CHECK(arithmetic(large, signature) == many);
    }
  }
}

TEST_CASE("products of two matrices of halves add in halves, many in runs") {
  const auto arithmetic = [](const char* symbol, const void* params, OperandShape a, OperandShape b,
                             int32_t halves) {
    if ((halves & 1) != 0) a = as_halves(a);
    if ((halves & 2) != 0) b = as_halves(b);
    return half_arithmetic_of(
        StepForTest{symbol, params, {a, b, plain({48}), plain({3, 48})}}.shape());
  };
  const MatMulParams matmul = {};
  const BatchMatMulParams batch = {};
  const BatchMatMulParams turned = {.is_a_transposed = 1, .is_b_transposed = 0};
  for (int32_t halves = 0; halves < 4; ++halves)
    for (const int32_t depth : {128, 129}) {
      const HalfArithmetic all = depth == 128 ? HalfArithmetic::Halves : HalfArithmetic::Runs;
      const HalfArithmetic expected = halves == 3 ? all : HalfArithmetic::None;
      const OperandShape a = plain({3, depth});
      const OperandShape b = plain({depth, 48});
      for (const char* symbol : {"matmul_f32_cl_buffer", "matmul_f32_cl_gemv", "matmul_f32_cpu"})
        CHECK(arithmetic(symbol, &matmul, a, b, halves) == expected);
      CHECK(arithmetic("batch_matmul_f32_cl_tiled", &batch, a, b, halves) == expected);
      CHECK(arithmetic("batch_matmul_f32_cl_buffer", &turned, plain({depth, 3}), b, halves) ==
            expected);
    }
}

TEST_CASE("operands of a CPU kernel are all floats, or all halves but for scales and constants") {
  const char* const kRefused = "operands of one dtype, scales and biases of f32";
  const OperandShape x = nhwc({1, 3, 4, 5});
  const OperandShape half = as_halves(x);
  CHECK(check({"unary_f32_cpu", &kRelu, {half, half}}) == "ok");
  CHECK(check({"unary_f32_cpu", &kRelu, {half, x}}) == kRefused);
  CHECK(check({"unary_f32_cpu", &kRelu, {x, half}}) == kRefused);
  CHECK(check({"unary_any_cpu", &kRelu, {as_halves(plain({5})), as_halves(plain({5}))}}) ==
        "dtypes that the member of Unary has");

  BinaryParams add = {};
  add.kind = kBinaryAdd;
  for (const auto& [a, b] : {std::pair{half, half}, {half, x}, {x, half}}) {
    CHECK(check({"binary_f32_cpu", &add, {a, b, half}}) == "ok");
    CHECK(check({"binary_f32_cpu", &add, {a, b, x}}) == kRefused);
  }

  NormalizeParams norm = {};
  norm.axes_mask = 2;
  norm.has_scale = 1;
  const OperandShape line = plain({8, 16});
  const OperandShape scale = plain({16});
  CHECK(check({"normalize_f32_cpu", &norm, {as_halves(line), scale, as_halves(line)}}) == "ok");
  CHECK(check({"normalize_f32_cpu", &norm, {as_halves(line), as_halves(scale), as_halves(line)}}) ==
        kRefused);
}

TEST_CASE("Convert takes floats and halves on either side on the CPU") {
  const OperandShape map = nhwc({1, 3, 4, 5});
  const OperandShape tensor = plain({1, 3, 4, 5});
  for (const OperandShape& x : {map, as_halves(map), tensor, as_halves(tensor)})
    for (const OperandShape& y : {map, as_halves(map), tensor, as_halves(tensor)})
      CHECK(check({"convert_f32_cpu", nullptr, {x, y}}) == "ok");
  CHECK(check({"convert_any_cpu", nullptr, {tensor, as_halves(tensor)}}) ==
        "operands of one dtype");
}

TEST_CASE("bytes have a scale, and only a kernel that knows it takes them") {
  const OperandShape numbers = nhwc({1, 3, 4, 5});
  OperandShape bytes = numbers;
  bytes.dtype = DType::I8;
  bytes.bytes /= sizeof(float);
  CHECK(check({"convert_f32_cl_buffer", nullptr, {bytes, numbers}}) ==
        "operands of a dtype that the kernel takes");
  bytes.scale = 0.25f;
  bytes.zero_point = -3;
  OperandShape others = bytes;
  others.zero_point = 2;
  CHECK(check({"convert_f32_cl_buffer", nullptr, {bytes, numbers}}) == "ok");
  CHECK(check({"convert_f32_cl_buffer", nullptr, {as_halves(numbers), bytes}}) == "ok");
  CHECK(check({"convert_f32_cl_buffer", nullptr, {bytes, bytes}}) == "ok");
  CHECK(check({"convert_f32_cl_buffer", nullptr, {bytes, others}}) ==
        "one scale and zero point on both sides");
  CHECK(check({"convert_f32_cl_to_image", nullptr, {bytes, image({1, 3, 4, 5})}}) == "ok");
  OperandShape texels = image({1, 3, 4, 5});
  texels.dtype = DType::I8;
  texels.scale = 0.25f;
  texels.zero_point = -3;
  CHECK(check({"convert_f32_cl_to_image", nullptr, {bytes, texels}}) == "ok");
  CHECK(check({"unary_any_cpu", &kRelu, {bytes, bytes}}) ==
        "a kernel that takes quantised operands");
}

OperandShape as_bytes(OperandShape shape, float scale = 0.5f, int32_t zero_point = 3) {
  shape.dtype = DType::I8;
  shape.bytes /= 4;
  shape.scale = scale;
  shape.zero_point = zero_point;
  return shape;
}

TEST_CASE("numbers may be bytes where the kernel says so") {
  const OperandShape x = nhwc({1, 3, 4, 5});
  const OperandShape bytes = as_bytes(x);
  const OperandShape others = as_bytes(x, 0.25f);
  for (const OperandShape& from : {x, as_halves(x), bytes, others})
    for (const OperandShape& to : {bytes, others}) {
      CHECK(check({"unary_f32_cpu", &kRelu, {from, to}}) == "ok");
      CHECK(check({"unary_f32_cpu", &kRelu, {to, from}}) == "ok");
      const bool has_two_grids = kernels::is_quantised(from) && from.scale != to.scale;
      const std::string expected = has_two_grids ? "one scale and zero point on both sides" : "ok";
      CHECK(check({"convert_f32_cpu", nullptr, {from, to}}) == expected);
      CHECK(check({"convert_f32_cpu", nullptr, {to, from}}) == expected);
    }
  OperandShape cut = bytes;
  cut.bytes -= 1;
  CHECK(check({"unary_f32_cpu", &kRelu, {cut, x}}) == "operand memory as large as its shape");
  OperandShape integers = bytes;
  integers.scale = 0;
  CHECK(check({"unary_f32_cpu", &kRelu, {integers, x}}) ==
        "operands of a dtype that the kernel takes");
  SoftmaxParams softmax;
  softmax.axis = 1;
  CHECK(check({"softmax_f32_cpu", &softmax, {bytes, bytes}}) ==
        "operands of a dtype that the kernel takes");
  const char* const kNoGrid = "a kernel that takes quantised operands";
  CHECK(check({"unary_any_cpu", &kRelu, {as_bytes(plain({5})), as_bytes(plain({5}))}}) == kNoGrid);
}

TEST_CASE("what moves bytes has one grid, what computes with them gives bytes") {
  const char* const kOneGrid = "operands and result with one scale and zero point";
  const char* const kAllBytes = "operands that are all bytes";
  const OperandShape x = nhwc({1, 16, 4, 5});
  const OperandShape wide = nhwc({1, 32, 4, 5});
  const OperandShape bytes = as_bytes(x);
  ConcatParams concat = {};
  concat.axis = 1;
  const auto check_concat = [&](OperandShape a, OperandShape b, OperandShape y) {
    return check({"concat_f32_cpu", &concat, {a, b, y}});
  };
  CHECK(check_concat(bytes, bytes, as_bytes(wide)) == "ok");
  CHECK(check_concat(bytes, as_bytes(x, 0.25f), as_bytes(wide)) == kOneGrid);
  CHECK(check_concat(bytes, bytes, as_bytes(wide, 0.5f, 4)) == kOneGrid);
  CHECK(check_concat(bytes, x, as_bytes(wide)) == kAllBytes);
  CHECK(check_concat(bytes, bytes, wide) == "a result of bytes");

  BinaryParams add = {};
  add.kind = kBinaryAdd;
  for (const OperandShape& b : {bytes, as_bytes(x, 0.25f), x}) {
    CHECK(check({"binary_f32_cpu", &add, {bytes, b, as_bytes(x, 2, -128)}}) == "ok");
    CHECK(check({"binary_f32_cpu", &add, {b, bytes, x}}) == "a result of bytes");
  }

  Pool2dParams pool = {};
  pool.kernel_h = pool.kernel_w = pool.stride_h = pool.stride_w = 1;
  pool.dilation_h = pool.dilation_w = 1;
  for (const int32_t kind : {kPool2dMax, kPool2dAverage}) {
    pool.kind = kind;
    CHECK(check({"pool2d_f32_cpu", &pool, {bytes, bytes}}) == "ok");
    CHECK(check({"pool2d_f32_cpu", &pool, {bytes, as_bytes(x, 0.25f)}}) ==
          (kind == kPool2dMax ? kOneGrid : "ok"));
    CHECK(check({"pool2d_f32_cpu", &pool, {bytes, x}}) == "a result of bytes");
    CHECK(check({"pool2d_f32_cpu", &pool, {x, bytes}}) == kAllBytes);
  }

  PadParams pad = {};
  pad.kind = kPadConstant;
  pad.has_value = 1;
  const OperandShape value = plain({1});
  CHECK(check({"pad_f32_cpu", &pad, {bytes, value, bytes}}) == kAllBytes);
  CHECK(check({"pad_f32_cpu", &pad, {bytes, as_bytes(value), bytes}}) == "ok");
}

TEST_CASE("operands are of a dtype that the kernel takes, bounded, and as large as their memory") {
  OperandShape x = nhwc({1, 3, 4, 5});
  const OperandShape y = x;
  CHECK(check_unary(x, y) == "ok");
  x.dtype = DType::I64;
  CHECK(check_unary(x, y) == "operands of a dtype that the kernel takes");
  x = y;
  x.bytes -= 1;
  CHECK(check_unary(x, y) == "operand memory as large as its shape");
  x = plain({1, 3, 4, 5});
  x.bytes -= 1;
  CHECK(check_unary(x, y) == "operand memory as large as its shape");
  CHECK(check_unary(plain({(1 << 24) + 1}), y) == "dims of at most 2^24");
  CHECK(check_unary(plain({1 << 16, 1 << 14, 2}), y) == "operands of at most 2^30 elements");
  // The map has 2^28 + 2^20 pixels of one channel, padded to four.
  CHECK(check_unary(nhwc({1, 1, (1 << 14) + 64, 1 << 14}), y) ==
        "operands of at most 2^30 elements");
  x = y;
  x.layout = static_cast<Layout>(77);
  CHECK(check_unary(x, y) == "operands of layout Plain, Nhwc, Image2d or Packed");
}

TEST_CASE("images are for GPU kernels, outputs have the kernel's layout") {
  const OperandShape x = nhwc({1, 3, 4, 5});
  CHECK(check_unary(image({1, 3, 4, 5}), x) == "no image for a CPU kernel");
  CHECK(check({"unary_f32_cl_image", &kRelu, {x, x}}) == "output in the kernel's layout");
  OperandShape packed = plain({4});
  packed.layout = Layout::Packed;
  CHECK(check_unary(x, packed) == "output in the kernel's layout");
}

TEST_CASE("a part lies in the output and is one that the kernel can compute") {
  const OperandShape x = nhwc({1, 40, 6, 5});
  const OperandShape window = nhwc({1, 40, 6, 5}, {2, 5});
  CHECK(check_unary(x, x, SplitDim::None, {0, 1}) == "part [0, 0) for a step that is not split");
  CHECK(check_unary(x, x, SplitDim::Height, {1, 3}) == "ok");
  for (Range part : {Range{0, 3}, Range{3, 6}, Range{3, 3}, Range{4, 3}, Range{-1, 3}})
    CHECK(check_unary(x, window, SplitDim::Height, part) == "rows of the part inside the output");
  CHECK(check_unary(plain({3}), plain({3}), SplitDim::Height, {0, 1}) ==
        "output of rank 4 for a part of rows");
  CHECK(check_unary(x, x, SplitDim::OutputChannel, {16, 40}) == "ok");
  for (Range part : {Range{0, 41}, Range{-16, 16}, Range{16, 16}})
    CHECK(check_unary(x, x, SplitDim::OutputChannel, part) ==
          "channels of the part inside the output");
  for (Range part : {Range{8, 16}, Range{0, 20}, Range{16, 39}})
    CHECK(check_unary(x, x, SplitDim::OutputChannel, part) ==
          "channels of the part cut at multiples of 16");
  CHECK(check_unary(plain({3}), plain({3}), SplitDim::OutputChannel, {0, 3}) ==
        "output of rank 2 or more for a part of channels");
  CHECK(check_unary(x, x, static_cast<SplitDim>(3), {0, 1}) ==
        "part_dim None, Height or OutputChannel");
  SoftmaxParams softmax;
  softmax.axis = 1;
  CHECK(check({"softmax_f32_cpu", &softmax, {x, x}, SplitDim::Height, {0, 3}}) ==
        "a kernel that can compute such a part");
}

}  // namespace
}  // namespace codl::kernels
