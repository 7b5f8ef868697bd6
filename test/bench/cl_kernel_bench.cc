// Measures OpenCL kernels, above all those that multiply, on the first OpenCL device, by its own
// clock, next to each other and checked against each other. ctest does not run it.
//
//   cl_kernel_bench [--rows=PART] [--tile=M,N,K,IM,IN,S]... [--repeats=N] SHAPE...
//
// SHAPE: conv:IN_C:OUT_C:SIDE:KERNEL:STRIDE:PAD[:GROUPS], depthwise:C:SIDE:KERNEL:STRIDE:PAD,
// matmul:M:K:N, batch:PRODUCTS:M:K:N[:ORDERS] (1: a transposed, 2: b, 3: both). Others, of which
// GFLOP are elements: layer:ROWS:LANES (LayerNorm), softmax:ROWS:LANES, add:ROWS:LANES (a row to
// each), turn:A:B:C (axes 0, 2, 1), swap:A:B:C (1, 0, 2), relu:C:SIDE, pool:C:SIDE:KERNEL:STRIDE,
// resize:C:SIDE:FACTOR. A kernel is timed with its own choice and with every --tile that its
// contract accepts; PART is a part of the symbols.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "test/kernels/batch_matmul_cases.h"
#include "test/kernels/conv_case.h"
#include "test/kernels/cpu_runner.h"
#include "test/kernels/pool2d_cases.h"
#include "test/support/cl_device.h"

namespace codl::test {
namespace {

std::vector<int32_t> numbers_of(const std::string& text, char separator) {
  std::vector<int32_t> numbers;
  for (size_t at = 0; at < text.size();) {
    numbers.push_back(std::atoi(text.c_str() + at));
    const size_t end = text.find(separator, at);
    at = end == std::string::npos ? text.size() : end + 1;
  }
  return numbers;
}

// Makes the case of a kernel that does not multiply.
bool moves_case_of(const std::string& shape, const std::vector<int32_t>& n, KernelCase* item) {
  const auto is = [&](const char* name, size_t count) {
    return shape.starts_with(name) && n.size() == count;
  };
  if (is("layer:", 2)) {
    const OperandShape x = plain_operand({n[0], n[1]});
    const OperandShape row = plain_operand({n[1]});
    const NormalizeParams params = {
        .axes_mask = 2, .has_scale = 1, .has_bias = 1, .epsilon = 1e-5f};
    *item = {"", OpKind::Normalize, words_of(params), {x, row, row, x}};
  } else if (is("softmax:", 2)) {
    const OperandShape x = plain_operand({n[0], n[1]});
    *item = {"", OpKind::Softmax, words_of(SoftmaxParams{.axis = 1}), {x, x}};
  } else if (is("add:", 2)) {
    const OperandShape x = plain_operand({n[0], n[1]});
    const BinaryParams params = {.kind = kBinaryAdd};
    *item = {"", OpKind::Binary, words_of(params), {x, plain_operand({n[1]}), x}};
  } else if (is("turn:", 3)) {
    const TransposeParams params = {.perm_0 = 0, .perm_1 = 2, .perm_2 = 1};
    *item = {"",
             OpKind::Transpose,
             words_of(params),
             {plain_operand({n[0], n[1], n[2]}), plain_operand({n[0], n[2], n[1]})}};
  } else if (is("swap:", 3)) {
    const TransposeParams params = {.perm_0 = 1, .perm_1 = 0, .perm_2 = 2};
    *item = {"",
             OpKind::Transpose,
             words_of(params),
             {plain_operand({n[0], n[1], n[2]}), plain_operand({n[1], n[0], n[2]})}};
  } else if (is("relu:", 2)) {
    const OperandShape x = nhwc_operand({1, n[0], n[1], n[1]});
    *item = {"", OpKind::Unary, words_of(UnaryParams{.kind = kUnaryRelu}), {x, x}};
  } else if (is("pool:", 4)) {
    *item = make_pool2d_case(
        {.name = "", .channels = n[0], .in_h = n[1], .in_w = n[1], .kernel = n[2], .stride = n[3]});
  } else if (is("resize:", 3)) {
    ResizeParams params = {
        .kind = kResizeLinear, .coordinates = kResizeHalfPixel, .nearest = kResizeFloor};
    params.scale_0 = params.scale_1 = 1.0f;
    params.scale_2 = params.scale_3 = static_cast<float>(n[2]);
    *item = {
        "",
        OpKind::Resize,
        words_of(params),
        {nhwc_operand({1, n[0], n[1], n[1]}), nhwc_operand({1, n[0], n[1] * n[2], n[1] * n[2]})}};
  } else {
    return false;
  }
  return true;
}

KernelCase case_of(const std::string& shape) {
  const std::vector<int32_t> n = numbers_of(shape.substr(shape.find(':') + 1), ':');
  if (shape.starts_with("conv:") && n.size() >= 6) {
    const ConvWindow window = {n[3], n[3], n[4], n[4], 1, 1, n[5], n[5], n[5], n[5]};
    return make_conv_case(OpKind::Conv2d, {.name = "",
                                           .in_c = n[0],
                                           .out_c = n[1],
                                           .in_h = n[2],
                                           .in_w = n[2],
                                           .window = window,
                                           .groups = n.size() > 6 ? n[6] : 1,
                                           .activation = kUnaryRelu});
  }
  if (shape.starts_with("depthwise:") && n.size() == 5) {
    const ConvWindow window = {n[2], n[2], n[3], n[3], 1, 1, n[4], n[4], n[4], n[4]};
    return make_conv_case(OpKind::DepthwiseConv2d, {.name = "",
                                                    .out_c = n[0],
                                                    .in_h = n[1],
                                                    .in_w = n[1],
                                                    .window = window,
                                                    .activation = kUnaryRelu});
  }
  if (shape.starts_with("batch:") && n.size() >= 4)
    return make_batch_matmul_case("", n.size() > 4 ? n[4] : 0, {n[0], n[1], n[2]},
                                  {n[0], n[2], n[3]});
  KernelCase item;
  if (moves_case_of(shape, n, &item)) return item;
  if (!shape.starts_with("matmul:") || n.size() != 3) {
    std::fprintf(stderr, "expected a shape as test/bench/cl_kernel_bench.cc lists them, found %s\n",
                 shape.c_str());
    std::exit(1);
  }
  item.op = OpKind::MatMul;
  item.params = words_of(MatMulParams{});
  item.operands = {plain_operand({n[0], n[1]}), packed_operand({n[1], n[2]}),
                   packed_operand({n[2]}), plain_operand({n[0], n[2]})};
  return item;
}

// Counts a product for each element of the output with each tap of the filter, or along a's depth.
double gflop_of(const KernelCase& item) {
  double macs = static_cast<double>(kernels::element_count(item.operands.back()));
  const OperandShape& a = item.operands[0];
  const OperandShape& w = item.operands[1];
  if (item.op == OpKind::MatMul) {
    macs *= w.dims[0];
  } else if (item.op == OpKind::BatchMatMul) {
    macs *= static_cast<double>(kernels::element_count(a)) /
            (item.operands.back().dims[0] * static_cast<double>(item.operands.back().dims[1]));
  } else if (w.layout != Layout::Packed) {
    return 1e-9 * macs;
  } else {
    for (int32_t i = 1; i < w.rank; ++i) macs *= w.dims[i];
  }
  return 2e-9 * macs;
}

struct Bench {
  ClDevice* device;
  std::string rows;
  std::vector<std::vector<int32_t>> tiles;
  int repeats = 5;

  void run(const std::string& shape) const {
    const KernelCase item = case_of(shape);
    const CaseInputs inputs(item, 1);
    GuardedMemory expected(static_cast<size_t>(item.operands.back().bytes));
    bool has_expected = false;
    for (const KernelInfo& kernel : kKernelInfos) {
      if (kernel.op != item.op || kernel.processor != Processor::Gpu ||
          std::strstr(kernel.symbol, rows.c_str()) == nullptr)
        continue;
      KernelCase device_item = case_for(kernel, item);
      std::vector<GuardedMemory> memory;
      for (size_t i = 0; i + 1 < item.operands.size(); ++i)
        memory.push_back(inputs.memory(kernel, i, device_item.operands[i]));
      for (OperandShape& operand : device_item.operands)
        if (kernel.layout == Layout::Image2d && operand.layout == Layout::Nhwc) {
          operand.layout = Layout::Image2d;
          operand.bytes = 0;
        }
      for (const std::vector<int32_t>& tile : tiles) {
        kernels::StepShape step = step_of(kernel, device_item);
        step.tile = tile.data();
        step.tile_count = static_cast<uint32_t>(tile.size());
        kernels::StepNeeds needs;
        if (kernels::check_step(step, &needs) != nullptr) continue;
        kernels::ClLaunch launch;
        kernels::launch_of(step, &launch);
        GuardedMemory y(static_cast<size_t>(item.operands.back().bytes));
        std::vector<ClOperand> operands;
        for (size_t i = 0; i < item.operands.size(); ++i) {
          const OperandShape& operand = device_item.operands[i];
          const bool is_output = i + 1 == item.operands.size();
          ClOperand& to = operands.emplace_back();
          to.data = is_output ? y.data() : memory[i].data();
          to.bytes = is_output ? y.bytes() : memory[i].bytes();
          to.is_output = is_output;
          to.is_image = operand.layout == Layout::Image2d;
          if (!to.is_image) continue;
          to.width = static_cast<size_t>(kernels::image_width(operand));
          to.height = static_cast<size_t>(kernels::image_height(operand));
        }
        std::vector<double> micros;
        std::string error = device->run(kernel, launch, operands, repeats, &micros);
        const double us = micros.empty() ? 0 : *std::min_element(micros.begin(), micros.end());
        if (error.empty() && has_expected) error = large_difference(expected, y);
        if (!has_expected) std::memcpy(expected.data(), y.data(), y.bytes());
        has_expected = true;
        std::string numbers;
        for (uint32_t i = 0; i < launch.define_count; ++i)
          numbers += " " + std::to_string(launch.defines[i].value);
        std::printf(
            "%-28s %-24s%s%-28s %9.1f us %9.1f GFLOP/s groups %llu %s\n", shape.c_str(),
            kernel.symbol, tile.empty() ? " " : "*", numbers.c_str(), us, gflop_of(item) / us * 1e6,
            static_cast<unsigned long long>(
                launch.local[0] == 0 ? 0 : launch.global[0] / launch.local[0] * launch.global[1]),
            error.substr(0, 300).c_str());
        std::fflush(stdout);
      }
    }
  }
};

}  // namespace
}  // namespace codl::test

int main(int argc, char** argv) {
  using namespace codl::test;
  std::string reason;
  Bench bench = {ClDevice::get(&reason), "", {{}}};
  if (!bench.device) {
    std::fprintf(stderr, "%s\n", reason.c_str());
    return 1;
  }
  std::printf("device: %s\n", bench.device->name().c_str());
  for (int i = 1; i < argc; ++i) {
    const std::string text = argv[i];
    if (text.starts_with("--rows="))
      bench.rows = text.substr(7);
    else if (text.starts_with("--tile="))
      bench.tiles.push_back(numbers_of(text.substr(7), ','));
    else if (text.starts_with("--repeats="))
      bench.repeats = std::atoi(text.c_str() + 10);
    else
      bench.run(text);
  }
  return 0;
}
