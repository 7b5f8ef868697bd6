#include "compiler/frontend/onnx_model.h"

#include <onnx/onnx_pb.h>

#include <climits>
#include <cmath>
#include <exception>

#include "compiler/support/error.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/bit.h"
#include "schema/plan_layout.h"

namespace codl::compiler {
namespace {

constexpr int64_t kOldestOpset = 7;   // first with numpy broadcasting in Add, Mul ...
constexpr int64_t kNewestOpset = 28;  // the newest whose operators the import rules were read for

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

// How one element of a tensor becomes an element of OnnxTensor.
struct ElementRule {
  size_t stored_bytes;  // of an element of raw_data
  // Converts `count` elements; null: the bytes are taken as they are.
  void (*convert)(const uint8_t* from, size_t count, uint8_t* to);
};

template <typename To, typename From, To (*kConvert)(From)>
void convert_elements(const uint8_t* from, size_t count, uint8_t* to) {
  for (size_t i = 0; i < count; ++i) {
    From element;
    std::memcpy(&element, from + i * sizeof element, sizeof element);
    const To converted = kConvert(element);
    std::memcpy(to + i * sizeof converted, &converted, sizeof converted);
  }
}

float float_of_half(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000u} << 16;
  const uint32_t exponent = (bits >> 10) & 0x1f;
  const uint32_t fraction = bits & 0x3ff;
  // Subnormals count in steps of 2^-24.
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  const uint32_t wide_exponent = exponent == 0x1f ? 0xff : exponent + 112;
  return llvm::bit_cast<float>(sign | wide_exponent << 23 | fraction << 13);
}
float float_of_bfloat(uint16_t bits) { return llvm::bit_cast<float>(uint32_t{bits} << 16); }
float float_of_double(double value) { return static_cast<float>(value); }
uint8_t bool_of_byte(uint8_t value) { return value != 0; }

ElementRule element_rule(DType stored) {
  switch (stored) {
    case DType::F16:
      return {2, convert_elements<float, uint16_t, float_of_half>};
    case DType::BF16:
      return {2, convert_elements<float, uint16_t, float_of_bfloat>};
    case DType::F64:
      return {8, convert_elements<float, double, float_of_double>};
    case DType::Bool:
      return {1, convert_elements<uint8_t, uint8_t, bool_of_byte>};
    default:
      return {dtype_bytes(stored), nullptr};
  }
}

// Fills `tensor` from `count` elements at `data` (ONNX order, little endian, of dtype `stored`).
void take_elements(OnnxTensor& tensor, DType stored, const uint8_t* data, size_t count) {
  const ElementRule rule = element_rule(stored);
  if (rule.convert == nullptr) {
    tensor.bytes.assign(data, data + count * rule.stored_bytes);
    return;
  }
  tensor.bytes.resize(count * dtype_bytes(tensor.dtype));
  rule.convert(data, count, tensor.bytes.data());
}

// The elements of one of TensorProto's typed fields, narrowed to `To`, as raw_data would hold them.
template <typename To, typename Elements>
std::vector<uint8_t> packed(const Elements& elements) {
  std::vector<uint8_t> bytes(static_cast<size_t>(elements.size()) * sizeof(To));
  uint8_t* at = bytes.data();
  for (const auto& element : elements) {
    const To narrowed = static_cast<To>(element);
    std::memcpy(at, &narrowed, sizeof narrowed);
    at += sizeof narrowed;
  }
  return bytes;
}

std::vector<uint8_t> typed_data(const onnx::TensorProto& proto, DType stored) {
  switch (stored) {
    case DType::F32:
      return packed<float>(proto.float_data());
    case DType::F64:
      return packed<double>(proto.double_data());
    case DType::I64:
      return packed<int64_t>(proto.int64_data());
    case DType::U64:
      return packed<uint64_t>(proto.uint64_data());
    case DType::U32:
      return packed<uint32_t>(proto.uint64_data());
    case DType::I32:
      return packed<int32_t>(proto.int32_data());
    case DType::I16:
    case DType::U16:
    case DType::F16:
    case DType::BF16:
      return packed<uint16_t>(proto.int32_data());
    default:  // Bool, I8, U8
      return packed<uint8_t>(proto.int32_data());
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
  const std::optional<DType> stored = dtype_of_onnx(proto.data_type());
  if (!stored) {
    tensor.problem = "data type " + onnx_type_name(proto.data_type());
    return tensor;
  }
  tensor.dtype = held_dtype(*stored);
  const size_t stored_bytes = element_rule(*stored).stored_bytes;
  if (proto.has_raw_data()) {
    const std::string& raw = proto.raw_data();
    if (raw.size() != static_cast<size_t>(count) * stored_bytes)
      return input_error(where, "expected {0} bytes of data, found {1}", count * stored_bytes,
                         raw.size());
    take_elements(tensor, *stored, reinterpret_cast<const uint8_t*>(raw.data()), count);
    return tensor;
  }
  const std::vector<uint8_t> typed = typed_data(proto, *stored);
  if (typed.size() != static_cast<size_t>(count) * stored_bytes)
    return input_error(where, "expected {0} elements of data, found {1}", count,
                       typed.size() / stored_bytes);
  take_elements(tensor, *stored, typed.data(), count);
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

OnnxValueInfo read_value_info(const onnx::ValueInfoProto& proto) {
  OnnxValueInfo info;
  info.name = proto.name();
  if (!proto.has_type() || proto.type().value_case() == onnx::TypeProto::VALUE_NOT_SET) return info;
  if (!proto.type().has_tensor_type()) {
    info.problem = "a type that is not a tensor";
    return info;
  }
  const auto& type = proto.type().tensor_type();
  if (type.elem_type() != onnx::TensorProto::UNDEFINED) {
    info.dtype = dtype_of_onnx(type.elem_type());
    if (!info.dtype) info.problem = "data type " + onnx_type_name(type.elem_type());
  }
  info.has_shape = type.has_shape();
  for (const auto& dim : type.shape().dim()) {
    // Some exporters write a negative number where they do not know.
    const bool is_known = dim.has_dim_value() && dim.dim_value() >= 0;
    info.dims.push_back(is_known ? dim.dim_value() : kUnknownDim);
    info.symbols.push_back(dim.dim_param());
  }
  return info;
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
      model.inputs.push_back(read_value_info(input));
    }
  }
  for (const onnx::ValueInfoProto& output : graph.output())
    model.outputs.push_back(read_value_info(output));
  for (const onnx::ValueInfoProto& value : graph.value_info())
    model.values.push_back(read_value_info(value));
  for (const onnx::NodeProto& node_proto : graph.node()) {
    CODL_ASSIGN_OR_RETURN(node, read_node(node_proto, opset));
    model.nodes.push_back(std::move(node));
  }
  return model;
}

}  // namespace

std::optional<DType> dtype_of_onnx(int64_t data_type) {
  switch (data_type) {
    case onnx::TensorProto::FLOAT:
      return DType::F32;
    case onnx::TensorProto::UINT8:
      return DType::U8;
    case onnx::TensorProto::INT8:
      return DType::I8;
    case onnx::TensorProto::UINT16:
      return DType::U16;
    case onnx::TensorProto::INT16:
      return DType::I16;
    case onnx::TensorProto::INT32:
      return DType::I32;
    case onnx::TensorProto::INT64:
      return DType::I64;
    case onnx::TensorProto::BOOL:
      return DType::Bool;
    case onnx::TensorProto::FLOAT16:
      return DType::F16;
    case onnx::TensorProto::DOUBLE:
      return DType::F64;
    case onnx::TensorProto::UINT32:
      return DType::U32;
    case onnx::TensorProto::UINT64:
      return DType::U64;
    case onnx::TensorProto::BFLOAT16:
      return DType::BF16;
    default:
      return std::nullopt;
  }
}

std::string onnx_type_name(int64_t data_type) {
  const std::string& name =
      onnx::TensorProto_DataType_Name(static_cast<onnx::TensorProto_DataType>(data_type));
  return name.empty() ? std::to_string(data_type) : name;
}

DType held_dtype(DType dtype) {
  const bool is_border = dtype == DType::F16 || dtype == DType::BF16 || dtype == DType::F64;
  return is_border ? DType::F32 : dtype;
}

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
