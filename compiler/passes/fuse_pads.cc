// Makes a Pad around maps the padding of the convolution or pooling that reads it.
//
// Needs:   a Pad of rows and columns only, with a constant: zero for a convolution or an average;
//          for a maximum the least float, or zero around a map that is never negative. No window
//          of a pooling lies in the padding altogether. The average has no padding of its own, or
//          one that counts. A Transpose between the two (a network of another layout) goes before
//          the Pad.
// Gives:   the reader reads the Pad's operand, with more padding; the Pad is gone when it has no
//          readers left. Numerics are unchanged.
// Order:   after sink_transposes and eliminate_dead, which bring Pads to their readers; before the
//          fusions, which look at a convolution's operand.
#include <limits>
#include <optional>

#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "kernels/pad/pad.h"

namespace codl::compiler {
namespace {

struct MapPad {
  ir::ValueId x = ir::kNoId;
  float value = 0;
  int32_t top = 0, bottom = 0, left = 0, right = 0;
};

// Returns the constant that a Pad of f32 writes; nothing if it is computed or the Pad repeats
// elements.
std::optional<float> pad_value(const ir::NodeView& pad) {
  const auto params = pad.params<PadParams>();
  if (params.kind != kPadConstant || pad.output().dtype != DType::F32) return std::nullopt;
  if (!params.has_value) return 0.0f;
  if (!pad.input_value(1).is_constant) return std::nullopt;
  return pad.input_value(1).as<float>()[0];
}

std::optional<MapPad> map_pad(const ir::NodeView& pad) {
  if (pad.node.op != OpKind::Pad || pad.output().rank() != 4) return std::nullopt;
  const std::optional<float> value = pad_value(pad);
  const kernels::PadAxes axes = kernels::pad_axes(pad.params<PadParams>());
  for (int axis : {0, 1})
    if (axes.begin[axis] != 0 || axes.end[axis] != 0) return std::nullopt;
  if (!value) return std::nullopt;
  return MapPad{pad.node.inputs[0], *value, axes.begin[2], axes.end[2], axes.begin[3], axes.end[3]};
}

template <typename Params>
void widen(Params& params, const MapPad& pad) {
  params.pad_top += pad.top;
  params.pad_bottom += pad.bottom;
  params.pad_left += pad.left;
  params.pad_right += pad.right;
}

template <typename Params>
bool has_padding(const Params& params) {
  return params.pad_top != 0 || params.pad_bottom != 0 || params.pad_left != 0 ||
         params.pad_right != 0;
}

bool is_never_negative(int32_t activation, float alpha) {
  switch (activation) {
    case kUnaryRelu:
    case kUnarySigmoid:
    case kUnaryHardSigmoid:
      return true;
    case kUnaryClip:
      return alpha >= 0;  // alpha is the least value
    default:
      return false;
  }
}

bool is_never_negative(const ir::Graph& graph, ir::ValueId value) {
  const ir::NodeId producer = graph.value(value).producer;
  if (producer == ir::kNoId) return false;
  const ir::Node& node = graph.node(producer);
  if (node.op == OpKind::Unary) {
    const auto params = node.params.as<UnaryParams>();
    return is_never_negative(params.kind, params.alpha);
  }
  return node.op == OpKind::Pool2d && is_never_negative(graph, node.inputs[0]);
}

bool take_pad_pool(const ir::Graph& graph, ir::Node& node, const MapPad& pad) {
  auto params = node.params.as<Pool2dParams>();
  if (params.ceil_mode) return false;
  const bool had_padding = has_padding(params);
  widen(params, pad);
  // Every window needs a tap in the map.
  const auto sees_map = [](int32_t before, int32_t after, int32_t kernel, int32_t dilation) {
    return dilation == 1 && before < kernel && after < kernel;
  };
  if (!sees_map(params.pad_top, params.pad_bottom, params.kernel_h, params.dilation_h) ||
      !sees_map(params.pad_left, params.pad_right, params.kernel_w, params.dilation_w))
    return false;
  if (params.kind == kPool2dAverage) {
    if (pad.value != 0 || (had_padding && !params.count_include_pad)) return false;
    params.count_include_pad = 1;
  } else if (pad.value > std::numeric_limits<float>::lowest() &&
             (pad.value != 0 || !is_never_negative(graph, pad.x))) {
    return false;
  }
  node.params = ir::OpParams::of(node.op, params);
  return true;
}

// Adds the Pad's padding to the node; returns false, unchanged, if that is impossible.
bool take_pad(const ir::Graph& graph, ir::Node& node, const MapPad& pad) {
  if (node.op == OpKind::Pool2d) return take_pad_pool(graph, node, pad);
  return pad.value == 0 && edit_convolution(node, [&](auto& params) { widen(params, pad); });
}

bool reads_map_only_there(const ir::Node& node, ir::ValueId value) {
  return node.inputs[0] == value && llvm::count(node.inputs, value) == 1;
}

// Swaps the two nodes: Transpose(Pad(x)) becomes Pad(Transpose(x)).
void pad_behind_transpose(ir::Graph& graph, Readers& readers, ir::NodeId id) {
  const ir::Node& transpose = graph.node(id);
  const ir::NodeId pad = readers.sole_producer(transpose.inputs[0], id);
  if (pad == ir::kNoId || graph.node(pad).op != OpKind::Pad) return;
  const ir::NodeView view{graph, graph.node(pad)};
  const int32_t rank = view.output().rank();
  if (rank != 4 || !pad_value(view)) return;
  const auto order = transpose.params.as<TransposeParams>();
  const int32_t perm[4] = {order.perm_0, order.perm_1, order.perm_2, order.perm_3};
  const kernels::PadAxes axes = kernels::pad_axes(view.params<PadParams>());
  PadParams params = view.params<PadParams>();
  int32_t* const begin[4] = {&params.begin_0, &params.begin_1, &params.begin_2, &params.begin_3};
  int32_t* const end[4] = {&params.end_0, &params.end_1, &params.end_2, &params.end_3};
  ir::Dims dims;
  for (int32_t i = 0; i < rank; ++i) {
    *begin[i] = axes.begin[perm[i]];
    *end[i] = axes.end[perm[i]];
    dims.push_back(view.input(0).dims[perm[i]]);
  }
  ir::Node transposes = transpose;
  ir::Node pads = view.node;
  transposes.inputs[0] = pads.inputs[0];
  transposes.output = pads.output;
  pads.inputs[0] = transposes.output;
  pads.output = transpose.output;
  pads.params = ir::OpParams::of(OpKind::Pad, params);
  graph.value(transposes.output).type.dims = dims;
  readers.replace(pad, std::move(transposes));
  readers.replace(id, std::move(pads));
}

}  // namespace

llvm::Error fuse_pads(ir::Graph& graph) {
  std::vector<bool> dead(graph.nodes().size(), false);
  Readers readers(graph);
  for (ir::NodeId id = 0; id < graph.nodes().size(); ++id)
    if (graph.node(id).op == OpKind::Transpose) pad_behind_transpose(graph, readers, id);
  for (ir::NodeId id = 0; id < graph.nodes().size(); ++id) {
    const ir::NodeId producer =
        graph.node(id).inputs.empty() ? ir::kNoId : graph.value(graph.node(id).inputs[0]).producer;
    if (producer == ir::kNoId) continue;
    const std::optional<MapPad> pad = map_pad(ir::NodeView{graph, graph.node(producer)});
    const ir::ValueId padded = graph.node(id).inputs[0];
    ir::Node fused = graph.node(id);
    if (!pad || !reads_map_only_there(fused, padded) || !take_pad(graph, fused, *pad)) continue;
    fused.inputs[0] = pad->x;
    readers.replace(id, std::move(fused));
    if (readers.count(padded) == 0 && !graph.is_output(padded)) {
      dead[producer] = true;
      readers.remove(producer);
    }
  }
  remove_dead(graph, dead);
  return llvm::Error::success();
}

}  // namespace codl::compiler
