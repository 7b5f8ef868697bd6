#include "compiler/frontend/onnx_model.h"

#include <onnx/onnx_pb.h>

#include <climits>
#include <exception>

#include "compiler/support/error.h"
#include "llvm/ADT/StringSet.h"
#include "schema/plan_layout.h"

namespace codl::compiler {
namespace {

constexpr int64_t kOldestOpset = 7;   // first with numpy broadcasting in Add, Mul ...
constexpr int64_t kNewestOpset = 18;  // the newest whose operators the import rules were read for

std::string data_type_name(int32_t data_type) {
  const std::string& name =
      onnx::TensorProto_DataType_Name(static_cast<onnx::TensorProto_DataType>(data_type));
  return name.empty() ? std::to_string(data_type) : name;
}

// Product of the dims. Input error for a negative one, Unsupported above kMaxElements.
llvm::Expected<int64_t> checked_element_count(llvm::StringRef where, llvm::ArrayRef<int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims) {
    if (dim < 0) return input_error(where, "expected dims of at least 0, found {0}", dim);
    if (dim > kMaxElements)
      return unsupported_error(where, "expected at most {0} elements, found a dim of {1}",
                               kMaxElements, dim);
    count *= dim;
    if (count > kMaxElements)
      return unsupported_error(where, "expected at most {0} elements, found more", kMaxElements);
  }
  return count;
}

template <typename To, typename Elements>
void append_elements(OnnxTensor& tensor, const Elements& elements) {
  tensor.bytes.resize(static_cast<size_t>(elements.size()) * sizeof(To));
  uint8_t* at = tensor.bytes.data();
  for (const auto& element : elements) {
    const To converted = static_cast<To>(element);
    std::memcpy(at, &converted, sizeof converted);
    at += sizeof converted;
  }
}

// Elements of `Raw` in the little-endian bytes of raw_data, widened to `To`. The model's bytes have
// no alignment.
template <typename Raw, typename To>
void append_raw(OnnxTensor& tensor, const std::string& raw) {
  const size_t count = raw.size() / sizeof(Raw);
  tensor.bytes.resize(count * sizeof(To));
  for (size_t i = 0; i < count; ++i) {
    Raw element;
    std::memcpy(&element, raw.data() + i * sizeof(Raw), sizeof element);
    const To converted = static_cast<To>(element);
    std::memcpy(tensor.bytes.data() + i * sizeof(To), &converted, sizeof converted);
  }
}

llvm::Expected<OnnxTensor> read_tensor(llvm::StringRef where, const onnx::TensorProto& proto) {
  OnnxTensor tensor;
  tensor.dims.assign(proto.dims().begin(), proto.dims().end());
  CODL_ASSIGN_OR_RETURN(count, checked_element_count(where, tensor.dims));
  if (proto.data_location() == onnx::TensorProto::EXTERNAL || proto.external_data_size() > 0) {
    tensor.problem = "data in an external file";
    return tensor;
  }
  if (proto.has_segment()) {
    tensor.problem = "data in segments";
    return tensor;
  }

  // Bytes per element of raw_data.
  size_t raw_bytes = 0;
  switch (proto.data_type()) {
    case onnx::TensorProto::FLOAT:
      raw_bytes = 4;
      break;
    case onnx::TensorProto::INT64:
      tensor.dtype = DType::I64;
      raw_bytes = 8;
      break;
    case onnx::TensorProto::INT32:
      tensor.dtype = DType::I64;
      raw_bytes = 4;
      break;
    case onnx::TensorProto::BOOL:
      tensor.dtype = DType::I64;
      raw_bytes = 1;
      break;
    default:
      tensor.problem = "data type " + data_type_name(proto.data_type());
      return tensor;
  }
  const size_t expected_bytes = static_cast<size_t>(count) * raw_bytes;
  if (proto.has_raw_data()) {
    const std::string& raw = proto.raw_data();
    if (raw.size() != expected_bytes)
      return input_error(where, "expected {0} bytes of data, found {1}", expected_bytes,
                         raw.size());
    if (proto.data_type() == onnx::TensorProto::INT32) {
      append_raw<int32_t, int64_t>(tensor, raw);
    } else if (proto.data_type() == onnx::TensorProto::BOOL) {
      append_raw<uint8_t, int64_t>(tensor, raw);
    } else {
      const auto* first = reinterpret_cast<const uint8_t*>(raw.data());
      tensor.bytes.assign(first, first + raw.size());
    }
    return tensor;
  }

  int64_t found = 0;
  if (proto.data_type() == onnx::TensorProto::FLOAT) {
    found = proto.float_data_size();
    append_elements<float>(tensor, proto.float_data());
  } else if (proto.data_type() == onnx::TensorProto::INT64) {
    found = proto.int64_data_size();
    append_elements<int64_t>(tensor, proto.int64_data());
  } else {
    found = proto.int32_data_size();
    append_elements<int64_t>(tensor, proto.int32_data());
  }
  if (found != count)
    return input_error(where, "expected {0} elements of data, found {1}", count, found);
  return tensor;
}

llvm::Expected<OnnxAttribute> read_attribute(llvm::StringRef node_name,
                                             const onnx::AttributeProto& proto) {
  OnnxAttribute attribute;
  attribute.name = proto.name();
  switch (proto.type()) {
    case onnx::AttributeProto::INT:
      attribute.type = OnnxAttribute::Type::Int;
      attribute.int_value = proto.i();
      break;
    case onnx::AttributeProto::INTS:
      attribute.type = OnnxAttribute::Type::Ints;
      attribute.ints.assign(proto.ints().begin(), proto.ints().end());
      break;
    case onnx::AttributeProto::FLOAT:
      attribute.type = OnnxAttribute::Type::Float;
      attribute.float_value = proto.f();
      break;
    case onnx::AttributeProto::FLOATS:
      attribute.type = OnnxAttribute::Type::Floats;
      attribute.floats.assign(proto.floats().begin(), proto.floats().end());
      break;
    case onnx::AttributeProto::STRING:
      attribute.type = OnnxAttribute::Type::String;
      attribute.string_value = proto.s();
      break;
    case onnx::AttributeProto::TENSOR: {
      attribute.type = OnnxAttribute::Type::Tensor;
      CODL_ASSIGN_OR_RETURN(tensor, read_tensor(node_name, proto.t()));
      attribute.tensor = std::move(tensor);
      break;
    }
    default:
      attribute.type = OnnxAttribute::Type::Other;
      break;
  }
  return attribute;
}

llvm::Expected<OnnxNode> read_node(const onnx::NodeProto& proto, int64_t opset) {
  OnnxNode node;
  node.op_type = proto.op_type();
  node.domain = proto.domain() == "ai.onnx" ? "" : proto.domain();
  node.opset = opset;
  node.inputs.assign(proto.input().begin(), proto.input().end());
  node.outputs.assign(proto.output().begin(), proto.output().end());
  node.name = proto.name();
  if (node.name.empty() && !node.outputs.empty()) node.name = node.outputs[0];
  if (node.outputs.empty() || node.outputs[0].empty())
    return input_error(node.name.empty() ? node.op_type : node.name,
                       "expected a node with a first output, found none");
  for (const onnx::AttributeProto& attribute_proto : proto.attribute()) {
    CODL_ASSIGN_OR_RETURN(attribute, read_attribute(node.name, attribute_proto));
    node.attributes.push_back(std::move(attribute));
  }
  return node;
}

llvm::Expected<OnnxInput> read_input(const onnx::ValueInfoProto& proto) {
  OnnxInput input;
  input.name = proto.name();
  if (!proto.has_type() || !proto.type().has_tensor_type()) {
    input.problem = "a type that is not a tensor";
    return input;
  }
  const auto& type = proto.type().tensor_type();
  if (type.elem_type() != onnx::TensorProto::FLOAT)
    input.problem = "data type " + data_type_name(type.elem_type());
  const std::string where = "input '" + input.name + "'";
  if (!type.has_shape()) return input_error(where, "expected a static shape, found none");
  for (int i = 0; i < type.shape().dim_size(); ++i) {
    const auto& dim = type.shape().dim(i);
    if (dim.has_dim_param())
      return input_error(where, "expected a number as dim {0}, found '{1}'", i, dim.dim_param());
    if (!dim.has_dim_value())
      return input_error(where, "expected a number as dim {0}, found none", i);
    input.dims.push_back(dim.dim_value());
  }
  return input;
}

llvm::Expected<int64_t> read_opset(const onnx::ModelProto& proto, llvm::StringRef path) {
  for (const auto& import : proto.opset_import()) {
    if (!import.domain().empty() && import.domain() != "ai.onnx") continue;
    if (import.version() < kOldestOpset || import.version() > kNewestOpset)
      return unsupported_error(path, "expected opset {0} to {1}, found {2}", kOldestOpset,
                               kNewestOpset, import.version());
    return import.version();
  }
  return input_error(path, "expected an opset of the ONNX domain, found none");
}

llvm::Expected<OnnxModel> read_model(onnx::ModelProto& proto, llvm::StringRef path) {
  if (!proto.has_graph()) return input_error(path, "expected an ONNX model, found no graph");
  CODL_ASSIGN_OR_RETURN(opset, read_opset(proto, path));
  OnnxModel model;
  model.opset = opset;
  onnx::GraphProto& graph = *proto.mutable_graph();
  model.graph_name = graph.name();
  if (graph.sparse_initializer_size() > 0)
    return unsupported_error(path, "expected dense initializers, found {0} sparse ones",
                             graph.sparse_initializer_size());

  llvm::StringSet<> initializer_names;
  for (onnx::TensorProto& tensor_proto : *graph.mutable_initializer()) {
    CODL_ASSIGN_OR_RETURN(tensor, read_tensor(tensor_proto.name(), tensor_proto));
    initializer_names.insert(tensor_proto.name());
    model.initializers.push_back({tensor_proto.name(), std::move(tensor)});
    // Weights are the bulk of a model: not twice in memory.
    tensor_proto.clear_raw_data();
  }
  // An initializer may be listed as an input, with the meaning "default value" (before ONNX 1.4 it
  // had to be). A plan's weights are fixed: it is a constant.
  for (const onnx::ValueInfoProto& input : graph.input()) {
    if (!initializer_names.contains(input.name())) {
      CODL_ASSIGN_OR_RETURN(read, read_input(input));
      model.inputs.push_back(std::move(read));
    }
  }
  for (const onnx::ValueInfoProto& output : graph.output()) model.outputs.push_back(output.name());
  for (const onnx::NodeProto& node_proto : graph.node()) {
    CODL_ASSIGN_OR_RETURN(node, read_node(node_proto, opset));
    model.nodes.push_back(std::move(node));
  }
  return model;
}

}  // namespace

const OnnxAttribute* OnnxNode::find(llvm::StringRef attribute) const {
  for (const OnnxAttribute& candidate : attributes)
    if (candidate.name == attribute) return &candidate;
  return nullptr;
}

llvm::Expected<int64_t> OnnxNode::int_or(llvm::StringRef attribute, int64_t fallback) const {
  const OnnxAttribute* found = find(attribute);
  if (found == nullptr) return fallback;
  if (found->type != OnnxAttribute::Type::Int)
    return input_error(name, "expected attribute '{0}' to be an int, found another type",
                       attribute);
  return found->int_value;
}

llvm::Expected<float> OnnxNode::float_or(llvm::StringRef attribute, float fallback) const {
  const OnnxAttribute* found = find(attribute);
  if (found == nullptr) return fallback;
  if (found->type != OnnxAttribute::Type::Float)
    return input_error(name, "expected attribute '{0}' to be a float, found another type",
                       attribute);
  return found->float_value;
}

llvm::Expected<std::string> OnnxNode::string_or(llvm::StringRef attribute,
                                                llvm::StringRef fallback) const {
  const OnnxAttribute* found = find(attribute);
  if (found == nullptr) return fallback.str();
  if (found->type != OnnxAttribute::Type::String)
    return input_error(name, "expected attribute '{0}' to be a string, found another type",
                       attribute);
  return found->string_value;
}

llvm::Expected<std::vector<int64_t>> OnnxNode::ints_or(llvm::StringRef attribute,
                                                       std::vector<int64_t> fallback,
                                                       int count) const {
  const OnnxAttribute* found = find(attribute);
  if (found == nullptr) return fallback;
  if (found->type != OnnxAttribute::Type::Ints)
    return input_error(name, "expected attribute '{0}' to be ints, found another type", attribute);
  if (count >= 0 && found->ints.size() != static_cast<size_t>(count))
    return input_error(name, "expected {0} elements of attribute '{1}', found {2}", count,
                       attribute, found->ints.size());
  return found->ints;
}

llvm::Expected<OnnxModel> read_onnx(llvm::StringRef bytes, llvm::StringRef path) {
  if (bytes.size() > INT_MAX)
    return unsupported_error(path, "expected at most {0} bytes, found {1}", INT_MAX, bytes.size());
  // protobuf and its containers throw for want of memory; LLVM is built without exceptions, so they
  // end here.
  try {
    onnx::ModelProto proto;
    if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      return input_error(path, "expected an ONNX model, found {0} bytes that are none",
                         bytes.size());
    return read_model(proto, path);
  } catch (const std::exception& exception) {
    return input_error(path, "expected an ONNX model, found one that cannot be read: {0}",
                       exception.what());
  }
}

}  // namespace codl::compiler
