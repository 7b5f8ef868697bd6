#include "profiler/measure/context_networks.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "kernels/kernel_table.h"
#include "kernels/pack.h"

namespace codl::profiler {
namespace {

// Returns plain tensors and maps: their layout gives the dims.
OperandShape shape_of(Layout layout, std::initializer_list<int32_t> dims) {
  OperandShape shape;
  shape.dtype = DType::F32;
  shape.layout = layout;
  for (int32_t dim : dims) shape.dims[shape.rank++] = dim;
  if (layout == Layout::Nhwc) shape.row_end = shape.dims[2];
  shape.bytes = memory_bytes(shape);
  return shape;
}

OperandShape packed(const KernelInfo& info, uint32_t index, std::initializer_list<int32_t> dims) {
  OperandShape shape = shape_of(Layout::Plain, dims);
  shape.layout = Layout::Packed;
  shape.bytes =
      kernels::packed_bytes({info.packing_of(index), shape.dtype}, shape.dims, shape.rank, 1);
  return shape;
}

template <typename Params>
void set_window(Params* params, int32_t kernel) {
  params->stride_h = params->stride_w = params->dilation_h = params->dilation_w = 1;
  params->pad_top = params->pad_left = params->pad_bottom = params->pad_right = (kernel - 1) / 2;
  params->activation = kUnaryRelu;
}

StepCase whole_step(OpKind op, std::vector<int32_t> params, std::vector<OperandShape> operands) {
  StepCase item;
  item.op = op;
  item.params = std::move(params);
  item.operands = std::move(operands);
  return item;
}

StepCase convolution(const ContextNetwork& network, const KernelInfo& info, int32_t kernel) {
  Conv2dParams params;
  set_window(&params, kernel);
  params.groups = 1;
  const int32_t side = network.side;
  return whole_step(
      OpKind::Conv2d, words_of(params),
      {shape_of(Layout::Nhwc, {1, network.in, side, side}),
       packed(info, 1, {network.out, network.in, kernel, kernel}), packed(info, 2, {network.out}),
       shape_of(Layout::Nhwc, {1, network.out, side, side})});
}

StepCase depthwise(const ContextNetwork& network, const KernelInfo& info) {
  DepthwiseConv2dParams params;
  set_window(&params, 3);
  const OperandShape map = shape_of(Layout::Nhwc, {1, network.in, network.side, network.side});
  return whole_step(
      OpKind::DepthwiseConv2d, words_of(params),
      {map, packed(info, 1, {network.in, 1, 3, 3}), packed(info, 2, {network.in}), map});
}

StepCase join(const ContextNetwork& network) {
  ConcatParams params;
  params.axis = 1;
  const int32_t side = network.side;
  const OperandShape map = shape_of(Layout::Nhwc, {1, network.in, side, side});
  return whole_step(OpKind::Concat, words_of(params),
                    {map, map, shape_of(Layout::Nhwc, {1, network.out, side, side})});
}

StepCase product(const ContextNetwork& network, const KernelInfo& info) {
  MatMulParams params;
  params.activation = kUnaryIdentity;
  return whole_step(
      OpKind::MatMul, words_of(params),
      {shape_of(Layout::Plain, {1, network.in}), packed(info, 1, {network.in, network.out}),
       packed(info, 2, {network.out}), shape_of(Layout::Plain, {1, network.out})});
}

StepCase whole_layer(const ContextNetwork& network, const KernelInfo& info) {
  switch (network.kind) {
    case ContextKind::Pointwise:
      return convolution(network, info, 1);
    case ContextKind::Depthwise:
      return depthwise(network, info);
    case ContextKind::Window:
      return convolution(network, info, 3);
    case ContextKind::Join:
      return join(network);
    case ContextKind::Product:
    case ContextKind::Stream:
      return product(network, info);
  }
  __builtin_unreachable();
}

const KernelInfo* kernel_named(std::string_view symbol) {
  const auto* const found =
      std::find_if(std::begin(kKernelInfos), std::end(kKernelInfos),
                   [&](const KernelInfo& info) { return info.symbol == symbol; });
  return found == std::end(kKernelInfos) ? nullptr : &*found;
}

// Returns kernels of maps in buffers, which every device has.
std::pair<const KernelInfo*, const KernelInfo*> kernels_of(ContextKind kind) {
  switch (kind) {
    case ContextKind::Pointwise:
    case ContextKind::Window:
      return {kernel_named("conv2d_f32_cpu"), kernel_named("conv2d_f32_cl_buffer")};
    case ContextKind::Depthwise:
      return {kernel_named("depthwise_conv2d_f32_cpu"),
              kernel_named("depthwise_conv2d_f32_cl_buffer")};
    case ContextKind::Join:
      return {kernel_named("concat_f32_cpu"), kernel_named("concat_f32_cl_buffer")};
    case ContextKind::Product:
    case ContextKind::Stream:
      return {kernel_named("matmul_f32_cpu"), kernel_named("matmul_f32_cl_buffer")};
  }
  __builtin_unreachable();
}

}  // namespace

std::vector<ContextLayer> layers_of(const ContextNetwork& network, double gpu_share) {
  const auto [cpu_row, gpu_row] = kernels_of(network.kind);
  ContextLayer layer = {cpu_row, gpu_row, whole_layer(network, *cpu_row),
                        whole_layer(network, *gpu_row)};
  const bool has_rows = network.side > 1;
  const int32_t grain = has_rows ? 1 : kChannelPanel;
  const int32_t extent = has_rows ? network.side : network.out;
  const int32_t cut = static_cast<int32_t>(std::lround(extent * (1 - gpu_share) / grain)) * grain;
  layer.cpu.part_dim = layer.gpu.part_dim = has_rows ? SplitDim::Height : SplitDim::OutputChannel;
  layer.cpu.part = {0, cut};
  layer.gpu.part = {cut, extent};
  if (network.kind == ContextKind::Stream) {
    const double column_bytes = static_cast<double>(layer.cpu.operands[1].bytes) / extent;
    layer.cpu_memory_bytes = column_bytes * cut;
    layer.gpu_memory_bytes = column_bytes * (extent - cut);
  }
  return std::vector<ContextLayer>(static_cast<size_t>(network.layers), layer);
}

}  // namespace codl::profiler
