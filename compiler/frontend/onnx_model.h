// An ONNX model as plain structs. onnx_model.cc is the only file that sees protobuf; the import
// rules read these.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/types.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

// The dtype of a TensorProto.DataType; none for the types codl does not hold (strings, complex
// numbers, 4 and 8 bit floats ...).
std::optional<DType> dtype_of_onnx(int64_t data_type);
// "FLOAT8E5M2"; the number where it is none of ONNX's.
std::string onnx_type_name(int64_t data_type);
// F16, BF16 and F64 are held as F32 inside a network, all else as it is.
DType held_dtype(DType dtype);

// Data of an initializer or attribute. Floats are F32, whatever they were in the file; integers and
// bool (bytes of 0 and 1) have their own type.
struct OnnxTensor {
  DType dtype = DType::F32;
  llvm::SmallVector<int64_t, 4> dims;  // 0 or more
  std::vector<uint8_t> bytes;          // ONNX order
  // Why the data cannot be used ("data type STRING"), or empty. An error only where it is used:
  // models carry tensors that nothing reads.
  std::string problem;

  int64_t element_count() const {
    int64_t count = 1;
    for (int64_t dim : dims) count *= dim;
    return count;
  }
  template <typename T>
  llvm::ArrayRef<T> as() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

struct OnnxAttribute {
  enum class Type { Int, Ints, Float, Floats, String, Tensor, Other };
  std::string name;
  Type type = Type::Other;
  int64_t int_value = 0;
  float float_value = 0;
  std::string string_value;
  std::vector<int64_t> ints;
  std::vector<float> floats;
  OnnxTensor tensor;
};

struct OnnxNode {
  std::string name;  // the first output's name if the model gives none
  std::string op_type;
  std::string domain;               // empty: ONNX's own operators
  int64_t opset = 0;                // of the model, for the default domain
  std::vector<std::string> inputs;  // an empty name: an optional operand that is absent
  std::vector<std::string> outputs;
  std::vector<OnnxAttribute> attributes;

  bool has_input(size_t i) const { return i < inputs.size() && !inputs[i].empty(); }
  const OnnxAttribute* find(llvm::StringRef attribute) const;

  // An attribute, or `fallback` where the node has none. Input error if it has another type.
  llvm::Expected<int64_t> int_or(llvm::StringRef attribute, int64_t fallback) const;
  llvm::Expected<float> float_or(llvm::StringRef attribute, float fallback) const;
  llvm::Expected<std::string> string_or(llvm::StringRef attribute, llvm::StringRef fallback) const;
  // `count`: the number of elements expected, or -1.
  llvm::Expected<std::vector<int64_t>> ints_or(llvm::StringRef attribute,
                                               std::vector<int64_t> fallback, int count = -1) const;
};

inline constexpr int64_t kUnknownDim = -1;

// What a model says about a value: an input, an output, or one in between.
struct OnnxValueInfo {
  std::string name;
  std::optional<DType> dtype;  // as declared; none if the model does not say
  std::string problem;         // why its type cannot be used ("data type STRING"), or empty
  bool has_shape = false;
  llvm::SmallVector<int64_t, 4> dims;  // kUnknownDim where it is no number
  std::vector<std::string> symbols;    // names of unknown dims, by dim; empty where there is none
};

struct OnnxInitializer {
  std::string name;
  OnnxTensor tensor;
};

struct OnnxModel {
  std::string graph_name;
  int64_t opset = 0;  // of the default domain
  std::vector<OnnxInitializer> initializers;
  std::vector<OnnxValueInfo> inputs;  // without those that are initializers too
  std::vector<OnnxValueInfo> outputs;
  std::vector<OnnxValueInfo> values;  // of values in between, where the model says something
  std::vector<OnnxNode> nodes;        // in the file's order
};

// Reads a serialized ModelProto. Checks what can be checked without knowing operators: opset 7 to
// 18, tensors whose data fits their dims, inputs with static dims. Errors: Input, Unsupported.
// Nothing is thrown.
llvm::Expected<OnnxModel> read_onnx(llvm::StringRef bytes, llvm::StringRef path);

}  // namespace codl::compiler
