// Dequantises 8-bit values before the nodes that move them, so that it meets the quantisation.
//
//   (move(q) - z) s  ->  move((q - z) s)      for q = cast of floats to 8 bits
//
// Needs:   one scale s and one zero point z for all elements, constant; between the casts only
//          nodes that move elements: Reshape, Transpose, Slice, Concat, Gather, Pad, a largest of
//          several (MaxPool) ... Others may read the 8-bit values, which stay for them.
// Gives:   the same nodes on floats. Each element is the same to the last bit.
// Order:   after merge_common, which leaves one dequantisation of a value; before
//          fuse_quantize_pairs, which makes one node of the casts that now follow each other.
#include <map>
#include <tuple>

#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace codl::compiler {
namespace {

bool is_byte(const ir::TensorType& type) {
  return type.dtype == DType::I8 || type.dtype == DType::U8;
}

// Describes (x - zero_point) * scale of an 8-bit value x.
struct Dequantize {
  ir::ValueId x = ir::kNoId;
  float scale = 1;
  float zero_point = 0;

  float of(double element) const { return (static_cast<float>(element) - zero_point) * scale; }
  auto key() const { return std::make_tuple(x, scale, zero_point); }
};

class RaiseDequantize {
 public:
  explicit RaiseDequantize(ir::Graph& graph) : graph_(graph), names_(graph) {}

  void run() {
    // Nodes that are added stand after these, and need no visit.
    const auto node_count = static_cast<ir::NodeId>(graph_.nodes().size());
    std::vector<std::pair<ir::NodeId, Dequantize>> roots;
    for (ir::NodeId id = 0; id < node_count; ++id)
      if (const auto dequantize = match(id)) {
        roots.push_back({id, *dequantize});
        floats_.insert({dequantize->key(), graph_.node(id).output});
      }
    for (const auto& [id, dequantize] : roots)
      if (const ir::Node* move = mover(dequantize.x); move != nullptr && is_quantized(dequantize.x))
        replace(id, raised(*move, dequantize));
    sort_nodes(graph_);
  }

 private:
  const ir::Node* producer(ir::ValueId value, OpKind op) const {
    const ir::NodeId id = graph_.value(value).producer;
    return id != ir::kNoId && graph_.node(id).op == op ? &graph_.node(id) : nullptr;
  }

  // If node `value` comes from combines its operand with a number, goes to the operand and returns
  // the number.
  std::optional<double> take_number(ir::ValueId& value, int32_t kind) const {
    const ir::Node* node = producer(value, OpKind::Binary);
    if (node == nullptr || !is_binary(graph_, *node, kind)) return std::nullopt;
    for (size_t i = 0; i < (kind == kBinaryMul ? 2 : 1); ++i) {
      const auto number = number_of(graph_, node->inputs[1 - i]);
      const ir::Value& x = graph_.value(node->inputs[i]);
      if (!number || x.is_constant || x.type.dims != graph_.value(value).type.dims) continue;
      value = node->inputs[i];
      return number;
    }
    return std::nullopt;
  }

  std::optional<Dequantize> match(ir::NodeId id) const {
    ir::ValueId value = graph_.node(id).output;
    const auto scale = take_number(value, kBinaryMul);
    if (!scale) return std::nullopt;
    const double zero_point = take_number(value, kBinarySub).value_or(0);
    const ir::Node* cast = producer(value, OpKind::Cast);
    if (cast == nullptr || !is_byte(graph_.value(cast->inputs[0]).type)) return std::nullopt;
    return Dequantize{cast->inputs[0], static_cast<float>(*scale), static_cast<float>(zero_point)};
  }

  // Returns the node that moves elements of 8-bit operands, or of their casts to floats, into
  // `value`; null if there is none.
  const ir::Node* mover(ir::ValueId value) const {
    const ir::NodeId id = graph_.value(value).producer;
    if (id == ir::kNoId) return nullptr;
    const ir::Node* node = &graph_.node(id);
    if (node->op == OpKind::Cast) {
      const ir::NodeId before = graph_.value(node->inputs[0]).producer;
      if (before == ir::kNoId) return nullptr;
      node = &graph_.node(before);
    }
    const auto [first, last] = moved_operands(*node);
    for (size_t i = first; i < last; ++i)
      if (bytes_of_operand(node->inputs[i]) == ir::kNoId) return nullptr;
    return first == last ? nullptr : node;
  }

  // Returns an 8-bit operand, or that of a cast to floats; kNoId for others.
  ir::ValueId bytes_of_operand(ir::ValueId operand) const {
    if (const ir::Node* cast = producer(operand, OpKind::Cast);
        cast != nullptr && graph_.value(operand).type.dtype == DType::F32)
      operand = cast->inputs[0];
    return is_byte(graph_.value(operand).type) ? operand : ir::kNoId;
  }

  // Returns true if every element of the 8-bit value was quantised in the network, or is constant.
  bool is_quantized(ir::ValueId value) const {
    if (graph_.value(value).is_constant) return true;
    if (const ir::Node* move = mover(value)) {
      const auto [first, last] = moved_operands(*move);
      for (size_t i = first; i < last; ++i)
        if (!is_quantized(bytes_of_operand(move->inputs[i]))) return false;
      return true;
    }
    const ir::Node* cast = producer(value, OpKind::Cast);
    return cast != nullptr && graph_.value(cast->inputs[0]).type.dtype == DType::F32;
  }

  // Returns the node that moves floats.
  ir::Node raised(ir::Node move, const Dequantize& dequantize) {
    const auto [first, last] = moved_operands(move);
    for (size_t i = first; i < last; ++i) {
      Dequantize operand = dequantize;
      operand.x = bytes_of_operand(move.inputs[i]);
      move.inputs[i] = floats_of(operand);
    }
    if (move.op == OpKind::Pad) {
      auto params = move.params.as<PadParams>();
      if (params.kind == kPadConstant && params.has_value == 0) {
        move.inputs.push_back(number(dequantize.of(0), 0));
        params.has_value = 1;
        move.params = ir::OpParams::of(OpKind::Pad, params);
      }
    }
    return move;
  }

  ir::ValueId floats_of(const Dequantize& dequantize) {
    const auto found = floats_.find(dequantize.key());
    if (found != floats_.end()) return found->second;
    const ir::ValueId result = new_floats(dequantize);
    floats_.insert({dequantize.key(), result});
    return result;
  }

  ir::ValueId new_floats(const Dequantize& dequantize) {
    const ir::Value x = graph_.value(dequantize.x);  // a copy: values are added below
    ir::TensorType type = x.type;
    type.dtype = DType::F32;
    if (x.is_constant) {
      std::vector<float> elements;
      for (const uint8_t byte : x.as<uint8_t>())
        elements.push_back(
            dequantize.of(x.type.dtype == DType::I8 ? static_cast<int8_t>(byte) : byte));
      std::string name = names_.take(x.name + ".floats");
      return graph_.add_constant(std::move(name), std::move(type),
                                 bytes_of(llvm::ArrayRef<float>(elements)));
    }
    if (const ir::Node* move = mover(dequantize.x))
      return add(raised(*move, dequantize), x.name, std::move(type));
    const size_t rank = type.dims.size();
    ir::ValueId value = dequantize.x;
    const std::string name = x.name;
    ir::Node cast;
    cast.op = OpKind::Cast;
    cast.params =
        ir::OpParams::of(OpKind::Cast, CastParams{.to = static_cast<int32_t>(DType::F32)});
    cast.inputs = {value};
    value = add(std::move(cast), name, type);
    if (dequantize.zero_point != 0)
      value = add(binary(kBinarySub, value, number(dequantize.zero_point, rank)), name, type);
    return add(binary(kBinaryMul, value, number(dequantize.scale, rank)), name, type);
  }

  static ir::Node binary(int32_t kind, ir::ValueId a, ir::ValueId b) {
    ir::Node node;
    node.op = OpKind::Binary;
    node.params = ir::OpParams::of(OpKind::Binary, BinaryParams{.kind = kind});
    node.inputs = {a, b};
    return node;
  }

  ir::ValueId add(ir::Node node, const std::string& base, ir::TensorType type) {
    std::string name = names_.take(base + ".floats");
    node.name = name;
    return graph_.add_node(std::move(node), std::move(name), std::move(type));
  }

  ir::ValueId number(float element, size_t rank) {
    ir::TensorType type;
    type.dtype = DType::F32;
    type.dims.assign(rank, 1);
    return graph_.add_constant(names_.take("number"), std::move(type),
                               bytes_of(llvm::ArrayRef<float>(element)));
  }

  // Lets the node compute the value of node `id`.
  void replace(ir::NodeId id, ir::Node node) {
    node.output = graph_.node(id).output;
    node.name = graph_.node(id).name;
    graph_.node(id) = std::move(node);
  }

  ir::Graph& graph_;
  NewNames names_;
  std::map<std::tuple<ir::ValueId, float, float>, ir::ValueId> floats_;
};

}  // namespace

llvm::Error raise_dequantize(ir::Graph& graph) {
  RaiseDequantize(graph).run();
  return eliminate_dead(graph);
}

}  // namespace codl::compiler
