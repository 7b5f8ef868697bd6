// Checks all invariants of a graph anew. Runs after every pass.
//
// Types are compared with OpSpec::infer. This is the only place where ir/ looks at ops/, because
// the shape rules are there.
#include "compiler/ops/op_spec.h"
#include "compiler/support/error.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"
#include "schema/step_shape.h"

namespace codl::ir {
namespace {

using compiler::internal_error;

class Verifier {
 public:
  Verifier(const Graph& graph, llvm::StringRef where) : graph_(graph), where_(where) {}

  llvm::Error run() {
    if (llvm::Error error = check_values()) return error;
    for (size_t i = 0; i < graph_.nodes().size(); ++i)
      if (llvm::Error error = check_node(static_cast<NodeId>(i))) return error;
    return check_outputs();
  }

 private:
  template <typename... Args>
  llvm::Error wrong(const char* format, Args&&... args) const {
    return internal_error(where_, format, std::forward<Args>(args)...);
  }

  llvm::Error check_values() const {
    llvm::StringSet<> names;
    const llvm::DenseSet<ValueId> inputs(graph_.inputs().begin(), graph_.inputs().end());
    size_t input_count = 0;
    for (size_t i = 0; i < graph_.values().size(); ++i) {
      const Value& value = graph_.values()[i];
      if (!names.insert(value.name).second)
        return wrong("expected unique value names, found two of '{0}'", value.name);
      if (llvm::Error error = check_type(value)) return error;

      const bool is_produced = value.producer != kNoId;
      if (int{value.is_input} + int{value.is_constant} + int{is_produced} != 1)
        return wrong("expected one producer of value '{0}', found input={1} constant={2} node={3}",
                     value.name, value.is_input, value.is_constant, is_produced);
      if (is_produced &&
          (value.producer >= graph_.nodes().size() || graph_.node(value.producer).output != i))
        return wrong("expected the producer of value '{0}' to have it as its output", value.name);
      if (value.is_input) {
        ++input_count;
        if (!inputs.contains(static_cast<ValueId>(i)))
          return wrong("expected value '{0}' among the graph's inputs", value.name);
      }
      if (value.is_constant &&
          value.bytes.size() !=
              static_cast<uint64_t>(value.type.element_count()) * dtype_bytes(value.type.dtype))
        return wrong("expected the bytes of constant '{0}' to fit {1}, found {2}", value.name,
                     to_string(value.type), value.bytes.size());
    }
    if (input_count != graph_.inputs().size())
      return wrong("expected {0} input values, found {1}", graph_.inputs().size(), input_count);
    return llvm::Error::success();
  }

  llvm::Error check_type(const Value& value) const {
    const TensorType& type = value.type;
    if (!is_known_dtype(static_cast<uint8_t>(type.dtype)))
      return wrong("expected a dtype of types.h of value '{0}', found {1}", value.name,
                   static_cast<int>(type.dtype));
    if (type.rank() > kMaxRank)
      return wrong("expected rank <= {0} of value '{1}', found {2}", kMaxRank, value.name,
                   type.rank());
    // A value without elements has no producer: it may be an input or an output, that is all.
    const int32_t least = value.producer == kNoId ? 0 : 1;
    for (int32_t dim : type.dims)
      if (dim < least)
        return wrong("expected positive dims of value '{0}', found {1}", value.name,
                     to_string(type));
    if (type.layout != Layout::Plain && type.layout != Layout::Nhwc)
      return wrong("expected layout plain or nhwc of value '{0}', found {1}", value.name,
                   to_string(type));
    if (type.layout == Layout::Nhwc && type.rank() != 4)
      return wrong("expected rank 4 of nhwc value '{0}', found {1}", value.name, to_string(type));
    if (type.layout == Layout::Nhwc && type.dtype != DType::F32)
      return wrong("expected f32 of nhwc value '{0}', found {1}", value.name, to_string(type));
    if (type.layout != Layout::Plain && (value.is_input || value.is_constant))
      return wrong("expected plain layout of input or constant '{0}', found {1}", value.name,
                   to_string(type));
    return llvm::Error::success();
  }

  llvm::Error check_node(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.output >= graph_.values().size() || graph_.value(node.output).producer != id)
      return wrong("expected node '{0}' to produce its output", node.name);
    if (node.params.bytes() != params_bytes_of(node.op))
      return wrong("expected {0} bytes of parameters of node '{1}', found {2}",
                   params_bytes_of(node.op), node.name, node.params.bytes());
    if (node.inputs.empty() || node.inputs.size() + 1 > kernels::kMaxOperands)
      return wrong("expected 1 to {0} operands of node '{1}', found {2}", kernels::kMaxOperands - 1,
                   node.name, node.inputs.size());
    for (ValueId input : node.inputs) {
      if (input >= graph_.values().size())
        return wrong("expected operands of node '{0}' to exist, found id {1}", node.name, input);
      const Value& value = graph_.value(input);
      if (!value.is_input && !value.is_constant && value.producer >= id)
        return wrong("expected operand '{0}' of node '{1}' from an earlier node", value.name,
                     node.name);
      if (value.type.element_count() == 0)
        return wrong("expected operands with elements of node '{0}', found '{1}' {2}", node.name,
                     value.name, to_string(value.type));
    }
    if (llvm::Error error = check_inferred(node)) return error;
    return check_layouts(node);
  }

  llvm::Error check_inferred(const Node& node) const {
    const TensorType& found = graph_.value(node.output).type;
    llvm::Expected<TensorType> inferred = compiler::op_spec(node.op).infer(NodeView{graph_, node});
    if (!inferred)
      return wrong("expected operands that fit, found {0}", llvm::toString(inferred.takeError()));
    if (inferred->dims != found.dims || inferred->dtype != found.dtype)
      return wrong("expected {0} as output of node '{1}', found {2}", to_string(*inferred),
                   node.name, to_string(found));
    return llvm::Error::success();
  }

  // Only Convert changes the layout. Constants stay plain whatever layout the node works in:
  // weights are packed for their kernel, other constants are read through their strides.
  llvm::Error check_layouts(const Node& node) const {
    if (node.op == OpKind::Convert) return llvm::Error::success();
    const TensorType& output = graph_.value(node.output).type;
    for (ValueId input : node.inputs) {
      const Value& value = graph_.value(input);
      if (!value.is_constant && value.type.layout != output.layout)
        return wrong("expected one layout in node '{0}', found {1} '{2}' and output {3}", node.name,
                     to_string(value.type), value.name, to_string(output));
    }
    return llvm::Error::success();
  }

  llvm::Error check_outputs() const {
    if (graph_.outputs().empty()) return wrong("expected a graph output, found none");
    for (ValueId output : graph_.outputs())
      if (output >= graph_.values().size())
        return wrong("expected graph outputs to exist, found id {0}", output);
    for (const OutputExtent& extent : graph_.extents())
      if (llvm::Error error = check_extent(extent)) return error;
    for (const KeptState& state : graph_.states())
      if (llvm::Error error = check_state(state)) return error;
    return llvm::Error::success();
  }

  llvm::Error check_extent(const OutputExtent& extent) const {
    const llvm::ArrayRef<ValueId> outputs = graph_.outputs();
    if (extent.output >= outputs.size() || extent.count_output >= outputs.size())
      return wrong("expected extents of graph outputs, found outputs {0} and {1}", extent.output,
                   extent.count_output);
    const Value& value = graph_.value(outputs[extent.output]);
    const Value& count = graph_.value(outputs[extent.count_output]);
    if (extent.dim < 0 || extent.dim >= value.type.rank())
      return wrong("expected a dim of output '{0}' in its extent, found {1}", value.name,
                   extent.dim);
    if (count.type.dtype != DType::I64 || count.type.element_count() != 1)
      return wrong("expected an i64 scalar as the extent of output '{0}', found {1}", value.name,
                   to_string(count.type));
    return llvm::Error::success();
  }

  llvm::Error check_state(const KeptState& state) const {
    if (state.input >= graph_.inputs().size() || state.output >= graph_.outputs().size())
      return wrong("expected states of graph inputs and outputs, found input {0} and output {1}",
                   state.input, state.output);
    const Value& input = graph_.value(graph_.inputs()[state.input]);
    const Value& output = graph_.value(graph_.outputs()[state.output]);
    if (!(input.type == output.type))
      return wrong("expected output '{0}' of the type of input '{1}', whose state it is, found {2}",
                   output.name, input.name, to_string(output.type));
    return llvm::Error::success();
  }

  const Graph& graph_;
  llvm::StringRef where_;
};

}  // namespace

llvm::Error verify(const Graph& graph, llvm::StringRef where) {
  return Verifier(graph, where).run();
}

}  // namespace codl::ir
