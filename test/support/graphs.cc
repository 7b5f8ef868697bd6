#include "test/support/graphs.h"

#include "compiler/ops/op_spec.h"
#include "kernels/conv2d/winograd.h"
#include "llvm/ADT/STLExtras.h"

namespace codl::test {
namespace {

ir::TensorType f32(ir::Dims dims, Layout layout = Layout::Plain) {
  return {DType::F32, std::move(dims), layout};
}

ir::ValueId zeros(ir::Graph& graph, const std::string& name, ir::Dims dims) {
  ir::TensorType type = f32(std::move(dims));
  return graph.add_constant(name, type,
                            std::vector<uint8_t>(static_cast<size_t>(type.element_count()) * 4));
}

}  // namespace

GraphBuilder::GraphBuilder(int32_t channels, int32_t rows, int32_t columns) {
  const ir::ValueId x = graph_.add_input("x", f32({1, channels, rows, columns}));
  input_ = graph_.add_node({OpKind::Convert, {}, {x}, ir::kNoId, "to_nhwc"}, "x_nhwc",
                           f32({1, channels, rows, columns}, Layout::Nhwc));
}

ir::ValueId GraphBuilder::conv(const std::string& name, ir::ValueId x, int32_t out_channels,
                               int32_t kernel, int32_t stride, ir::ValueId residual) {
  const ir::Dims in = graph_.value(x).type.dims;
  const ir::ValueId w = zeros(graph_, name + "_w", {out_channels, in[1], kernel, kernel});
  const ir::ValueId bias = zeros(graph_, name + "_b", {out_channels});
  Conv2dParams params;
  params.stride_h = params.stride_w = stride;
  params.dilation_h = params.dilation_w = params.groups = 1;
  params.pad_top = params.pad_left = params.pad_bottom = params.pad_right = kernel / 2;
  params.has_residual = residual != ir::kNoId;
  ir::Node node{
      OpKind::Conv2d, ir::OpParams::of(OpKind::Conv2d, params), {x, w, bias}, ir::kNoId, name};
  if (residual != ir::kNoId) node.inputs.push_back(residual);
  const auto out = [&](int32_t extent) {
    return (extent + 2 * (kernel / 2) - kernel) / stride + 1;
  };
  return graph_.add_node(std::move(node), name + "_out",
                         f32({in[0], out_channels, out(in[2]), out(in[3])}, Layout::Nhwc));
}

ir::ValueId GraphBuilder::add(const std::string& name, ir::ValueId a, ir::ValueId b) {
  BinaryParams params;
  params.kind = kBinaryAdd;
  return graph_.add_node(
      {OpKind::Binary, ir::OpParams::of(OpKind::Binary, params), {a, b}, ir::kNoId, name},
      name + "_out", graph_.value(a).type);
}

ir::ValueId GraphBuilder::concat(const std::string& name, const std::vector<ir::ValueId>& values) {
  ir::TensorType type = graph_.value(values[0]).type;
  for (size_t i = 1; i < values.size(); ++i) type.dims[1] += graph_.value(values[i]).type.dims[1];
  ir::Node node{OpKind::Concat,
                ir::OpParams::of(OpKind::Concat, ConcatParams{.axis = 1}),
                {},
                ir::kNoId,
                name};
  node.inputs.append(values.begin(), values.end());
  return graph_.add_node(std::move(node), name + "_out", type);
}

ir::Graph GraphBuilder::finish(ir::ValueId value) {
  ir::TensorType type = graph_.value(value).type;
  type.layout = Layout::Plain;
  const ir::ValueId y =
      graph_.add_node({OpKind::Convert, {}, {value}, ir::kNoId, "to_plain"}, "y", type);
  graph_.set_outputs({y});
  return std::move(graph_);
}

namespace {

// Says whether an operator that is not a copy writes images.
bool has_image_kernel(OpKind op) {
  return op != OpKind::Convert && llvm::any_of(kKernelInfos, [&](const KernelInfo& info) {
           return info.op == op && info.layout == Layout::Image2d;
         });
}

}  // namespace

compiler::DeviceProfile test_profile(Sharing sharing, Layout gpu_layout) {
  compiler::DeviceProfile profile;
  profile.name = "test";
  profile.has_gpu = true;
  profile.transfer.sharing = sharing;
  profile.gpu_layout = gpu_layout;
  profile.image_max_width = profile.image_max_height = 16384;
  profile.transfer.sync_us = {5, compiler::Origin::Assumed, "test"};
  profile.machine.cpu.fma_per_cycle = 1e3 / profile.machine.cpu.vector_lanes;
  profile.machine.gpu.fma_per_cycle = 1e3;
  for (const KernelInfo& info : kKernelInfos) {
    const std::string_view symbol = info.symbol;
    if (kernels::winograd_outputs(info.packing) != 0 || symbol == "conv2d_f32_cl_quad" ||
        symbol == "conv2d_f32_cl_tiled")
      profile.unused_kernels.push_back(info.id);
    compiler::Calibration& calibration = profile.kernels[info.id - 1];
    const bool is_slow = gpu_layout == Layout::Image2d && info.processor == Processor::Gpu &&
                         info.layout != Layout::Image2d && has_image_kernel(info.op);
    calibration.shares[compiler::Term::Compute] = calibration.shares[compiler::Term::Step] =
        is_slow ? 10 : 1;
    calibration.source = "test";
  }
  return profile;
}

}  // namespace codl::test
