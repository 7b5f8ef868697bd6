// Moves a DepthToSpace after the elementwise node that reads it.
//
// Needs:   a DepthToSpace that neither crops nor pads and has one reader: a Unary, a Binary whose
//          other operand is a constant of one element or of one per channel, or a 1x1
//          DepthwiseConv2d without residual (a BatchNorm is imported as one).
// Gives:   the elementwise node first, its constants with an element for each channel there.
//          Numerics are unchanged.
// Order:   before fold_batch_norm and fuse_activation: a ConvTranspose whose filters do not overlap
//          is a convolution and a DepthToSpace, followed by its bias, its BatchNorm or
//          its activation.
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace codl::compiler {
namespace {

class DepthToSpaceSinking {
 public:
  explicit DepthToSpaceSinking(ir::Graph& graph) : graph_(graph), readers_(graph), names_(graph) {}

  void run() {
    for (ir::NodeId id = 0; id < graph_.nodes().size(); ++id) sink(id);
    graph_.remove_unused_values();
  }

 private:
  // Returns true for a constant with one element per channel, or with one in all.
  bool is_of_channels(ir::ValueId id, int64_t channels) const {
    const ir::Value& value = graph_.value(id);
    const int64_t count = value.type.element_count();
    if (!value.is_constant || value.type.dtype != DType::F32) return false;
    if (count == 1) return true;
    const int32_t rank = value.type.rank();
    return count == channels && (rank == 3 || rank == 4) && value.type.dims[rank - 3] == channels;
  }

  // Returns the index of the operand that comes from a DepthToSpace; kNoId if the node cannot be
  // moved.
  uint32_t moved_operand(const ir::NodeView& node) const {
    const int64_t channels = node.output().rank() == 4 ? node.output().dims[1] : 0;
    switch (node.node.op) {
      case OpKind::Unary:
        return 0;
      case OpKind::DepthwiseConv2d: {
        const auto params = node.params<DepthwiseConv2dParams>();
        const ir::Dims filters = {static_cast<int32_t>(channels), 1, 1, 1};
        const bool is_scale = params.stride_h == 1 && params.stride_w == 1 && params.pad_top == 0 &&
                              params.pad_left == 0 && params.pad_bottom == 0 &&
                              params.pad_right == 0 && params.has_residual == 0 &&
                              node.input(1).dims == filters;
        return is_scale && node.input_value(1).is_constant && node.input_value(2).is_constant
                   ? 0
                   : ir::kNoId;
      }
      case OpKind::Binary: {
        const uint32_t constant = node.input_value(0).is_constant ? 0 : 1;
        const ir::TensorType& other = node.input(1 - constant);
        return other.dims == node.output().dims && other.dtype == DType::F32 &&
                       !node.input_value(1 - constant).is_constant &&
                       is_of_channels(node.node.inputs[constant], channels)
                   ? 1 - constant
                   : ir::kNoId;
      }
      default:
        return ir::kNoId;
    }
  }

  static bool keeps_all(const ir::NodeView& node) {
    const auto params = node.params<DepthToSpaceParams>();
    const ir::Dims& from = node.input(0).dims;
    const ir::Dims& to = node.output().dims;
    return params.crop_top == 0 && params.crop_left == 0 && to[2] == from[2] * params.block_h &&
           to[3] == from[3] * params.block_w;
  }

  // Returns the constant for the channels before the DepthToSpace, which lie along `axis`.
  ir::ValueId spread(ir::ValueId id, int32_t axis, const DepthToSpaceParams& params) {
    const ir::Value& value = graph_.value(id);
    if (value.type.element_count() == 1 && axis < 0) return id;
    ir::TensorType type = value.type;
    const llvm::ArrayRef<float> elements = value.as<float>();
    const int32_t block = params.block_h * params.block_w;
    std::vector<float> spread;
    spread.reserve(elements.size() * block);
    for (size_t i = 0; i < elements.size() * block; ++i)
      spread.push_back(elements[params.is_channel_major != 0 ? i / block : i % elements.size()]);
    type.dims[axis] = static_cast<int32_t>(spread.size());
    return graph_.add_constant(names_.take(value.name + ".spread"), std::move(type),
                               bytes_of(llvm::makeArrayRef(spread)));
  }

  void sink(ir::NodeId id) {
    const ir::NodeView view{graph_, graph_.node(id)};
    const uint32_t moved = moved_operand(view);
    if (moved == ir::kNoId || view.output().dtype != DType::F32) return;
    const ir::NodeId producer = readers_.sole_producer(view.node.inputs[moved], id);
    if (producer == ir::kNoId || graph_.node(producer).op != OpKind::DepthToSpace) return;
    const ir::NodeView from{graph_, graph_.node(producer)};
    if (!keeps_all(from)) return;

    // The two nodes swap places.
    ir::Node computes = view.node;
    ir::Node moves = from.node;
    const auto params = from.params<DepthToSpaceParams>();
    ir::TensorType type = view.output();
    type.dims = from.input(0).dims;
    if (computes.op == OpKind::DepthwiseConv2d) {
      computes.inputs[1] = spread(computes.inputs[1], 0, params);
      computes.inputs[2] = spread(computes.inputs[2], 0, params);
    } else if (computes.op == OpKind::Binary) {
      const ir::TensorType& constant = graph_.value(computes.inputs[1 - moved]).type;
      computes.inputs[1 - moved] =
          spread(computes.inputs[1 - moved],
                 constant.element_count() == 1 ? -1 : constant.rank() - 3, params);
    }
    computes.inputs[moved] = moves.inputs[0];
    computes.output = moves.output;
    moves.inputs[0] = computes.output;
    moves.output = graph_.node(id).output;
    graph_.value(computes.output).type = std::move(type);
    readers_.replace(producer, std::move(computes));
    readers_.replace(id, std::move(moves));
  }

  ir::Graph& graph_;
  Readers readers_;
  NewNames names_;
};

}  // namespace

llvm::Error sink_depth_to_space(ir::Graph& graph) {
  DepthToSpaceSinking(graph).run();
  return llvm::Error::success();
}

}  // namespace codl::compiler
