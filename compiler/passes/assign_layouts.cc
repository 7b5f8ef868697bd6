// Decides the layout of every value and inserts Convert nodes at the borders.
//
// Needs:   a plain graph.
// Gives:   Nhwc for f32 maps (rank 4) of operators that compute in it (OpSpec::computes_in_nhwc),
//          unless they follow their operands (OpSpec::follows_layout) and those are Plain; Plain
//          for everything else; one Convert per value and layout where the two meet. Constants stay
//          Plain; Concat, which copies its inputs as they lie, gets converted ones. Every graph
//          input is read by Converts only and every graph output written by one, even if the layout
//          stays: that memory is the application's, and only the CPU may touch it; an output
//          without elements stays as it is. Numerics are unchanged.
// Order:   last: the passes before look at neighbours, and Converts would stand between.
#include <map>

#include "compiler/ops/op_spec.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

// The operands' layouts are final, because nodes stand in topological order.
bool works_in_nhwc(const ir::NodeView& node) {
  const auto is_f32_map = [](const ir::TensorType& type) {
    return type.dtype == DType::F32 && type.rank() == 4;
  };
  const OpSpec& spec = op_spec(node.node.op);
  if (spec.computes_in_nhwc == nullptr || !is_f32_map(node.output())) return false;
  bool has_nhwc = !spec.follows_layout;
  for (uint32_t i = 0; i < node.input_count(); ++i) {
    const ir::Value& operand = node.input_value(i);
    if (operand.is_constant) continue;
    if (!is_f32_map(operand.type)) return false;
    // Converting an input costs the same either way.
    has_nhwc = has_nhwc || operand.is_input || operand.type.layout == Layout::Nhwc;
  }
  return has_nhwc && spec.computes_in_nhwc(node);
}

class LayoutAssignment {
 public:
  explicit LayoutAssignment(ir::Graph& graph) : graph_(graph), names_(graph) {}

  void run() {
    // Converts are appended to all nodes and sorted in at the end.
    const auto node_count = static_cast<ir::NodeId>(graph_.nodes().size());
    for (ir::NodeId id = 0; id < node_count; ++id) {
      assign(id);
      order_.push_back(id);
    }
    convert_outputs();
    graph_.reorder_nodes(order_);
  }

 private:
  // Gives the node its layout, with Converts in front of it.
  void assign(ir::NodeId id) {
    const Layout layout =
        works_in_nhwc(ir::NodeView{graph_, graph_.node(id)}) ? Layout::Nhwc : Layout::Plain;
    for (size_t i = 0; i < graph_.node(id).inputs.size(); ++i) {
      const ir::ValueId operand = graph_.node(id).inputs[i];
      const ir::Value& value = graph_.value(operand);
      if (value.is_constant && graph_.node(id).op != OpKind::Concat) continue;
      if (value.type.layout == layout && !value.is_input) continue;
      const ir::ValueId converted = convert(operand, layout);
      graph_.node(id).inputs[i] = converted;
    }
    graph_.value(graph_.node(id).output).type.layout = layout;
  }

  // Returns the operand in `layout`, through a Convert here if there is none yet.
  ir::ValueId convert(ir::ValueId operand, Layout layout) {
    const auto found = converted_.find({operand, layout});
    if (found != converted_.end()) return found->second;
    const std::string base =
        graph_.value(operand).name + (layout == Layout::Nhwc ? ".nhwc" : ".plain");
    const ir::ValueId result = add_convert(operand, layout, names_.take(base));
    converted_[{operand, layout}] = result;
    return result;
  }

  ir::ValueId add_convert(ir::ValueId operand, Layout layout, const std::string& name) {
    ir::Node node;
    node.op = OpKind::Convert;
    node.inputs = {operand};
    node.name = name;
    ir::TensorType type = graph_.value(operand).type;
    type.layout = layout;
    order_.push_back(static_cast<ir::NodeId>(graph_.nodes().size()));
    return graph_.add_node(std::move(node), name, std::move(type));
  }

  // The converted value takes the output's name, because the application reads it.
  void convert_outputs() {
    llvm::SmallVector<ir::ValueId, 4> outputs;
    const llvm::SmallVector<ir::ValueId, 4> computed(graph_.outputs().begin(),
                                                     graph_.outputs().end());
    for (ir::ValueId value : computed) {
      if (graph_.value(value).type.element_count() == 0) {
        outputs.push_back(value);
        continue;
      }
      const std::string name = graph_.value(value).name;
      graph_.value(value).name = names_.take(name + ".computed");
      outputs.push_back(add_convert(value, Layout::Plain, name));
    }
    graph_.move_outputs(std::move(outputs));
  }

  ir::Graph& graph_;
  NewNames names_;
  std::vector<ir::NodeId> order_;
  std::map<std::pair<ir::ValueId, Layout>, ir::ValueId> converted_;
};

}  // namespace

llvm::Error assign_layouts(ir::Graph& graph) {
  LayoutAssignment(graph).run();
  return llvm::Error::success();
}

}  // namespace codl::compiler
