#include "compiler/frontend/onnx/onnx_model.h"

#include <algorithm>

#include "compiler/support/error.h"
#include "llvm/ADT/StringSet.h"
#include "schema/plan_layout.h"

namespace codl::compiler {
namespace {

// Lists TensorProto.DataType by number.
struct OnnxTypeRow {
  llvm::StringRef name;
  std::optional<DType> dtype;
};
const OnnxTypeRow kOnnxTypes[] = {
    {"UNDEFINED", {}},
    {"FLOAT", DType::F32},
    {"UINT8", DType::U8},
    {"INT8", DType::I8},
    {"UINT16", DType::U16},
    {"INT16", DType::I16},
    {"INT32", DType::I32},
    {"INT64", DType::I64},
    {"STRING", {}},
    {"BOOL", DType::Bool},
    {"FLOAT16", DType::F16},
    {"DOUBLE", DType::F64},
    {"UINT32", DType::U32},
    {"UINT64", DType::U64},
    {"COMPLEX64", {}},
    {"COMPLEX128", {}},
    {"BFLOAT16", DType::BF16},
    {"FLOAT8E4M3FN", {}},
    {"FLOAT8E4M3FNUZ", {}},
    {"FLOAT8E5M2", {}},
    {"FLOAT8E5M2FNUZ", {}},
    {"UINT4", {}},
    {"INT4", {}},
    {"FLOAT4E2M1", {}},
    {"FLOAT8E8M0", {}},
    {"UINT2", {}},
    {"INT2", {}},
};

const OnnxTypeRow* onnx_type(int64_t data_type) {
  const bool is_known = data_type >= 0 && data_type < static_cast<int64_t>(std::size(kOnnxTypes));
  return is_known ? &kOnnxTypes[data_type] : nullptr;
}

bool is_any_double(const OnnxGraph& graph);

bool is_double_node(const OnnxNode& node) {
  return llvm::any_of(node.attributes, [&](const OnnxAttribute& attribute) {
    if (attribute.graph != nullptr && is_any_double(*attribute.graph)) return true;
    const bool is_cast = node.op_type == "Cast" && attribute.name == "to";
    return attribute.tensor.dtype == DType::F64 ||
           (is_cast && dtype_of_onnx(attribute.int_value) == DType::F64);
  });
}

bool is_any_double(const OnnxGraph& graph) {
  for (const auto* infos : {&graph.inputs, &graph.outputs, &graph.values})
    for (const OnnxValueInfo& info : *infos)
      if (info.dtype == DType::F64) return true;
  for (const OnnxInitializer& initializer : graph.initializers)
    if (initializer.tensor.dtype == DType::F64) return true;
  return llvm::any_of(graph.nodes, is_double_node);
}

class CaptureCollector {
 public:
  std::vector<std::string> take() { return std::move(names_); }

  void add_bodies_of(const OnnxNode& node) {
    for (const OnnxAttribute& attribute : node.attributes)
      if (attribute.graph != nullptr) add_graph(*attribute.graph);
  }

 private:
  // Counts definitions around the current place, because bodies side by side may use the same
  // names.
  void define(llvm::StringRef name, int change) { defined_[name] += change; }

  void define_all(const OnnxGraph& graph, int change) {
    for (const OnnxInitializer& initializer : graph.initializers) define(initializer.name, change);
    for (const OnnxValueInfo& input : graph.inputs) define(input.name, change);
    for (const OnnxNode& node : graph.nodes)
      for (const std::string& output : node.outputs) define(output, change);
  }

  void read(const std::string& name) {
    if (name.empty() || defined_[name] > 0) return;
    if (listed_.insert(name).second) names_.push_back(name);
  }

  void add_graph(const OnnxGraph& graph) {
    define_all(graph, +1);
    for (const OnnxNode& node : graph.nodes) {
      for (const std::string& input : node.inputs) read(input);
      add_bodies_of(node);
    }
    for (const OnnxValueInfo& output : graph.outputs) read(output.name);
    define_all(graph, -1);
  }

  llvm::StringMap<int> defined_;
  llvm::StringSet<> listed_;
  std::vector<std::string> names_;
};

}  // namespace

std::optional<DType> dtype_of_onnx(int64_t data_type) {
  const OnnxTypeRow* row = onnx_type(data_type);
  return row != nullptr ? row->dtype : std::nullopt;
}

std::string onnx_type_name(int64_t data_type) {
  const OnnxTypeRow* row = onnx_type(data_type);
  return row != nullptr ? row->name.str() : std::to_string(data_type);
}

std::string qualified_name(llvm::StringRef domain, llvm::StringRef op_type) {
  return domain.empty() ? op_type.str() : (domain + "." + op_type).str();
}

DType held_dtype(DType dtype) {
  const bool is_border = dtype == DType::F16 || dtype == DType::BF16 || dtype == DType::F64;
  return is_border ? DType::F32 : dtype;
}

llvm::Expected<int64_t> expect_integer(llvm::StringRef where, const llvm::Twine& what,
                                       int64_t value, IntegerUse use) {
  if (use == IntegerUse::Data) return value;
  const int64_t nearest = std::clamp(value, -kMaxSetting, kMaxSetting);
  if (use == IntegerUse::Bound || nearest == value) return nearest;
  return unsupported_error(where, "expected {0} in [{1}, {2}], found {3}", what.str(), -kMaxSetting,
                           kMaxSetting, value);
}

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

const OnnxAttribute* OnnxNode::find(llvm::StringRef attribute) const {
  for (const OnnxAttribute& candidate : attributes) {
    if (candidate.name != attribute) continue;
    candidate.was_asked = true;
    return &candidate;
  }
  return nullptr;
}

llvm::Expected<int64_t> OnnxNode::int_or(llvm::StringRef attribute, int64_t fallback,
                                         IntegerUse use) const {
  const OnnxAttribute* found = find(attribute);
  if (found == nullptr) return fallback;
  if (found->type != OnnxAttribute::Type::Int)
    return input_error(name, "expected attribute '{0}' to be an int, found another type",
                       attribute);
  return expect_integer(name, "attribute '" + attribute + "'", found->int_value, use);
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
                                                       std::vector<int64_t> fallback, int count,
                                                       IntegerUse use) const {
  const OnnxAttribute* found = find(attribute);
  if (found == nullptr) return fallback;
  if (found->type != OnnxAttribute::Type::Ints)
    return input_error(name, "expected attribute '{0}' to be ints, found another type", attribute);
  if (count >= 0 && found->ints.size() != static_cast<size_t>(count))
    return input_error(name, "expected {0} elements of attribute '{1}', found {2}", count,
                       attribute, found->ints.size());
  std::vector<int64_t> integers;
  for (int64_t element : found->ints) {
    CODL_ASSIGN_OR_RETURN(integer,
                          expect_integer(name, "attribute '" + attribute + "'", element, use));
    integers.push_back(integer);
  }
  return integers;
}

llvm::Expected<std::vector<std::string>> OnnxNode::strings_or(
    llvm::StringRef attribute, std::vector<std::string> fallback) const {
  const OnnxAttribute* found = find(attribute);
  if (found == nullptr) return fallback;
  if (found->type != OnnxAttribute::Type::Strings)
    return input_error(name, "expected attribute '{0}' to be strings, found another type",
                       attribute);
  return found->strings;
}

bool has_doubles(const OnnxModel& model) {
  if (is_any_double(model.graph)) return true;
  return llvm::any_of(model.functions, [](const OnnxFunction& function) {
    return llvm::any_of(function.nodes, is_double_node);
  });
}

std::vector<std::string> captured_names(const OnnxNode& node) {
  CaptureCollector collector;
  collector.add_bodies_of(node);
  return collector.take();
}

std::string dims_text(llvm::ArrayRef<int64_t> dims) {
  std::string text;
  for (int64_t dim : dims)
    text += (text.empty() ? "" : ",") + (dim == kUnknownDim ? "?" : std::to_string(dim));
  return "[" + text + "]";
}

}  // namespace codl::compiler
