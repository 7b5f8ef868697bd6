#include <onnx/onnx_pb.h>

#include <climits>
#include <cmath>
#include <exception>
#include <map>

#include "compiler/frontend/onnx/element_rule.h"
#include "compiler/frontend/onnx/external_data.h"
#include "compiler/frontend/onnx/onnx_model.h"
#include "compiler/frontend/onnx/sparse_tensor.h"
#include "compiler/support/error.h"
#include "compiler/support/large_bytes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "schema/plan_layout.h"

namespace codl::compiler {
namespace {

// Limits nodes. No network has more; a file with more is an attack or an accident.
constexpr int kMaxFileNodes = 1 << 17;
constexpr int kMaxAttributes = 1 << 8, kMaxOutputs = 1 << 12;  // per node

// Takes the string's bytes without a copy.
SharedBytes taken(std::string* text) {
  auto owner = std::make_shared<const std::string>(std::move(*text));
  return SharedBytes({reinterpret_cast<const uint8_t*>(owner->data()), owner->size()}, owner);
}

// Fills `tensor` from `data`: `count` elements of dtype `stored` in ONNX order, little endian.
void take_elements(OnnxTensor& tensor, DType stored, SharedBytes data, size_t count) {
  const ElementRule rule = element_rule(stored);
  const bool is_aligned = reinterpret_cast<uintptr_t>(data.data()) % rule.stored_bytes == 0;
  if (rule.convert == nullptr && is_aligned) {
    tensor.bytes = std::move(data);
    return;
  }
  LargeBytes bytes(count * dtype_bytes(tensor.dtype));
  if (rule.convert == nullptr)
    std::copy(data.begin(), data.end(), bytes.begin());
  else
    rule.convert(data.data(), count, bytes.data());
  tensor.bytes = std::move(bytes);
}

// Returns the elements of one of TensorProto's typed fields, narrowed to `To`, as raw_data would
// hold them.
template <typename To, typename Elements>
LargeBytes packed(const Elements& elements) {
  LargeBytes bytes(static_cast<size_t>(elements.size()) * sizeof(To));
  uint8_t* at = bytes.data();
  for (const auto& element : elements) {
    const To narrowed = static_cast<To>(element);
    std::memcpy(at, &narrowed, sizeof narrowed);
    at += sizeof narrowed;
  }
  return bytes;
}

LargeBytes typed_data(const onnx::TensorProto& proto, DType stored) {
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

// This is FunctionProto.attribute_proto (IR version 9): the ONNX headers that codl is built with
// may be older.
constexpr int kFunctionDefaultsField = 11;
// These are NodeProto.overload and FunctionProto.overload (IR version 10).
constexpr int kNodeOverloadField = 8;
constexpr int kFunctionOverloadField = 13;

template <typename Message>
std::string unknown_string(const Message& message, int number) {
  const auto& fields = message.unknown_fields();
  for (int i = 0; i < fields.field_count(); ++i)
    if (fields.field(i).number() == number &&
        fields.field(i).type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      return fields.field(i).length_delimited();
  return "";
}

std::string normal_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

// Holds opsets by domain.
using Opsets = llvm::StringMap<int64_t>;

OnnxAttribute::Type attribute_type(const onnx::AttributeProto& proto) {
  using Type = OnnxAttribute::Type;
  switch (proto.type()) {
    case onnx::AttributeProto::INT:
      return Type::Int;
    case onnx::AttributeProto::INTS:
      return Type::Ints;
    case onnx::AttributeProto::FLOAT:
      return Type::Float;
    case onnx::AttributeProto::FLOATS:
      return Type::Floats;
    case onnx::AttributeProto::STRING:
      return Type::String;
    case onnx::AttributeProto::STRINGS:
      return Type::Strings;
    case onnx::AttributeProto::TENSOR:
      return Type::Tensor;
    case onnx::AttributeProto::SPARSE_TENSOR:
      return Type::Tensor;
    case onnx::AttributeProto::GRAPH:
      return Type::Graph;
    case onnx::AttributeProto::UNDEFINED:
      break;  // IR version 1 has no type: the field that is set tells it
    default:
      return Type::Other;
  }
  if (proto.has_i()) return Type::Int;
  if (proto.has_f()) return Type::Float;
  if (proto.has_s()) return Type::String;
  if (proto.has_t()) return Type::Tensor;
  if (proto.ints_size() > 0) return Type::Ints;
  if (proto.floats_size() > 0) return Type::Floats;
  if (proto.strings_size() > 0) return Type::Strings;
  return Type::Other;
}

// Returns false for names that exporters write if they know none ("?" of PaddlePaddle, "", "-1",
// Python's None): two dims of such a name have nothing in common.
bool is_symbol(llvm::StringRef name) {
  if (name == "None") return false;
  return llvm::any_of(name, [](char c) { return llvm::isAlpha(c) || (c & 0x80) != 0; });
}

// Describes the type of a value that is not a tensor.
std::string type_problem(const onnx::TypeProto& type) {
  switch (type.value_case()) {
    case onnx::TypeProto::kSequenceType:
      return "a sequence, not a tensor";
    case onnx::TypeProto::kOptionalType:
      return "an optional, not a tensor";
    case onnx::TypeProto::kMapType:
      return "a map, not a tensor";
    default:
      return "a type that is not a tensor";
  }
}

OnnxValueInfo read_value_info(const onnx::ValueInfoProto& proto) {
  OnnxValueInfo info;
  info.name = proto.name();
  if (!proto.has_type() || proto.type().value_case() == onnx::TypeProto::VALUE_NOT_SET) return info;
  if (!proto.type().has_tensor_type()) {
    info.problem = type_problem(proto.type());
    return info;
  }
  const auto& type = proto.type().tensor_type();
  if (type.elem_type() != onnx::TensorProto::UNDEFINED) {
    info.dtype = dtype_of_onnx(type.elem_type());
    if (!info.dtype) info.problem = "data type " + onnx_type_name(type.elem_type());
  }
  info.has_shape = type.has_shape();
  for (const auto& dim : type.shape().dim()) {
    // Some exporters write a negative number for an unknown dim.
    const bool is_known = dim.has_dim_value() && dim.dim_value() >= 0;
    info.dims.push_back(is_known ? dim.dim_value() : kUnknownDim);
    info.symbols.push_back(is_symbol(dim.dim_param()) ? dim.dim_param() : std::string());
  }
  return info;
}

class Reader {
 public:
  explicit Reader(llvm::StringRef path) : path_(path), external_(path) {}

  llvm::Expected<OnnxModel> read(onnx::ModelProto& proto) {
    if (!proto.has_graph()) return input_error(path_, "expected an ONNX model, found no graph");
    CODL_ASSIGN_OR_RETURN(opsets, read_opsets(proto));
    OnnxModel model;
    model.opset = opsets.lookup("");
    for (onnx::FunctionProto& function_proto : *proto.mutable_functions()) {
      CODL_ASSIGN_OR_RETURN(function, read_function(function_proto, opsets));
      model.functions.push_back(std::move(function));
    }
    CODL_ASSIGN_OR_RETURN(graph, read_graph(*proto.mutable_graph(), opsets));
    model.graph = std::move(graph);
    if (float_count_ > 0) model.float_bytes = float_bytes_ / float_count_;
    for (const auto& [type_name, count] : converted_)
      model.notes.push_back(
          llvm::formatv("{0} tensor(s) of type {1} read as f32", count, type_name).str());
    return model;
  }

 private:
  template <typename Proto>
  llvm::Expected<Opsets> read_opsets(const Proto& proto) {
    Opsets opsets;
    for (const auto& import : proto.opset_import()) {
      const std::string domain = normal_domain(import.domain());
      const auto [known, is_new] = opsets.insert({domain, import.version()});
      if (!is_new && known->second != import.version())
        return input_error(path_, "expected one opset of domain '{0}', found {1} and {2}", domain,
                           known->second, import.version());
    }
    return opsets;
  }

  llvm::Expected<OnnxTensor> read_tensor(llvm::StringRef where, onnx::TensorProto& proto) {
    OnnxTensor tensor;
    if (proto.dims_size() > kMaxRank) {
      tensor.problem = "rank " + std::to_string(proto.dims_size());
      return tensor;
    }
    tensor.dims.assign(proto.dims().begin(), proto.dims().end());
    CODL_ASSIGN_OR_RETURN(count, checked_element_count(where, tensor.dims));
    if (proto.has_segment()) {
      tensor.problem = "data in segments";
      return tensor;
    }
    if (packed_integers(proto.data_type()).bits != 0) return read_packed(where, proto, count);
    const std::optional<DType> stored = dtype_of_onnx(proto.data_type());
    if (!stored) {
      tensor.problem = "data type " + onnx_type_name(proto.data_type());
      return tensor;
    }
    tensor.dtype = *stored == DType::F64 ? DType::F64 : held_dtype(*stored);
    if (tensor.dtype != *stored) ++converted_[onnx_type_name(proto.data_type())];
    if (tensor.dtype == DType::F32) {
      float_count_ += static_cast<double>(count);
      float_bytes_ += static_cast<double>(count) * static_cast<double>(dtype_bytes(*stored));
    }
    if (proto.data_location() == onnx::TensorProto::EXTERNAL) {
      if (llvm::Error error = take_external(where, proto, *stored, count, tensor)) return error;
      return tensor;
    }
    const size_t stored_bytes = element_rule(*stored).stored_bytes;
    if (proto.has_raw_data()) {
      const std::string& raw = proto.raw_data();
      if (raw.size() != static_cast<size_t>(count) * stored_bytes)
        return input_error(where, "expected {0} bytes of data, found {1}", count * stored_bytes,
                           raw.size());
      take_elements(tensor, *stored, taken(proto.mutable_raw_data()), count);
      return tensor;
    }
    LargeBytes typed = typed_data(proto, *stored);
    if (typed.size() != static_cast<size_t>(count) * stored_bytes)
      return input_error(where, "expected {0} elements of data, found {1}", count,
                         typed.size() / stored_bytes);
    take_elements(tensor, *stored, std::move(typed), count);
    return tensor;
  }

  llvm::Expected<OnnxTensor> read_packed(llvm::StringRef where, onnx::TensorProto& proto,
                                         int64_t count) {
    const PackedIntegers packed = packed_integers(proto.data_type());
    const llvm::SmallVector<int64_t, 4> dims(proto.dims().begin(), proto.dims().end());
    proto.set_data_type(onnx::TensorProto::UINT8);
    proto.clear_dims();
    proto.add_dims((count + packed.per_byte() - 1) / packed.per_byte());
    CODL_ASSIGN_OR_RETURN(tensor, read_tensor(where, proto));
    tensor.dims = dims;
    tensor.dtype = packed.is_signed ? DType::I8 : DType::U8;
    tensor.bits = packed.bits;
    if (tensor.problem.empty()) tensor.bytes = packed.unpacked(tensor.bytes, count);
    return tensor;
  }

  llvm::Expected<OnnxTensor> read_sparse(llvm::StringRef where, onnx::SparseTensorProto& proto) {
    CODL_ASSIGN_OR_RETURN(values, read_tensor(where, *proto.mutable_values()));
    CODL_ASSIGN_OR_RETURN(indices, read_tensor(where, *proto.mutable_indices()));
    const std::vector<int64_t> dims(proto.dims().begin(), proto.dims().end());
    if (auto count = checked_element_count(where, dims); !count) return count.takeError();
    return dense_tensor(where, dims, values, indices, sparse_bytes_left_);
  }

  llvm::Error take_external(llvm::StringRef where, const onnx::TensorProto& proto, DType stored,
                            int64_t count, OnnxTensor& tensor) {
    const uint64_t bytes = static_cast<uint64_t>(count) * element_rule(stored).stored_bytes;
    std::string location;
    uint64_t offset = 0;
    uint64_t length = bytes;
    for (const auto& entry : proto.external_data()) {
      if (entry.key() == "location") location = entry.value();
      const bool is_number = entry.key() == "offset" || entry.key() == "length";
      uint64_t& number = entry.key() == "offset" ? offset : length;
      if (is_number && !llvm::to_integer(entry.value(), number, 10))
        return input_error(where, "expected a number as {0} of external data, found '{1}'",
                           entry.key(), entry.value());
    }
    if (length != bytes)
      return input_error(where, "expected {0} bytes of external data, found {1}", bytes, length);
    auto data = external_.read(where, location, offset, bytes);
    if (!data) return data.takeError();
    take_elements(tensor, stored, std::move(*data), count);
    return llvm::Error::success();
  }

  llvm::Expected<OnnxAttribute> read_attribute(const std::string& node_name,
                                               onnx::AttributeProto& proto, const Opsets& opsets) {
    OnnxAttribute attribute;
    attribute.name = proto.name();
    attribute.reference = proto.ref_attr_name();
    attribute.type = attribute_type(proto);
    attribute.int_value = proto.i();
    attribute.float_value = proto.f();
    attribute.string_value = proto.s();
    attribute.ints.assign(proto.ints().begin(), proto.ints().end());
    attribute.floats.assign(proto.floats().begin(), proto.floats().end());
    attribute.strings.assign(proto.strings().begin(), proto.strings().end());
    if (attribute.type == OnnxAttribute::Type::Tensor) {
      CODL_ASSIGN_OR_RETURN(tensor, proto.has_sparse_tensor()
                                        ? read_sparse(node_name, *proto.mutable_sparse_tensor())
                                        : read_tensor(node_name, *proto.mutable_t()));
      attribute.tensor = std::move(tensor);
    }
    if (attribute.type == OnnxAttribute::Type::Graph) {
      CODL_ASSIGN_OR_RETURN(graph, read_graph(*proto.mutable_g(), opsets));
      attribute.graph = std::make_shared<const OnnxGraph>(std::move(graph));
    }
    return attribute;
  }

  llvm::Expected<OnnxNode> read_node(onnx::NodeProto& proto, const Opsets& opsets) {
    OnnxNode node;
    node.op_type = proto.op_type();
    node.domain = normal_domain(proto.domain());
    node.overload = unknown_string(proto, kNodeOverloadField);
    node.opset = opsets.lookup(node.domain);
    node.inputs.assign(proto.input().begin(), proto.input().end());
    node.outputs.assign(proto.output().begin(), proto.output().end());
    node.name = proto.name();
    for (const std::string& output : node.outputs)
      if (node.name.empty()) node.name = output;
    if (node.name.empty()) node.name = node.op_type;
    if (node.domain.empty() && node.opset == 0)
      return input_error(path_, "expected an opset of the ONNX domain, found none");
    if (++node_count_ > kMaxFileNodes)
      return unsupported_error(path_, "expected at most {0} nodes, found more", kMaxFileNodes);
    if (proto.attribute_size() > kMaxAttributes)
      return unsupported_error(node.name, "expected at most {0} attributes, found {1}",
                               kMaxAttributes, proto.attribute_size());
    if (proto.output_size() > kMaxOutputs)
      return unsupported_error(node.name, "expected at most {0} outputs, found {1}", kMaxOutputs,
                               proto.output_size());
    llvm::StringSet<> names;
    for (onnx::AttributeProto& attribute_proto : *proto.mutable_attribute()) {
      if (!names.insert(attribute_proto.name()).second)
        return input_error(node.name, "expected each attribute once, found '{0}' again",
                           attribute_proto.name());
      CODL_ASSIGN_OR_RETURN(attribute, read_attribute(node.name, attribute_proto, opsets));
      node.attributes.push_back(std::move(attribute));
    }
    return node;
  }

  // protobuf limits how deep graphs nest: it reads at most 100 nested messages.
  llvm::Expected<OnnxGraph> read_graph(onnx::GraphProto& proto, const Opsets& opsets) {
    OnnxGraph graph;
    graph.name = proto.name();
    llvm::StringSet<> initializer_names;
    for (onnx::TensorProto& tensor_proto : *proto.mutable_initializer()) {
      CODL_ASSIGN_OR_RETURN(tensor, read_tensor(tensor_proto.name(), tensor_proto));
      initializer_names.insert(tensor_proto.name());
      graph.initializers.push_back({tensor_proto.name(), std::move(tensor)});
      // Weights are most of a model, so they must not be in memory twice.
      tensor_proto.Clear();
    }
    for (onnx::SparseTensorProto& sparse : *proto.mutable_sparse_initializer()) {
      const std::string name = sparse.values().name();
      CODL_ASSIGN_OR_RETURN(tensor, read_sparse(name, sparse));
      initializer_names.insert(name);
      graph.initializers.push_back({name, std::move(tensor)});
    }
    // An initializer may also be an input, of which it is the default value (before ONNX 1.4 it had
    // to be). A plan's weights are fixed, so here it is a constant.
    for (const onnx::ValueInfoProto& input : proto.input())
      if (!initializer_names.contains(input.name())) graph.inputs.push_back(read_value_info(input));
    for (const onnx::ValueInfoProto& output : proto.output())
      graph.outputs.push_back(read_value_info(output));
    for (const onnx::ValueInfoProto& value : proto.value_info())
      graph.values.push_back(read_value_info(value));
    for (onnx::NodeProto& node_proto : *proto.mutable_node()) {
      CODL_ASSIGN_OR_RETURN(node, read_node(node_proto, opsets));
      graph.nodes.push_back(std::move(node));
    }
    return graph;
  }

  llvm::Expected<OnnxFunction> read_function(onnx::FunctionProto& proto,
                                             const Opsets& model_opsets) {
    OnnxFunction function;
    function.domain = normal_domain(proto.domain());
    function.name = proto.name();
    function.overload = unknown_string(proto, kFunctionOverloadField);
    function.inputs.assign(proto.input().begin(), proto.input().end());
    function.outputs.assign(proto.output().begin(), proto.output().end());
    function.attributes.assign(proto.attribute().begin(), proto.attribute().end());
    CODL_ASSIGN_OR_RETURN(opsets, read_opsets(proto));
    for (const auto& import : model_opsets) opsets.insert({import.getKey(), import.getValue()});
    const auto& fields = proto.unknown_fields();
    for (int i = 0; i < fields.field_count(); ++i) {
      if (fields.field(i).number() != kFunctionDefaultsField ||
          fields.field(i).type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
        continue;
      onnx::AttributeProto attribute_proto;
      if (!attribute_proto.ParseFromString(fields.field(i).length_delimited()))
        return input_error(
            function.name,
            "expected a default attribute, found bytes of another kind, or a part of one");
      CODL_ASSIGN_OR_RETURN(attribute, read_attribute(function.name, attribute_proto, opsets));
      function.defaults.push_back(std::move(attribute));
    }
    for (onnx::NodeProto& node_proto : *proto.mutable_node()) {
      CODL_ASSIGN_OR_RETURN(node, read_node(node_proto, opsets));
      function.nodes.push_back(std::move(node));
    }
    return function;
  }

  llvm::StringRef path_;
  ExternalData external_;
  int node_count_ = 0;
  int64_t sparse_bytes_left_ = kMaxSparseBytes;
  std::map<std::string, int> converted_;  // number of tensors, keyed by ONNX type
  double float_count_ = 0;                // elements of tensors that are read as f32
  double float_bytes_ = 0;                // that they take in the file
};

}  // namespace

llvm::Error check_model_bytes(uint64_t bytes, llvm::StringRef path) {
  if (bytes <= INT_MAX) return llvm::Error::success();
  return unsupported_error(path,
                           "expected at most {0} bytes (protobuf's limit; larger weights go to "
                           "external data), found {1}",
                           INT_MAX, bytes);
}

llvm::Expected<OnnxModel> read_onnx(llvm::StringRef bytes, llvm::StringRef path) {
  if (llvm::Error error = check_model_bytes(bytes.size(), path)) return error;
  // protobuf and its containers throw if memory is short. LLVM is built without exceptions, so they
  // are caught here.
  try {
    // An element or field of a byte or two in the file takes four to a hundred in the message.
    google::protobuf::ArenaOptions options;
    options.block_alloc = allocate_large;
    options.block_dealloc = free_large;
    google::protobuf::Arena arena(options);
    auto& proto = *google::protobuf::Arena::CreateMessage<onnx::ModelProto>(&arena);
    if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      return input_error(
          path,
          "expected an ONNX model, found {0} bytes of another format or of a file that is cut off",
          bytes.size());
    return Reader(path).read(proto);
  } catch (const std::bad_alloc&) {
    return memory_error(path);
  } catch (const std::exception& exception) {
    return input_error(path, "expected an ONNX model, found one that cannot be read: {0}",
                       exception.what());
  }
}

}  // namespace codl::compiler
