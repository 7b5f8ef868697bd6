// Holds rules for values that a model states or counts, and for other names of values: Constant,
// ConstantOfShape, Range, Identity.
#include <algorithm>
#include <cmath>

#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/support/error.h"
#include "schema/plan_layout.h"

namespace codl::compiler {
namespace {

OnnxTensor float_tensor(llvm::ArrayRef<float> elements) {
  OnnxTensor tensor;
  tensor.dims = {static_cast<int64_t>(elements.size())};
  tensor.bytes = bytes_of(elements);
  return tensor;
}

llvm::Error import_identity(const OnnxNode& node, Importer& importer) {
  return importer.bind_operand(node, 0);
}

llvm::Error import_constant(const OnnxNode& node, Importer& importer) {
  if (node.attributes.size() != 1)
    return input_error(node.name, "expected one attribute, found {0}", node.attributes.size());
  using Type = OnnxAttribute::Type;
  const OnnxAttribute& attribute = *node.find(node.attributes[0].name);
  OnnxTensor tensor;
  if ((attribute.name == "value" || attribute.name == "sparse_value") &&
      attribute.type == Type::Tensor) {
    tensor = attribute.tensor;
  } else if (attribute.name == "value_int" && attribute.type == Type::Int) {
    tensor = int_tensor(attribute.int_value, {});
  } else if (attribute.name == "value_ints" && attribute.type == Type::Ints) {
    tensor = int_tensor(attribute.ints);
  } else if (attribute.name == "value_float" && attribute.type == Type::Float) {
    tensor = float_tensor(attribute.float_value);
    tensor.dims.clear();
  } else if (attribute.name == "value_floats" && attribute.type == Type::Floats) {
    tensor = float_tensor(attribute.floats);
  } else {
    return unsupported_error(
        node.name, "expected a value of floats or integers, found attribute '{0}'", attribute.name);
  }
  importer.bind_constant(node, std::move(tensor));
  return llvm::Error::success();
}

// Makes one element everywhere: f32 zeros without `value`.
llvm::Error import_constant_of_shape(const OnnxNode& node, Importer& importer) {
  OnnxTensor element = float_tensor(0.0f);
  if (const OnnxAttribute* value = node.find("value")) {
    if (value->type != OnnxAttribute::Type::Tensor)
      return input_error(node.name, "expected a tensor as attribute 'value', found another type");
    element = value->tensor;
  }
  if (!element.problem.empty())
    return unsupported_error(node.name, "expected a value of a number or bool, found {0}",
                             element.problem);
  if (element.element_count() != 1)
    return input_error(node.name, "expected a value of one element, found {0}",
                       element.element_count());
  CODL_ASSIGN_OR_RETURN(shape, known_ints(node, importer, 0));
  if (!shape) {
    const auto declared = importer.declared_dims(node, 0);
    if (!declared) return needs_constant(node, importer, 0, "shape");
    CODL_ASSIGN_OR_RETURN(shape_dims, importer.dims_of(node, 0));
    if (shape_dims.size() != 1 || shape_dims[0] != static_cast<int64_t>(declared->size()))
      return input_error(node.name,
                         "expected declared dims of the rank that the shape has, found {0}",
                         declared->size());
    shape.emplace(declared->begin(), declared->end());
  }
  if (llvm::Error error = check_dims(node, *shape)) return error;
  if (element_count(*shape) == 0) return bind_empty(node, importer, element.dtype, *shape);
  element.dims.clear();
  if (shape->empty()) {
    importer.bind_constant(node, std::move(element));
    return llvm::Error::success();
  }
  Compose c(node, importer);
  return c.bind(c.expand(c.constant(element.dtype, {}, element.bytes), *shape));
}

// ---- Range ----

// Returns the number of elements that ONNX counts. Returns an Input error for a delta of 0.
llvm::Expected<int64_t> range_count(const OnnxNode& node, double length, double delta) {
  const double count = std::ceil(length / delta);
  if (delta == 0 || std::isnan(count))
    return input_error(node.name, "expected numbers and a delta other than 0, found others");
  if (count > kMaxElements)
    return unsupported_error(node.name, "expected at most {0} elements, found more", kMaxElements);
  return static_cast<int64_t>(std::max(count, 0.0));
}

// Counts the elements of a Range with constant operands. It divides in the operands' type, as ONNX
// Runtime does.
llvm::Expected<int64_t> known_range_count(const OnnxNode& node, Importer& importer, DType dtype) {
  for (size_t i = 0; i < 3; ++i) {
    CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, i));
    if (element_count(dims) != 1)
      return input_error(node.name, "expected scalars, found {0} elements", element_count(dims));
  }
  if (dtype == DType::F32) {
    CODL_ASSIGN_OR_RETURN(start, importer.float_constant(node, 0));
    CODL_ASSIGN_OR_RETURN(limit, importer.float_constant(node, 1));
    CODL_ASSIGN_OR_RETURN(delta, importer.float_constant(node, 2));
    return range_count(node, limit[0] - start[0], delta[0]);
  }
  if (dtype == DType::F64) {
    CODL_ASSIGN_OR_RETURN(start, importer.constant(node, 0));
    CODL_ASSIGN_OR_RETURN(limit, importer.constant(node, 1));
    CODL_ASSIGN_OR_RETURN(delta, importer.constant(node, 2));
    return range_count(node, limit.as<double>()[0] - start.as<double>()[0], delta.as<double>()[0]);
  }
  CODL_ASSIGN_OR_RETURN(start, importer.int_constant(node, 0, IntegerUse::Data));
  CODL_ASSIGN_OR_RETURN(limit, importer.int_constant(node, 1, IntegerUse::Data));
  CODL_ASSIGN_OR_RETURN(delta, importer.int_constant(node, 2, IntegerUse::Data));
  return range_count(node, static_cast<double>(limit[0]) - static_cast<double>(start[0]),
                     static_cast<double>(delta[0]));
}

// Computes start + i * delta. The count is known, or declared by the model.
llvm::Error import_range(const OnnxNode& node, Importer& importer) {
  // Floats are computed in f32 whatever their type.
  if (auto stash = node.int_or("stash_type", 1); !stash) return stash.takeError();
  CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
  size_t computed = 0;
  while (computed < 3 && importer.is_constant(node, computed)) ++computed;
  int64_t count = 0;
  if (computed == 3) {
    CODL_ASSIGN_OR_RETURN(known, known_range_count(node, importer, dtype));
    count = known;
  } else {
    const auto declared = importer.declared_dims(node, 0);
    if (!declared || declared->size() != 1)
      return needs_constant(node, importer, computed, "range");
    count = declared->front();
  }
  if (llvm::Error error = check_dims(node, {count})) return error;
  if (count == 0) return bind_empty(node, importer, dtype, {0});
  Compose c(node, importer);
  const ir::ValueId start = c.reshape(c.operand(0), {});
  const ir::ValueId delta = c.reshape(c.operand(2), {});
  return c.bind(c.add(start, c.mul(c.cast(iota(c, count), dtype), delta)));
}

}  // namespace

llvm::ArrayRef<ImportEntry> constant_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"Constant", 1, kNewestOpset, import_constant},
      {"ConstantOfShape", 9, kNewestOpset, import_constant_of_shape},
      {"Identity", 1, kNewestOpset, import_identity},
      {"Range", 11, kNewestOpset, import_range},
  };
  return kEntries;
}

}  // namespace codl::compiler
