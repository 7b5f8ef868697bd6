// Operators that are gone once the shapes are known: names for other values, constants, and the
// integer arithmetic by which exporters hand shapes to Reshape.
#include <algorithm>

#include "compiler/frontend/rules.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

constexpr int64_t kOnnxFloat = 1;  // TensorProto.DataType
constexpr int64_t kOnnxInt32 = 6;
constexpr int64_t kOnnxInt64 = 7;

OnnxTensor ints_tensor(llvm::ArrayRef<int64_t> elements) {
  OnnxTensor tensor;
  tensor.dtype = DType::I64;
  tensor.dims = {static_cast<int64_t>(elements.size())};
  const auto* first = reinterpret_cast<const uint8_t*>(elements.data());
  tensor.bytes.assign(first, first + elements.size() * sizeof(int64_t));
  return tensor;
}

OnnxTensor floats_tensor(llvm::ArrayRef<float> elements) {
  OnnxTensor tensor;
  tensor.dims = {static_cast<int64_t>(elements.size())};
  const auto* first = reinterpret_cast<const uint8_t*>(elements.data());
  tensor.bytes.assign(first, first + elements.size() * sizeof(float));
  return tensor;
}

llvm::Error import_identity(const OnnxNode& node, Importer& importer) {
  return importer.bind_operand(node, 0);
}

// Inference: nothing is dropped. Only a training_mode input that is set would change that.
llvm::Error import_dropout(const OnnxNode& node, Importer& importer) {
  if (node.has_input(2)) {
    CODL_ASSIGN_OR_RETURN(training, importer.int_constant(node, 2));
    for (int64_t flag : training)
      if (flag != 0)
        return unsupported_error(node.name, "expected training_mode false, found true");
  }
  return importer.bind_operand(node, 0);
}

llvm::Error import_constant(const OnnxNode& node, Importer& importer) {
  if (node.attributes.size() != 1)
    return input_error(node.name, "expected one attribute, found {0}", node.attributes.size());
  const OnnxAttribute& attribute = node.attributes[0];
  OnnxTensor tensor;
  if (attribute.name == "value" && attribute.type == OnnxAttribute::Type::Tensor) {
    tensor = attribute.tensor;
  } else if (attribute.name == "value_int" && attribute.type == OnnxAttribute::Type::Int) {
    tensor = ints_tensor(attribute.int_value);
    tensor.dims.clear();
  } else if (attribute.name == "value_ints" && attribute.type == OnnxAttribute::Type::Ints) {
    tensor = ints_tensor(attribute.ints);
  } else if (attribute.name == "value_float" && attribute.type == OnnxAttribute::Type::Float) {
    tensor = floats_tensor(attribute.float_value);
    tensor.dims.clear();
  } else if (attribute.name == "value_floats" && attribute.type == OnnxAttribute::Type::Floats) {
    tensor = floats_tensor(attribute.floats);
  } else {
    return unsupported_error(
        node.name, "expected a value of floats or integers, found attribute '{0}'", attribute.name);
  }
  importer.bind_constant(node, std::move(tensor));
  return llvm::Error::success();
}

// Shapes are static, so this is a constant. `start` and `end` (opset 15) are clamped.
llvm::Error import_shape(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  const int64_t rank = static_cast<int64_t>(dims.size());
  CODL_ASSIGN_OR_RETURN(start_attribute, node.int_or("start", 0));
  CODL_ASSIGN_OR_RETURN(end_attribute, node.int_or("end", rank));
  auto clamp = [&](int64_t index) {
    return std::clamp<int64_t>(index < 0 ? index + rank : index, 0, rank);
  };
  const int64_t start = clamp(start_attribute);
  const int64_t end = std::max(start, clamp(end_attribute));
  importer.bind_constant(node,
                         ints_tensor(llvm::ArrayRef<int64_t>(dims).slice(start, end - start)));
  return llvm::Error::success();
}

// Of an integer vector, as in Shape -> Gather -> Reshape.
llvm::Error import_gather(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(data_dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(elements, importer.int_constant(node, 0));
  CODL_ASSIGN_OR_RETURN(index_dims, importer.dims_of(node, 1));
  CODL_ASSIGN_OR_RETURN(indices, importer.int_constant(node, 1));
  CODL_ASSIGN_OR_RETURN(axis_attribute, node.int_or("axis", 0));
  CODL_ASSIGN_OR_RETURN(axis, normalized_axis(node, axis_attribute, data_dims.size()));
  if (data_dims.size() != 1)
    return unsupported_error(node.name, "expected a vector, found rank {0} and axis {1}",
                             data_dims.size(), axis);
  std::vector<int64_t> gathered;
  for (int64_t index : indices) {
    CODL_ASSIGN_OR_RETURN(positive, normalized_axis(node, index, elements.size()));
    gathered.push_back(elements[positive]);
  }
  OnnxTensor tensor = ints_tensor(gathered);
  tensor.dims = index_dims;
  importer.bind_constant(node, std::move(tensor));
  return llvm::Error::success();
}

// From and to types that codl holds alike.
llvm::Error import_cast(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(to, node.int_or("to", 0));
  CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
  const bool is_int = is_integer(dtype);
  const bool is_kept = is_int ? to == kOnnxInt64 || to == kOnnxInt32 : to == kOnnxFloat;
  if (!is_kept)
    return unsupported_error(node.name, "expected a cast that keeps {0}, found one to type {1}",
                             is_int ? "integers" : "floats", to);
  return importer.bind_operand(node, 0);
}

constexpr ImportRow kRows[] = {
    {"Cast", 7, kNewestOpset, import_cast},         {"Constant", 7, kNewestOpset, import_constant},
    {"Dropout", 7, kNewestOpset, import_dropout},   {"Gather", 7, kNewestOpset, import_gather},
    {"Identity", 7, kNewestOpset, import_identity}, {"Shape", 7, kNewestOpset, import_shape},
};

}  // namespace

llvm::ArrayRef<ImportRow> constant_rows() { return kRows; }

}  // namespace codl::compiler
