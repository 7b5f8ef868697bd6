// Every GPU row of kernels.def against the reference kernel of its operator, on the first OpenCL
// device. What lies in the output's memory outside the part, and around the operands, must keep its
// bytes. test/kernels/README.md says how to run these in oclgrind.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "kernels/common/tensor_view.h"
#include "kernels/kernel_table.h"
#include "kernels/pack.h"
#include "kernels/ref.h"
#include "test/support/catch.h"
#include "test/support/cl_device.h"

namespace codl::test {
namespace {

using kernels::OperandShape;

// Bytes of this value fill guards and outputs before a run: no result has them (a NaN).
constexpr uint8_t kGuardByte = 0xfd;
// Before and behind every operand, bytes: a page, so that operands in the host's memory are aligned
// as drivers want them (CL_MEM_USE_HOST_PTR).
constexpr size_t kGuardBytes = 4096;

// Sums of up to 1000 products of numbers in [-1, 1], in another order than the reference, and exp,
// tanh and division within a few units in the last place (OpenCL 1.2, 7.4).
constexpr float kTolerance = 5e-5f;

struct Case {
  std::string name;
  OpKind op;
  std::vector<int32_t> params;         // bytes of the op's struct
  std::vector<OperandShape> operands;  // constants: layout Packed, dims of the unpacked weight
  SplitDim part_dim = SplitDim::None;
  Range part = {};
};

// ---- shapes -------------------------------------------------------------------------------------

OperandShape plain(std::initializer_list<int32_t> dims) {
  OperandShape shape;
  for (int32_t dim : dims) shape.dims[shape.rank++] = dim;
  shape.bytes = static_cast<uint64_t>(kernels::element_count(shape)) * 4;
  return shape;
}

OperandShape pixels(Layout layout, std::initializer_list<int32_t> dims, Range rows) {
  OperandShape shape = plain(dims);
  shape.layout = layout;
  shape.row_begin = rows.begin;
  shape.row_end = rows.end;
  shape.bytes =
      layout == Layout::Image2d ? 0 : static_cast<uint64_t>(kernels::stored_elements(shape)) * 4;
  return shape;
}

OperandShape nhwc(std::initializer_list<int32_t> dims, Range rows = {0, 0}) {
  return pixels(Layout::Nhwc, dims, rows.empty() ? Range{0, dims.begin()[2]} : rows);
}

OperandShape constant(std::initializer_list<int32_t> dims, OpKind op, uint32_t operand,
                      int32_t groups = 1) {
  OperandShape shape = plain(dims);
  shape.layout = Layout::Packed;
  shape.bytes = kernels::packed_bytes(op, operand, shape.dims, shape.rank, groups);
  return shape;
}

template <typename Params>
std::vector<int32_t> bytes_of(const Params& params) {
  std::vector<int32_t> bytes(sizeof(Params) / 4);
  std::memcpy(bytes.data(), &params, sizeof(Params));
  return bytes;
}

// ---- running ------------------------------------------------------------------------------------

// Memory between guards.
class Guarded {
 public:
  explicit Guarded(size_t bytes) : bytes_(bytes) {
    const size_t total = (bytes + 2 * kGuardBytes + kGuardBytes - 1) / kGuardBytes * kGuardBytes;
    all_ = static_cast<uint8_t*>(std::aligned_alloc(kGuardBytes, total));
    total_ = total;
    std::memset(all_, kGuardByte, total);
  }
  Guarded(Guarded&& other) noexcept : all_(other.all_), bytes_(other.bytes_), total_(other.total_) {
    other.all_ = nullptr;
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { std::free(all_); }

  float* data() { return reinterpret_cast<float*>(all_ + kGuardBytes); }
  size_t bytes() const { return bytes_; }
  bool guards_are_whole() const {
    for (size_t i = 0; i < total_; ++i)
      if ((i < kGuardBytes || i >= kGuardBytes + bytes_) && all_[i] != kGuardByte) return false;
    return true;
  }

 private:
  uint8_t* all_;
  size_t bytes_;
  size_t total_;
};

// Random numbers in [-1, 1]; pad lanes zero.
void fill(const OperandShape& shape, std::mt19937* random, float* data) {
  std::uniform_real_distribution<float> distribution(-1.0f, 1.0f);
  const int64_t count = kernels::stored_elements(shape);
  const int32_t lanes =
      shape.layout == Layout::Nhwc ? kernels::padded_channels(shape) : static_cast<int32_t>(count);
  const int32_t valid = shape.layout == Layout::Nhwc ? shape.dims[1] : lanes;
  for (int64_t i = 0; i < count; ++i) data[i] = i % lanes < valid ? distribution(*random) : 0.0f;
}

struct Outcome {
  std::string error;
  double micros = 0;
};

// Runs `row` and the reference on the same random operands and compares all of the output's memory.
// `layouts`: of the operands for this row, Image2d where the case says Nhwc, or as the case has it.
Outcome run_case(ClDevice* device, const KernelRow& row, const Case& item, bool as_images,
                 const std::vector<int32_t>& tile = {}) {
  // The device's step.
  std::vector<OperandShape> shapes = item.operands;
  if (as_images)
    for (OperandShape& shape : shapes)
      if (shape.layout == Layout::Nhwc) {
        shape.layout = Layout::Image2d;
        shape.bytes = 0;
      }
  kernels::StepShape step;
  step.row = &row;
  step.params = item.params.data();
  step.operands = shapes.data();
  step.operand_count = static_cast<uint32_t>(shapes.size());
  step.part_dim = item.part_dim;
  step.part = item.part;
  step.tile = tile.data();
  step.tile_count = static_cast<uint32_t>(tile.size());
  kernels::StepNeeds needs;
  if (const char* expected = kernels::check_step(step, &needs))
    return {std::string("the contract: expected ") + expected};
  kernels::ClLaunch launch;
  kernels::launch_of(step, &launch);

  // Host memory: an image's bytes are those of Nhwc with the same window.
  std::mt19937 random(7);
  std::vector<Guarded> device_memory;
  std::vector<Guarded> ref_memory;
  std::vector<ClOperand> operands;
  std::vector<kernels::TensorView> views;
  const int32_t groups = item.op == OpKind::Conv2d ? step.params_as<Conv2dParams>().groups : 1;
  for (size_t i = 0; i < shapes.size(); ++i) {
    OperandShape ref_shape = item.operands[i];
    if (ref_shape.layout == Layout::Image2d) ref_shape.layout = Layout::Nhwc;
    const bool is_constant = ref_shape.layout == Layout::Packed;
    if (is_constant) ref_shape.layout = Layout::Plain;
    const size_t bytes = static_cast<size_t>(kernels::stored_elements(ref_shape)) * 4;
    ref_memory.emplace_back(bytes);
    device_memory.emplace_back(is_constant ? shapes[i].bytes : bytes);
    const bool is_output = i + 1 == shapes.size();
    if (!is_output) fill(ref_shape, &random, ref_memory[i].data());
    if (is_constant)
      kernels::pack(item.op, static_cast<uint32_t>(i), ref_shape.dims, ref_shape.rank, groups,
                    ref_memory[i].data(), device_memory[i].data());
    else
      std::memcpy(device_memory[i].data(), ref_memory[i].data(), bytes);
    views.push_back(kernels::make_view(ref_shape, ref_memory[i].data()));
    ClOperand operand;
    operand.data = device_memory[i].data();
    operand.bytes = device_memory[i].bytes();
    operand.is_output = is_output;
    operand.is_image = shapes[i].layout == Layout::Image2d;
    if (operand.is_image) {
      operand.width = static_cast<size_t>(kernels::image_width(shapes[i]));
      operand.height = static_cast<size_t>(kernels::image_height(shapes[i]));
    }
    operands.push_back(operand);
  }

  kernels::KernelArgs args;
  args.params = item.params.data();
  args.operands = views.data();
  args.operand_count = static_cast<uint32_t>(views.size());
  args.part_dim = item.part_dim;
  args.part = item.part;
  args.task_end = 1;
  kernels::ref_kernel(item.op)(args);

  Outcome outcome;
  outcome.error = device->run(row, launch, operands, 1, &outcome.micros);
  if (!outcome.error.empty()) return outcome;
  for (const Guarded& memory : device_memory)
    if (!memory.guards_are_whole()) return {"a write outside the operands"};
  const float* expected = ref_memory.back().data();
  const float* found = device_memory.back().data();
  for (size_t i = 0; i < ref_memory.back().bytes() / 4; ++i) {
    if (std::memcmp(&expected[i], &found[i], 4) == 0) continue;
    const float difference = std::fabs(expected[i] - found[i]);
    if (!(difference <= kTolerance * (1.0f + std::fabs(expected[i]))))
      return {"element " + std::to_string(i) + ": expected " + std::to_string(expected[i]) +
              ", found " + std::to_string(found[i])};
  }
  return outcome;
}

// ---- cases --------------------------------------------------------------------------------------

// oclgrind interprets: it gets the small cases.
bool small_cases_only() { return std::getenv("CODL_SMALL_CASES") != nullptr; }

struct Window {
  int32_t kernel_h = 3;
  int32_t kernel_w = 3;
  int32_t stride_h = 1;
  int32_t stride_w = 1;
  int32_t dilation_h = 1;
  int32_t dilation_w = 1;
  int32_t pad_top = 1;
  int32_t pad_left = 1;
  int32_t pad_bottom = 1;
  int32_t pad_right = 1;

  int32_t out_h(int32_t in_h) const {
    return (in_h + pad_top + pad_bottom - (kernel_h - 1) * dilation_h - 1) / stride_h + 1;
  }
  int32_t out_w(int32_t in_w) const {
    return (in_w + pad_left + pad_right - (kernel_w - 1) * dilation_w - 1) / stride_w + 1;
  }
  // Input rows of output rows [rows.begin, rows.end), inside the map.
  Range in_rows(Range rows, int32_t in_h) const {
    const int32_t begin = rows.begin * stride_h - pad_top;
    const int32_t end = (rows.end - 1) * stride_h - pad_top + (kernel_h - 1) * dilation_h + 1;
    return {begin < 0 ? 0 : begin, end > in_h ? in_h : end};
  }
  template <typename Params>
  void put(Params* params) const {
    params->stride_h = stride_h;
    params->stride_w = stride_w;
    params->dilation_h = dilation_h;
    params->dilation_w = dilation_w;
    params->pad_top = pad_top;
    params->pad_left = pad_left;
    params->pad_bottom = pad_bottom;
    params->pad_right = pad_right;
  }
};

const Window kPointwise = {1, 1, 1, 1, 1, 1, 0, 0, 0, 0};
const Window kThree = {};
const Window kThreeStride2 = {3, 3, 2, 2, 1, 1, 1, 1, 1, 1};
const Window kSevenStride2 = {7, 7, 2, 2, 1, 1, 3, 3, 3, 3};
const Window kUneven = {3, 2, 2, 3, 2, 3, 1, 0, 2, 4};  // asymmetric pads, dilation, strides

// Where the rows of a case lie: the operands hold all rows, or a window with rows to spare around
// what the part needs.
enum class Rows { All, OutputWindow, Part };

struct ConvCase {
  const char* name;
  int32_t batch, in_c, out_c, in_h, in_w, groups;
  Window window;
  int32_t activation;
  bool has_residual;
  Rows rows;
  Range channels;  // empty: all
};

// A convolution (in_c == 0: depthwise over out_c channels) as a case of the table.
Case make_conv(const ConvCase& conv) {
  const bool is_depthwise = conv.in_c == 0;
  const OpKind op = is_depthwise ? OpKind::DepthwiseConv2d : OpKind::Conv2d;
  const int32_t in_c = is_depthwise ? conv.out_c : conv.in_c;
  const int32_t out_h = conv.window.out_h(conv.in_h);
  const int32_t out_w = conv.window.out_w(conv.in_w);
  Case item;
  item.name = conv.name;
  item.op = op;
  const auto put = [&](auto params) {
    conv.window.put(&params);
    params.has_residual = conv.has_residual ? 1 : 0;
    params.activation = conv.activation;
    params.activation_alpha = conv.activation == kUnaryClip ? 0.1f : 0.2f;
    params.activation_beta = 0.6f;
    return params;
  };
  if (is_depthwise) {
    item.params = bytes_of(put(DepthwiseConv2dParams{}));
  } else {
    auto params = put(Conv2dParams{});
    params.groups = conv.groups;
    item.params = bytes_of(params);
  }
  Range rows = {0, out_h};
  if (conv.rows != Rows::All) rows = {out_h / 3, out_h / 3 + (out_h + 1) / 2};
  const Range needed = conv.window.in_rows(rows, conv.in_h);
  const Range x_rows = conv.rows == Rows::All
                           ? Range{0, conv.in_h}
                           : Range{needed.begin > 0 ? needed.begin - 1 : 0, needed.end};
  const Range y_rows = conv.rows == Rows::Part ? Range{rows.begin - (rows.begin > 0 ? 1 : 0),
                                                       rows.end + (rows.end < out_h ? 1 : 0)}
                                               : rows;
  item.operands.push_back(nhwc({conv.batch, in_c, conv.in_h, conv.in_w}, x_rows));
  item.operands.push_back(constant({conv.out_c, is_depthwise ? 1 : in_c / conv.groups,
                                    conv.window.kernel_h, conv.window.kernel_w},
                                   op, 1, conv.groups));
  item.operands.push_back(constant({conv.out_c}, op, 2));
  if (conv.has_residual)
    item.operands.push_back(nhwc({conv.batch, conv.out_c, out_h, out_w}, rows));
  item.operands.push_back(nhwc({conv.batch, conv.out_c, out_h, out_w}, y_rows));
  if (conv.rows == Rows::Part) {
    item.part_dim = SplitDim::Height;
    item.part = rows;
  } else if (!conv.channels.empty()) {
    item.part_dim = SplitDim::OutputChannel;
    item.part = conv.channels;
  }
  return item;
}

std::vector<Case> conv2d_cases() {
  const ConvCase small[] = {
      {"3x3", 1, 5, 19, 7, 9, 1, kThree, kUnaryRelu, false, Rows::All, {}},
      {"3x3 part of channels", 1, 5, 35, 6, 8, 1, kThree, kUnaryRelu, false, Rows::All, {16, 32}},
      {"3x3 last channels", 1, 5, 35, 6, 8, 1, kThree, kUnarySigmoid, false, Rows::All, {16, 35}},
      {"3x3 window", 2, 4, 6, 9, 15, 1, kThree, kUnaryRelu, true, Rows::OutputWindow, {}},
      {"3x3 rows", 2, 4, 6, 9, 15, 1, kThree, kUnaryRelu, true, Rows::Part, {}},
      {"1x1", 1, 19, 32, 5, 5, 1, kPointwise, kUnaryRelu, false, Rows::All, {}},
      {"1x1 rows, batch 2", 2, 8, 17, 7, 5, 1, kPointwise, kUnaryRelu, true, Rows::Part, {}},
      {"uneven", 2, 7, 18, 13, 17, 1, kUneven, kUnaryClip, false, Rows::All, {}},
      {"uneven rows", 1, 7, 18, 13, 17, 1, kUneven, kUnaryClip, false, Rows::Part, {}},
      {"narrow", 1, 6, 5, 3, 2, 1, kThree, kUnaryLeakyRelu, false, Rows::All, {}},
      {"groups", 1, 24, 40, 5, 6, 2, kThree, kUnaryRelu, false, Rows::All, {}},
      {"groups of panels", 1, 8, 64, 5, 6, 2, kThree, kUnaryRelu, false, Rows::All, {32, 64}},
  };
  const ConvCase large[] = {
      {"stem", 1, 3, 16, 37, 41, 1, kSevenStride2, kUnaryRelu, false, Rows::All, {}},
      {"stride 2", 1, 33, 64, 29, 28, 1, kThreeStride2, kUnaryTanh, true, Rows::All, {}},
      {"many panels", 1, 96, 208, 14, 14, 1, kThree, kUnaryIdentity, false, Rows::Part, {}},
  };
  std::vector<Case> cases;
  for (const ConvCase& conv : small) cases.push_back(make_conv(conv));
  if (!small_cases_only())
    for (const ConvCase& conv : large) cases.push_back(make_conv(conv));
  return cases;
}

std::vector<Case> depthwise_conv2d_cases() {
  const ConvCase small[] = {
      {"3x3", 1, 0, 22, 7, 9, 1, kThree, kUnaryClip, false, Rows::All, {}},
      {"3x3 part of channels", 1, 0, 35, 6, 8, 1, kThree, kUnaryClip, false, Rows::All, {16, 32}},
      {"3x3 last channels", 1, 0, 35, 6, 8, 1, kThree, kUnaryClip, false, Rows::All, {16, 35}},
      {"3x3 window", 2, 0, 6, 9, 15, 1, kThree, kUnaryRelu, true, Rows::OutputWindow, {}},
      {"3x3 rows", 2, 0, 6, 9, 15, 1, kThree, kUnaryRelu, true, Rows::Part, {}},
      {"1x1", 1, 0, 17, 5, 5, 1, kPointwise, kUnaryRelu, false, Rows::All, {}},
      {"uneven", 2, 0, 18, 13, 17, 1, kUneven, kUnaryClip, false, Rows::All, {}},
  };
  const ConvCase large[] = {
      {"stride 2", 1, 0, 96, 29, 28, 1, kThreeStride2, kUnaryTanh, true, Rows::All, {}},
  };
  std::vector<Case> cases;
  for (const ConvCase& conv : small) cases.push_back(make_conv(conv));
  if (!small_cases_only())
    for (const ConvCase& conv : large) cases.push_back(make_conv(conv));
  return cases;
}

std::vector<Case> matmul_cases() {
  struct {
    const char* name;
    int32_t m, k, n;
    Range columns;
    int32_t activation;
  } const items[] = {
      {"one row", 1, 37, 50, {}, kUnaryRelu},
      {"one row, part", 1, 37, 50, {16, 32}, kUnaryRelu},
      {"one row, last columns", 1, 5, 50, {32, 50}, kUnarySigmoid},
      {"six rows", 6, 33, 16, {}, kUnaryRelu},
      {"few products", 3, 1, 3, {}, kUnaryIdentity},
      {"wide", 1, 512, 1000, {}, kUnaryIdentity},
  };
  std::vector<Case> cases;
  for (const auto& item : items) {
    if (small_cases_only() && item.n > 100) continue;
    MatMulParams params;
    params.activation = item.activation;
    Case made;
    made.name = item.name;
    made.op = OpKind::MatMul;
    made.params = bytes_of(params);
    made.operands = {plain({item.m, item.k}), constant({item.k, item.n}, OpKind::MatMul, 1),
                     constant({item.n}, OpKind::MatMul, 2), plain({item.m, item.n})};
    if (!item.columns.empty()) {
      made.part_dim = SplitDim::OutputChannel;
      made.part = item.columns;
    }
    cases.push_back(made);
  }
  return cases;
}

std::vector<Case> pool2d_cases() {
  struct {
    const char* name;
    int32_t kind, batch, channels, in_h, in_w, out_h, out_w;
    Window window;
    bool count_include_pad;
    Rows rows;
    Range part_channels;
  } const items[] = {
      {"maximum 3x3", kPool2dMax, 2, 22, 9, 7, 5, 4, kThreeStride2, false, Rows::All, {}},
      {"maximum rows", kPool2dMax, 2, 6, 9, 7, 5, 4, kThreeStride2, false, Rows::Part, {}},
      {"maximum channels", kPool2dMax, 1, 35, 5, 6, 5, 6, kThree, false, Rows::All, {16, 32}},
      {"average", kPool2dAverage, 1, 35, 5, 6, 5, 6, kThree, false, Rows::All, {16, 35}},
      {"average, pads count", kPool2dAverage, 1, 5, 5, 6, 5, 6, kThree, true, Rows::Part, {}},
      {"ceil mode", kPool2dAverage, 1, 5, 6, 6, 4, 4, kThreeStride2, true, Rows::All, {}},
      {"uneven", kPool2dMax, 1, 5, 13, 17, 6, 6, kUneven, false, Rows::All, {}},
      {"whole map",
       kPool2dAverage,
       2,
       21,
       11,
       13,
       1,
       1,
       {11, 13, 1, 1, 1, 1, 0, 0, 0, 0},
       false,
       Rows::All,
       {}},
      {"whole map, maximum",
       kPool2dMax,
       1,
       35,
       8,
       9,
       1,
       1,
       {8, 9, 1, 1, 1, 1, 0, 0, 0, 0},
       false,
       Rows::All,
       {16, 32}},
      {"small whole map",
       kPool2dAverage,
       1,
       70,
       7,
       7,
       1,
       1,
       {7, 7, 1, 1, 1, 1, 0, 0, 0, 0},
       false,
       Rows::All,
       {}},
  };
  std::vector<Case> cases;
  for (const auto& item : items) {
    Pool2dParams params;
    params.kind = item.kind;
    params.kernel_h = item.window.kernel_h;
    params.kernel_w = item.window.kernel_w;
    item.window.put(&params);
    params.count_include_pad = item.count_include_pad ? 1 : 0;
    Case made;
    made.name = item.name;
    made.op = OpKind::Pool2d;
    made.params = bytes_of(params);
    Range rows = {0, item.out_h};
    if (item.rows == Rows::Part) rows = {1, item.out_h - 1};
    made.operands = {
        nhwc({item.batch, item.channels, item.in_h, item.in_w},
             item.rows == Rows::Part ? item.window.in_rows(rows, item.in_h) : Range{0, item.in_h}),
        nhwc({item.batch, item.channels, item.out_h, item.out_w})};
    if (item.rows == Rows::Part) {
      made.part_dim = SplitDim::Height;
      made.part = rows;
    } else if (!item.part_channels.empty()) {
      made.part_dim = SplitDim::OutputChannel;
      made.part = item.part_channels;
    }
    cases.push_back(made);
  }
  return cases;
}

// Parts and windows of steps whose output row needs the input row of the same number.
struct SameRows {
  const char* name;
  std::initializer_list<int32_t> dims;
  Range x_rows, y_rows;
  SplitDim part_dim;
  Range part;
};
const SameRows kSameRows[] = {
    {"all", {2, 6, 5, 3}, {0, 5}, {0, 5}, SplitDim::None, {}},
    {"whole texels", {2, 24, 5, 7}, {0, 5}, {0, 5}, SplitDim::None, {}},
    {"window", {2, 24, 9, 3}, {1, 8}, {3, 7}, SplitDim::None, {}},
    {"rows", {2, 19, 9, 3}, {1, 8}, {2, 9}, SplitDim::Height, {3, 6}},
    {"channels", {2, 51, 4, 3}, {0, 4}, {1, 3}, SplitDim::OutputChannel, {16, 32}},
    {"last channels", {1, 51, 4, 3}, {0, 4}, {1, 3}, SplitDim::OutputChannel, {32, 51}},
};

std::vector<Case> unary_cases(bool with_plain) {
  std::vector<Case> cases;
  const auto add = [&](int32_t kind, const std::string& name, const OperandShape& x,
                       const OperandShape& y) {
    Case made;
    made.name = name;
    made.op = OpKind::Unary;
    UnaryParams params;
    params.kind = kind;
    params.alpha = kind == kUnaryClip ? 0.1f : 0.2f;
    params.beta = 0.6f;
    made.params = bytes_of(params);
    made.operands = {x, y};
    cases.push_back(made);
  };
  for (const SameRows& item : kSameRows) {
    add(kUnarySigmoid, item.name, nhwc(item.dims, item.x_rows), nhwc(item.dims, item.y_rows));
    cases.back().part_dim = item.part_dim;
    cases.back().part = item.part;
  }
  for (const FamilyMember& member : kFamilyMembers)
    if (member.op == OpKind::Unary)
      add(member.kind, std::string(member.name), nhwc({1, 18, 3, 3}), nhwc({1, 18, 3, 3}));
  if (with_plain) {
    add(kUnarySigmoid, "plain", plain({3, 5, 7}), plain({3, 5, 7}));
    add(kUnarySigmoid, "scalar", plain({}), plain({}));
  }
  return cases;
}

std::vector<Case> binary_cases(bool with_plain) {
  std::vector<Case> cases;
  const auto add = [&](int32_t kind, const std::string& name, const OperandShape& a,
                       const OperandShape& b, const OperandShape& y) {
    Case made;
    made.name = name;
    made.op = OpKind::Binary;
    BinaryParams params;
    params.kind = kind;
    params.activation = kUnaryLeakyRelu;
    params.activation_alpha = 0.25f;
    made.params = bytes_of(params);
    made.operands = {a, b, y};
    cases.push_back(made);
  };
  const auto part = [&](const SameRows& item) {
    cases.back().part_dim = item.part_dim;
    cases.back().part = item.part;
  };
  for (const SameRows& item : kSameRows) {
    const int32_t channels = item.dims.begin()[1];
    const OperandShape x = nhwc(item.dims, item.x_rows);
    const OperandShape y = nhwc(item.dims, item.y_rows);
    add(kBinarySub, std::string("same: ") + item.name, x, y, y);
    part(item);
    add(kBinarySub, std::string("per channel: ") + item.name, x, plain({channels, 1, 1}), y);
    part(item);
  }
  const OperandShape x = nhwc({1, 18, 3, 3});
  add(kBinaryDiv, "scalar over same", plain({}), x, x);
  add(kBinaryMul, "channel times scalar", plain({1, 3, 1, 1}), plain({1}), nhwc({1, 3, 1, 1}));
  add(kBinaryAdd, "scalar", x, plain({1, 1, 1, 1}), x);
  if (with_plain) {
    add(kBinaryAdd, "plain", plain({3, 5, 7}), plain({3, 5, 7}), plain({3, 5, 7}));
    add(kBinaryDiv, "plain over scalar", plain({3, 5}), plain({1, 1}), plain({3, 5}));
  }
  return cases;
}

std::vector<Case> concat_cases() {
  std::vector<Case> cases;
  const auto add = [&](const char* name, std::initializer_list<int32_t> channels, Range x_rows,
                       Range y_rows, Range part) {
    Case made;
    made.name = name;
    made.op = OpKind::Concat;
    ConcatParams params;
    params.axis = 1;
    made.params = bytes_of(params);
    int32_t sum = 0;
    Range rows = x_rows;
    for (int32_t count : channels) {
      made.operands.push_back(nhwc({2, count, 7, 3}, rows));
      if (rows.begin > 0) --rows.begin;
      sum += count;
    }
    made.operands.push_back(nhwc({2, sum, 7, 3}, y_rows));
    if (!part.empty()) {
      made.part_dim = SplitDim::Height;
      made.part = part;
    }
    cases.push_back(made);
  };
  add("one", {5}, {0, 7}, {0, 7}, {});
  add("whole texels", {8, 20}, {0, 7}, {0, 7}, {});
  add("any channels", {3, 18, 1, 2, 17}, {2, 6}, {2, 5}, {});
  add("rows", {3, 18, 1, 2, 17}, {2, 6}, {0, 7}, {3, 5});
  add("eight", {1, 2, 3, 4, 5, 6, 7, 8}, {0, 7}, {0, 7}, {});
  return cases;
}

std::vector<Case> reshape_cases() {
  std::vector<Case> cases;
  for (const auto& [x, y] :
       {std::pair{plain({2, 3, 5}), plain({30})}, std::pair{plain({64, 33}), plain({1, 64, 33})}}) {
    Case made;
    made.name = std::to_string(kernels::element_count(x)) + " elements";
    made.op = OpKind::Reshape;
    made.params = {0};
    made.operands = {x, y};
    cases.push_back(made);
  }
  return cases;
}

// `x`, `y`: Plain, Nhwc or Image2d.
std::vector<Case> convert_cases(Layout x, Layout y) {
  std::vector<Case> cases;
  for (const SameRows& item : kSameRows) {
    Case made;
    made.name = item.name;
    made.op = OpKind::Convert;
    made.params = {0};
    made.operands = {x == Layout::Plain ? plain(item.dims) : pixels(x, item.dims, item.x_rows),
                     y == Layout::Plain ? plain(item.dims) : pixels(y, item.dims, item.y_rows)};
    made.part_dim = item.part_dim;
    made.part = item.part;
    // A Plain output has all rows, so without a part all must be in x.
    if (y == Layout::Plain && item.part_dim != SplitDim::Height) {
      if (x != Layout::Plain) made.operands[0] = pixels(x, item.dims, {0, item.dims.begin()[2]});
    }
    cases.push_back(made);
  }
  return cases;
}

const KernelRow& row_named(std::string_view symbol) {
  for (const KernelRow& row : kKernelRows)
    if (symbol == row.symbol) return row;
  FAIL("expected a row " << symbol);
  return kKernelRows[0];
}

void check_row(std::string_view symbol, const std::vector<Case>& cases,
               const std::vector<int32_t>& tile = {}) {
  std::string reason;
  ClDevice* device = ClDevice::get(&reason);
  if (!device) {
    WARN("[SKIP] OpenCL kernels: " << reason);
    return;
  }
  const KernelRow& row = row_named(symbol);
  for (const Case& item : cases) {
    INFO(symbol << ": " << item.name);
    const bool as_images = row.layout == Layout::Image2d && row.op != OpKind::Convert;
    CHECK(run_case(device, row, item, as_images, tile).error == "");
  }
}

TEST_CASE("OpenCL convolutions equal the reference", "[opencl]") {
  check_row("conv2d_f32_cl_buffer", conv2d_cases());
  check_row("conv2d_f32_cl_image", conv2d_cases());
  check_row("depthwise_conv2d_f32_cl_buffer", depthwise_conv2d_cases());
  check_row("depthwise_conv2d_f32_cl_image", depthwise_conv2d_cases());
}

TEST_CASE("OpenCL matrix products equal the reference", "[opencl]") {
  check_row("matmul_f32_cl_buffer", matmul_cases());
}

TEST_CASE("OpenCL pooling equals the reference", "[opencl]") {
  check_row("pool2d_f32_cl_buffer", pool2d_cases());
  check_row("pool2d_f32_cl_image", pool2d_cases());
}

TEST_CASE("OpenCL element-wise kernels equal the reference", "[opencl]") {
  check_row("unary_f32_cl_buffer", unary_cases(true));
  check_row("unary_f32_cl_image", unary_cases(false));
  check_row("binary_f32_cl_buffer", binary_cases(true));
  check_row("binary_f32_cl_image", binary_cases(false));
}

TEST_CASE("OpenCL kernels that move data equal the reference", "[opencl]") {
  check_row("concat_f32_cl_buffer", concat_cases());
  check_row("concat_f32_cl_image", concat_cases());
  check_row("reshape_f32_cl_buffer", reshape_cases());
  for (Layout x : {Layout::Plain, Layout::Nhwc})
    for (Layout y : {Layout::Plain, Layout::Nhwc})
      check_row("convert_f32_cl_buffer", convert_cases(x, y));
  for (Layout layout : {Layout::Plain, Layout::Nhwc}) {
    check_row("convert_f32_cl_to_image", convert_cases(layout, Layout::Image2d));
    check_row("convert_f32_cl_from_image", convert_cases(Layout::Image2d, layout));
  }
}

}  // namespace
}  // namespace codl::test
