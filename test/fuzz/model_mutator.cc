// Changes an ONNX model the way a wrong exporter or an attacker would: by its structure, so that
// most mutants still parse and reach the import rules and the passes.

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <random>
#include <vector>

#include "compiler/frontend/graph/importer.h"
#include "compiler/frontend/onnx/onnx_model.h"
#include "test/fuzz/target.h"

namespace codl::test {
namespace {

// These values lie at the ends of ranges, signs and widths.
constexpr int64_t kEdges[] = {
    0,   1,   -1,   2,         3,         7,         8,         16,        17,
    127, 128, 1024, 1LL << 20, 1LL << 24, 1LL << 30, 1LL << 31, 1LL << 32, 1LL << 40,
    -2,  -3,  -128, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX};
constexpr float kFloatEdges[] = {
    0.0f, -0.0f, 1.0f, -1.0f, 0.5f, 1e-30f, 3e38f, -3e38f, __builtin_inff(), __builtin_nanf("")};

constexpr size_t kMaxConstantBytes = 1 << 16;  // limit of a tensor that takes an input's place
// Limits copies of a node or an operand: enough to show anything that grows faster than the model.
constexpr uint64_t kMaxCopiesLog2 = 11;

class Mutator {
 public:
  Mutator(onnx::ModelProto& model, uint32_t seed) : model_(model), random_(seed) {}

  void run() {
    const int count = 1 + static_cast<int>(below(4));
    for (int i = 0; i < count; ++i) mutate_graph(*model_.mutable_graph());
    if (below(64) == 0) repeat(*model_.mutable_graph());
    if (below(16) == 0 && model_.opset_import_size() > 0)
      model_.mutable_opset_import(0)->set_version(static_cast<int64_t>(below(32)));
  }

  void splice(const onnx::ModelProto& other) {
    onnx::GraphProto& graph = *model_.mutable_graph();
    for (const onnx::NodeProto& node : other.graph().node())
      if (below(2) == 0) *graph.add_node() = node;
    for (const onnx::TensorProto& tensor : other.graph().initializer())
      if (below(2) == 0) *graph.add_initializer() = tensor;
    for (const onnx::ValueInfoProto& input : other.graph().input())
      if (below(2) == 0) *graph.add_input() = input;
    for (int i = 0; i < 3; ++i) rewire(graph);
  }

 private:
  uint64_t below(uint64_t end) { return end == 0 ? 0 : random_() % end; }
  template <typename List>
  auto* pick(List* list) {
    return list->empty()
               ? nullptr
               : list->Mutable(static_cast<int>(below(static_cast<uint64_t>(list->size()))));
  }
  int64_t edge() { return kEdges[below(std::size(kEdges))]; }
  int64_t changed(int64_t value) {
    const auto bits = static_cast<uint64_t>(value);  // wraps
    switch (below(4)) {
      case 0:
        return edge();
      case 1:
        return static_cast<int64_t>(bits + 1);
      case 2:
        return static_cast<int64_t>(bits - 1);
      default:
        return static_cast<int64_t>(-bits);
    }
  }

  std::string any_name(const onnx::GraphProto& graph) {
    std::vector<const std::string*> names;
    for (const auto& input : graph.input()) names.push_back(&input.name());
    for (const auto& tensor : graph.initializer()) names.push_back(&tensor.name());
    for (const auto& node : graph.node())
      for (const auto& output : node.output()) names.push_back(&output);
    return names.empty() ? std::string() : *names[below(names.size())];
  }

  void rewire(onnx::GraphProto& graph) {
    onnx::NodeProto* node = pick(graph.mutable_node());
    if (node == nullptr) return;
    if (node->input_size() > 0)
      node->set_input(static_cast<int>(below(static_cast<uint64_t>(node->input_size()))),
                      below(8) == 0 ? "" : any_name(graph));
  }

  void mutate_dims(onnx::TypeProto* type) {
    if (!type->has_tensor_type()) return;
    auto* tensor = type->mutable_tensor_type();
    if (below(5) == 0) tensor->set_elem_type(static_cast<int32_t>(below(24)));
    auto* shape = tensor->mutable_shape();
    switch (below(4)) {
      case 0:
        shape->add_dim()->set_dim_value(1 + static_cast<int64_t>(below(5)));
        break;
      case 1:
        if (shape->dim_size() > 0) shape->mutable_dim()->RemoveLast();
        break;
      case 2:
        if (auto* dim = pick(shape->mutable_dim())) dim->set_dim_param("n");
        break;
      default:
        if (auto* dim = pick(shape->mutable_dim())) dim->set_dim_value(changed(dim->dim_value()));
    }
  }

  void mutate_tensor(onnx::TensorProto* tensor) {
    switch (below(6)) {
      case 0:
        if (tensor->dims_size() > 0)
          tensor->set_dims(static_cast<int>(below(static_cast<uint64_t>(tensor->dims_size()))),
                           edge());
        break;
      case 1:
        tensor->set_data_type(static_cast<int32_t>(below(24)));
        break;
      case 2:
        if (tensor->int64_data_size() > 0)
          tensor->set_int64_data(
              static_cast<int>(below(static_cast<uint64_t>(tensor->int64_data_size()))), edge());
        else if (tensor->raw_data().size() >= 8) {
          const int64_t value = edge();
          tensor->mutable_raw_data()->replace(below(tensor->raw_data().size() / 8) * 8, 8,
                                              reinterpret_cast<const char*>(&value), 8);
        }
        break;
      case 3:
        if (tensor->raw_data().size() >= 4) {
          const float value = kFloatEdges[below(std::size(kFloatEdges))];
          tensor->mutable_raw_data()->replace(below(tensor->raw_data().size() / 4) * 4, 4,
                                              reinterpret_cast<const char*>(&value), 4);
        }
        break;
      case 4:
        tensor->mutable_raw_data()->resize(below(tensor->raw_data().size() + 9));
        break;
      default:
        tensor->add_dims(static_cast<int64_t>(below(4)));
    }
  }

  void mutate_attribute(onnx::NodeProto* node) {
    onnx::AttributeProto* attribute = pick(node->mutable_attribute());
    if (attribute == nullptr) return;
    if (attribute->has_g() && below(2) == 0) return mutate_graph(*attribute->mutable_g());
    if (attribute->has_t() && below(2) == 0) return mutate_tensor(attribute->mutable_t());
    switch (below(6)) {
      case 0:
        attribute->set_i(changed(attribute->i()));
        break;
      case 1:
        if (attribute->ints_size() > 0) {
          const int at = static_cast<int>(below(static_cast<uint64_t>(attribute->ints_size())));
          attribute->set_ints(at, changed(attribute->ints(at)));
        }
        break;
      case 2:
        attribute->add_ints(edge());
        break;
      case 3:
        attribute->set_f(kFloatEdges[below(std::size(kFloatEdges))]);
        break;
      case 4:
        attribute->set_type(static_cast<onnx::AttributeProto::AttributeType>(below(12)));
        break;
      default:
        node->mutable_attribute()->DeleteSubrange(
            static_cast<int>(below(static_cast<uint64_t>(node->attribute_size()))), 1);
    }
  }

  // Repeats one operand of a node many times, or the node: each copy reads the one before, or all
  // stand side by side with graph outputs of their own.
  void repeat(onnx::GraphProto& graph) {
    onnx::NodeProto* node = pick(graph.mutable_node());
    if (node == nullptr || node->input_size() == 0 || node->output_size() == 0) return;
    const uint64_t copies = uint64_t{1} << below(kMaxCopiesLog2 + 1);
    const int operand = static_cast<int>(below(static_cast<uint64_t>(node->input_size())));
    const uint64_t how = below(3);
    if (how == 0)
      for (uint64_t i = 0; i < copies; ++i) node->add_input(node->input(operand));
    if (how == 0) return;
    const onnx::NodeProto original = *node;
    const std::string& result = original.output(0);
    for (uint64_t i = 0; i < copies; ++i) {
      onnx::NodeProto copy = original;
      for (std::string& output : *copy.mutable_output())
        if (!output.empty()) output += "_" + std::to_string(i);
      if (how == 1) {
        // The last in the chain is the original, which keeps the result's name.
        if (i > 0) copy.set_input(operand, result + "_" + std::to_string(i - 1));
      } else if (graph.output_size() > 0) {
        onnx::ValueInfoProto output = graph.output(0);
        output.set_name(copy.output(0));
        *graph.add_output() = output;
      }
      *graph.add_node() = copy;
    }
    // Nodes may have moved.
    if (how == 1)
      for (onnx::NodeProto& at : *graph.mutable_node())
        if (at.output_size() > 0 && at.output(0) == result && operand < at.input_size())
          at.set_input(operand, result + "_" + std::to_string(copies - 1));
  }

  // Makes a graph input a constant, to test what rules do with known data.
  void make_constant(onnx::GraphProto& graph, const onnx::ValueInfoProto& input) {
    if (!input.type().has_tensor_type()) return;
    onnx::TensorProto tensor;
    tensor.set_name(input.name());
    tensor.set_data_type(input.type().tensor_type().elem_type());
    const auto dtype = compiler::dtype_of_onnx(tensor.data_type());
    if (!dtype) return;
    size_t bytes = dtype_bytes(*dtype);
    for (const auto& dim : input.type().tensor_type().shape().dim()) {
      if (dim.dim_value() < 1 || dim.dim_value() > 4096) return;
      tensor.add_dims(dim.dim_value());
      bytes *= static_cast<size_t>(dim.dim_value());
      if (bytes > kMaxConstantBytes) return;
    }
    std::string data(bytes, '\0');
    for (char& byte : data) byte = static_cast<char>(below(8) == 0 ? random_() : 0);
    tensor.set_raw_data(data);
    *graph.add_initializer() = tensor;
  }

  void mutate_graph(onnx::GraphProto& graph) {
    switch (below(12)) {
      case 0:
        if (auto* node = pick(graph.mutable_node())) {
          const auto table = compiler::import_table();
          const compiler::ImportEntry& row = table[below(table.size())];
          node->set_op_type(row.op_type.str());
          node->set_domain(row.domain.str());
        }
        break;
      case 1:
        rewire(graph);
        break;
      case 2:
        if (auto* input = pick(graph.mutable_input())) mutate_dims(input->mutable_type());
        break;
      case 3:
        if (auto* output = pick(graph.mutable_output())) mutate_dims(output->mutable_type());
        break;
      case 4:
        if (auto* tensor = pick(graph.mutable_initializer())) mutate_tensor(tensor);
        break;
      case 5:
        if (graph.node_size() > 1)
          graph.mutable_node()->SwapElements(
              static_cast<int>(below(static_cast<uint64_t>(graph.node_size()))), 0);
        break;
      case 6:
        if (auto* node = pick(graph.mutable_node())) {
          onnx::NodeProto copy = *node;
          for (auto& output : *copy.mutable_output()) output += "_copy";
          *graph.add_node() = copy;
        }
        break;
      case 7:
        if (auto* node = pick(graph.mutable_node())) node->add_input(any_name(graph));
        break;
      case 8:
        if (auto* input = pick(graph.mutable_input())) make_constant(graph, *input);
        break;
      default:
        if (auto* node = pick(graph.mutable_node())) mutate_attribute(node);
    }
  }

  onnx::ModelProto& model_;
  std::minstd_rand random_;
};

std::string serialized(const onnx::ModelProto& model, size_t max_bytes) {
  std::string bytes;
  if (model.ByteSizeLong() > max_bytes || !model.SerializeToString(&bytes)) return {};
  return bytes;
}

}  // namespace

std::string mutate(const std::string& bytes, uint32_t seed, size_t max_bytes) {
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) return {};
  Mutator(model, seed).run();
  return serialized(model, max_bytes);
}

std::string splice(const std::string& first, const std::string& second, uint32_t seed,
                   size_t max_bytes) {
  onnx::ModelProto model, other;
  if (!model.ParseFromString(first) || !other.ParseFromString(second)) return {};
  Mutator(model, seed).splice(other);
  return serialized(model, max_bytes);
}

}  // namespace codl::test
