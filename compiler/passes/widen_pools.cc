// Lets a pooling write the zeros of a Pad of channels after it. MediaPipe's networks widen
// the operand of an Add to a convolution in this way (MaxPool, Pad, Add).
//
// Needs:   a Pad that adds channels of zeros after those of an f32 map, whole panels after whole
//          panels; a Pool2d that makes the map, which nobody else reads.
// Gives:   the Pool2d with the Pad's output, whose added channels it writes: a step less, and the
//          map is not copied. Numerics are unchanged.
// Order:   after the removal of channels, because the added ones are not linked to it; before
//          assign_layouts.
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "kernels/pad/pad.h"

namespace codl::compiler {
namespace {

// Returns true if a Pad adds channels and nothing else.
bool adds_channels(const ir::NodeView& pad) {
  if (pad.node.op != OpKind::Pad || pad.output().rank() != 4 || pad.output().dtype != DType::F32)
    return false;
  const auto params = pad.params<PadParams>();
  if (params.kind != kPadConstant) return false;
  if (params.has_value != 0 &&
      (!pad.input_value(1).is_constant || pad.input_value(1).as<float>()[0] != 0))
    return false;
  const kernels::PadAxes axes = kernels::pad_axes(params);
  for (int axis = 0; axis < 4; ++axis)
    if (axes.begin[axis] != 0 || (axis != 1 && axes.end[axis] != 0)) return false;
  return axes.end[1] > 0 && pad.input(0).dims[1] % kChannelPanel == 0 &&
         pad.output().dims[1] % kChannelPanel == 0;
}

}  // namespace

llvm::Error widen_pools(ir::Graph& graph) {
  std::vector<bool> dead(graph.nodes().size(), false);
  Readers readers(graph);
  for (ir::NodeId id = 0; id < graph.nodes().size(); ++id) {
    const ir::NodeView pad{graph, graph.node(id)};
    if (!adds_channels(pad)) continue;
    const ir::NodeId producer = readers.sole_producer(pad.node.inputs[0], id);
    if (producer == ir::kNoId || graph.node(producer).op != OpKind::Pool2d) continue;
    ir::Node pool = graph.node(producer);
    pool.output = pad.node.output;
    readers.replace(id, std::move(pool));
    dead[producer] = true;
  }
  remove_dead(graph, dead);
  return llvm::Error::success();
}

}  // namespace codl::compiler
