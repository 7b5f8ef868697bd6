// Holds an ONNX model as plain structs. Only onnx_reader.cc sees protobuf; the import rules read
// these.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/types.h"
#include "compiler/support/shared_bytes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

// A model's opset of the ONNX domain must be at least this.
inline constexpr int64_t kOldestOpset = 7;  // the first with numpy broadcasting in Add, Mul ...
// The rules know operators up to this opset. An entry of import_table() names the opset of ONNX's
// operator changelog from which the rule's reading of attributes and inputs holds.
inline constexpr int64_t kNewestOpset = 28;

// Returns the dtype of a TensorProto.DataType; none for types that codl does not hold (strings,
// complex numbers, 4 and 8 bit floats ...).
std::optional<DType> dtype_of_onnx(int64_t data_type);
// Returns "FLOAT8E5M2", or the number if it is none of ONNX's.
std::string onnx_type_name(int64_t data_type);
// Returns "com.microsoft.FusedConv"; in ONNX's own domain the operator's name alone.
std::string qualified_name(llvm::StringRef domain, llvm::StringRef op_type);
// Returns F32 for F16, BF16 and F64, as rules that do not compute in doubles hold them, and every
// other dtype itself.
DType held_dtype(DType dtype);

// Holds the data of an initializer or attribute. F16 and BF16 of the file are F32; doubles,
// integers and bool (bytes of 0 and 1) have their own type.
struct OnnxTensor {
  DType dtype = DType::F32;
  llvm::SmallVector<int64_t, 4> dims;  // 0 or more
  SharedBytes bytes;                   // ONNX order; aligned for the dtype
  int bits = 0;  // the file's integers have so many, if that is less than a byte; else 0
  // Says why the data cannot be used ("data type STRING"), or is empty. It is an error only if
  // something reads the data, because models carry tensors that nothing reads.
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

// Says what a model uses an integer for. Rules read it with expect_integer(), so that they may
// negate it, take its magnitude, and add or multiply two of them without a check for overflow.
enum class IntegerUse {
  Setting,  // an axis, dim, count, pad, mode ...: within [-kMaxSetting, kMaxSetting]
  Bound,    // a range or a limit: any beyond +-kMaxSetting means the same as that
  Data,     // any
};
// Bounds dims and numbers of elements (kMaxDim, kMaxElements).
inline constexpr int64_t kMaxSetting = (int64_t{1} << 31) - 1;
// Returns an Unsupported error for a setting out of range. `what` is text like "attribute 'pads'".
llvm::Expected<int64_t> expect_integer(llvm::StringRef where, const llvm::Twine& what,
                                       int64_t value, IntegerUse use);

// Returns the product of a tensor's dims. Returns an Input error for a negative one, an Unsupported
// error above kMaxElements.
llvm::Expected<int64_t> checked_element_count(llvm::StringRef where, llvm::ArrayRef<int64_t> dims);

struct OnnxGraph;

struct OnnxAttribute {
  enum class Type { Int, Ints, Float, Floats, String, Strings, Tensor, Graph, Other };
  std::string name;
  Type type = Type::Other;
  int64_t int_value = 0;
  float float_value = 0;
  std::string string_value;
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<std::string> strings;
  OnnxTensor tensor;
  std::shared_ptr<const OnnxGraph> graph;
  // Names, in a function's body, the attribute of the call that gives the value; else empty.
  std::string reference;
  // Becomes true once somebody read it. An attribute that no rule knows must not be ignored
  // silently.
  mutable bool was_asked = false;
};

struct OnnxNode {
  std::string name;  // the first output's name if the model gives none
  std::string op_type;
  std::string domain;               // empty: ONNX's own operators
  std::string overload;             // for a function
  int64_t opset = 0;                // opset of the node's domain; 0 if the model imports none
  std::vector<std::string> inputs;  // an empty name: an optional operand that is absent
  std::vector<std::string> outputs;
  std::vector<OnnxAttribute> attributes;

  bool has_input(size_t i) const { return i < inputs.size() && !inputs[i].empty(); }
  const OnnxAttribute* find(llvm::StringRef attribute) const;

  // Returns an attribute, or `fallback` if the node has none. Returns an Input error if it has
  // another type.
  llvm::Expected<int64_t> int_or(llvm::StringRef attribute, int64_t fallback,
                                 IntegerUse use = IntegerUse::Setting) const;
  llvm::Expected<float> float_or(llvm::StringRef attribute, float fallback) const;
  llvm::Expected<std::string> string_or(llvm::StringRef attribute, llvm::StringRef fallback) const;
  // `count` is the expected number of elements, or -1.
  llvm::Expected<std::vector<int64_t>> ints_or(llvm::StringRef attribute,
                                               std::vector<int64_t> fallback, int count = -1,
                                               IntegerUse use = IntegerUse::Setting) const;
  llvm::Expected<std::vector<std::string>> strings_or(llvm::StringRef attribute,
                                                      std::vector<std::string> fallback) const;
};

inline constexpr int64_t kUnknownDim = -1;
std::string dims_text(llvm::ArrayRef<int64_t> dims);  // like "[1,?,224]"

// Holds what the model declares about a value: an input, an output, or one in between.
struct OnnxValueInfo {
  std::string name;
  std::optional<DType> dtype;  // as declared; none if the model does not say
  std::string problem;         // why its type cannot be used ("data type STRING"), or empty
  bool has_shape = false;
  llvm::SmallVector<int64_t, 4> dims;  // kUnknownDim where it is no number
  // Holds names of unknown dims, one per dim; empty if there is none. Dims of one name are equal.
  std::vector<std::string> symbols;
};

struct OnnxInitializer {
  std::string name;
  OnnxTensor tensor;
};

// Holds the model's graph, or the body of an If or Loop, which may read names from around it.
struct OnnxGraph {
  std::string name;
  std::vector<OnnxInitializer> initializers;
  std::vector<OnnxValueInfo> inputs;  // without those that are also initializers
  std::vector<OnnxValueInfo> outputs;
  std::vector<OnnxValueInfo> values;  // declared values that are neither inputs nor outputs
  std::vector<OnnxNode> nodes;        // in the file's order
};

// Holds an operator that the model itself defines.
struct OnnxFunction {
  std::string domain;
  std::string name;
  std::string overload;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> attributes;  // names of attributes without a default
  std::vector<OnnxAttribute> defaults;
  std::vector<OnnxValueInfo> values;
  std::vector<OnnxNode> nodes;
};

struct OnnxModel {
  OnnxGraph graph;
  std::vector<OnnxFunction> functions;
  int64_t opset = 0;               // opset of the ONNX domain; 0: none imported
  std::vector<std::string> notes;  // notes for the user about conversions
  double float_bytes = 4;          // Graph::file_float_bytes
};

// Returns an Unsupported error if a serialized model has more bytes than protobuf reads.
llvm::Error check_model_bytes(uint64_t bytes, llvm::StringRef path);

// Reads a serialized ModelProto. Checks everything that needs no knowledge of operators: tensors
// whose data fits their dims, one opset per domain, reasonable sizes. External data is read from
// the folder of `path`, never from outside it. Errors: Input, Unsupported, Memory. Throws nothing.
llvm::Expected<OnnxModel> read_onnx(llvm::StringRef bytes, llvm::StringRef path);

// Returns true if the model has a value of type DOUBLE: in a tensor, a declaration, or a Cast.
bool has_doubles(const OnnxModel& model);

// Returns the names that the node's bodies read from around it, each once.
std::vector<std::string> captured_names(const OnnxNode& node);

}  // namespace codl::compiler
