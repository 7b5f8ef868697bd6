#include "compiler/frontend/onnx/input_values.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/onnx/input_shapes.h"
#include "compiler/support/error.h"
#include "llvm/ADT/APFloat.h"

namespace codl::compiler {
namespace {

template <typename T>
void append(T element, std::vector<uint8_t>& bytes) {
  const size_t at = bytes.size();
  bytes.resize(at + sizeof element);
  std::memcpy(bytes.data() + at, &element, sizeof element);
}

template <typename T>
bool append_integer(llvm::StringRef text, std::vector<uint8_t>& bytes) {
  using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
  Wide number = 0;
  if (text.getAsInteger(10, number) || number < std::numeric_limits<T>::min() ||
      number > std::numeric_limits<T>::max())
    return false;
  append(static_cast<T>(number), bytes);
  return true;
}

// Rounds to the input's type first, as the application's elements are.
bool append_float(llvm::StringRef text, const llvm::fltSemantics& semantics,
                  std::vector<uint8_t>& bytes) {
  llvm::APFloat number(semantics);
  auto status = number.convertFromString(text, llvm::APFloat::rmNearestTiesToEven);
  if (!status) {
    llvm::consumeError(status.takeError());
    return false;
  }
  if (&semantics == &llvm::APFloat::IEEEdouble()) {
    append(number.convertToDouble(), bytes);
    return true;
  }
  bool loses_digits = false;
  number.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &loses_digits);
  append(number.convertToFloat(), bytes);
  return true;
}

bool append_bool(llvm::StringRef text, std::vector<uint8_t>& bytes) {
  const bool is_true = text == "true" || text == "1";
  if (!is_true && text != "false" && text != "0") return false;
  append(static_cast<uint8_t>(is_true), bytes);
  return true;
}

// Returns false if the text is no element of the type.
bool append_element(DType dtype, llvm::StringRef text, std::vector<uint8_t>& bytes) {
  switch (dtype) {
    case DType::I64:
      return append_integer<int64_t>(text, bytes);
    case DType::U64:
      return append_integer<uint64_t>(text, bytes);
    case DType::I32:
      return append_integer<int32_t>(text, bytes);
    case DType::U32:
      return append_integer<uint32_t>(text, bytes);
    case DType::I16:
      return append_integer<int16_t>(text, bytes);
    case DType::U16:
      return append_integer<uint16_t>(text, bytes);
    case DType::I8:
      return append_integer<int8_t>(text, bytes);
    case DType::U8:
      return append_integer<uint8_t>(text, bytes);
    case DType::Bool:
      return append_bool(text, bytes);
    case DType::F32:
      return append_float(text, llvm::APFloat::IEEEsingle(), bytes);
    case DType::F64:
      return append_float(text, llvm::APFloat::IEEEdouble(), bytes);
    case DType::F16:
      return append_float(text, llvm::APFloat::IEEEhalf(), bytes);
    case DType::BF16:
      return append_float(text, llvm::APFloat::BFloat(), bytes);
    case DType::Any:
      return false;
  }
  __builtin_unreachable();
}

llvm::Expected<OnnxTensor> tensor_of(const OnnxValueInfo& input,
                                     llvm::ArrayRef<std::string> elements) {
  const std::string where = "--input-value=" + input.name;
  if (!input.problem.empty())
    return unsupported_error(where, "expected a tensor of a known data type, found {0}",
                             input.problem);
  if (!input.dtype || !input.has_shape || llvm::is_contained(input.dims, kUnknownDim))
    return input_error(where,
                       "expected an input with a type and a number for every dim (--input-shape), "
                       "found one without");
  OnnxTensor tensor;
  tensor.dtype = *input.dtype == DType::F64 ? DType::F64 : held_dtype(*input.dtype);
  tensor.dims = input.dims;
  const int64_t count = element_count(input.dims);
  if (static_cast<int64_t>(elements.size()) != count)
    return input_error(where, "expected {0} element(s), found {1}", count, elements.size());
  std::vector<uint8_t> bytes;
  for (const std::string& element : elements)
    if (!append_element(*input.dtype, element, bytes))
      return input_error(where, "expected elements of type {0}, found \"{1}\"",
                         dtype_name(*input.dtype), element);
  tensor.bytes = bytes;
  return tensor;
}

}  // namespace

llvm::Error fix_input_values(OnnxGraph& graph,
                             const llvm::StringMap<std::vector<std::string>>& values) {
  std::vector<std::string> names;
  for (const auto& entry : values) names.push_back(entry.getKey().str());
  std::sort(names.begin(), names.end());  // a StringMap has no order, but messages need one
  for (const std::string& name : names) {
    const auto input = llvm::find_if(
        graph.inputs, [&](const OnnxValueInfo& candidate) { return candidate.name == name; });
    if (input == graph.inputs.end()) return unknown_input("--input-value", name, graph);
    CODL_ASSIGN_OR_RETURN(tensor, tensor_of(*input, values.find(name)->second));
    graph.initializers.push_back({name, std::move(tensor)});
    graph.inputs.erase(input);
  }
  return llvm::Error::success();
}

}  // namespace codl::compiler
