#include <type_traits>

#include "compiler/ir/graph.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include "tools/printable.h"

namespace codl::ir {
namespace {

// Constants up to this many elements are printed with their values: enough for scalars, shapes and
// the biases of text tests, too few to drown a dump of a network.
constexpr int64_t kMaxPrintedElements = 8;

void print_name(llvm::raw_ostream& os, llvm::StringRef name) {
  os << tools::printable({name.data(), name.size()});
}

template <typename T>
void print_integers(llvm::raw_ostream& os, const Value& value) {
  const char* separator = "";
  for (T element : value.as<T>()) {
    // Prints through the widest type of its sign, because a stream prints an 8-bit integer as a
    // character.
    os << separator;
    if constexpr (std::is_signed_v<T>)
      os << int64_t{element};
    else
      os << uint64_t{element};
    separator = ", ";
  }
}

template <typename T>
void print_reals(llvm::raw_ostream& os, const Value& value, const char* format) {
  const char* separator = "";
  for (T element : value.as<T>()) {
    os << separator << llvm::format(format, static_cast<double>(element));
    separator = ", ";
  }
}

// Prints 16-bit floats as the numbers they stand for, which are exact in a float.
void print_words(llvm::raw_ostream& os, const Value& value, const llvm::fltSemantics& semantics) {
  const char* separator = "";
  for (uint16_t word : value.as<uint16_t>()) {
    llvm::APFloat number(semantics, llvm::APInt(16, word));
    os << separator << llvm::format("%.9g", number.convertToDouble());
    separator = ", ";
  }
}

void print_elements(llvm::raw_ostream& os, const Value& value) {
  switch (value.type.dtype) {
    case DType::F32:
      return print_reals<float>(os, value, "%.9g");
    case DType::F64:
      return print_reals<double>(os, value, "%.17g");
    case DType::F16:
      return print_words(os, value, llvm::APFloat::IEEEhalf());
    case DType::BF16:
      return print_words(os, value, llvm::APFloat::BFloat());
    case DType::Bool:
    case DType::U8:
      return print_integers<uint8_t>(os, value);
    case DType::I8:
      return print_integers<int8_t>(os, value);
    case DType::I16:
      return print_integers<int16_t>(os, value);
    case DType::U16:
      return print_integers<uint16_t>(os, value);
    case DType::I32:
      return print_integers<int32_t>(os, value);
    case DType::U32:
      return print_integers<uint32_t>(os, value);
    case DType::I64:
      return print_integers<int64_t>(os, value);
    case DType::U64:
      return print_integers<uint64_t>(os, value);
    case DType::Any:
      break;
  }
  os << '?';  // verify() reports it
}

void print_constant(llvm::raw_ostream& os, const Value& value) {
  os << "const %";
  print_name(os, value.name);
  os << " : " << to_string(value.type);
  if (value.has_channel_grids) os << " on grids of channels";
  if (value.blocks)
    os << " in blocks of " << value.blocks.size << " of " << value.blocks.bits << " bits";
  if (value.type.element_count() <= kMaxPrintedElements) {
    os << " = {";
    print_elements(os, value);
    os << '}';
  }
  os << '\n';
}

// Returns the name of the family member that a parameter stores, or nothing for a plain number.
std::string_view member_of(OpKind op, std::string_view field, int32_t number) {
  if (field == "kind") return member_name(op, number);
  if (field == "activation") return member_name(OpKind::Unary, number);
  return {};
}

// Prints every parameter that is not zero: in all of ops.def, zero means "absent".
void print_params(llvm::raw_ostream& os, const Node& node) {
  const char* separator = " {";
  for (const OpParamField& field : kOpParamFields) {
    if (field.op != node.op) continue;
    const char* word = static_cast<const char*>(node.params.data()) + field.offset_bytes;
    int32_t number = 0;
    std::memcpy(&number, word, sizeof number);
    if (number == 0) continue;
    os << separator << llvm::StringRef(field.name.data(), field.name.size()) << '=';
    separator = ", ";
    if (field.is_float) {
      float real = 0;
      std::memcpy(&real, word, sizeof real);
      os << llvm::format("%.9g", double{real});
      continue;
    }
    const std::string_view member = member_of(node.op, field.name, number);
    if (member.empty())
      os << number;
    else
      os << llvm::StringRef(member.data(), member.size());
  }
  if (separator[0] == ',') os << '}';
}

void print_node(llvm::raw_ostream& os, const Graph& graph, const Node& node) {
  const std::string_view op = op_info(node.op).name;
  os << '%';
  print_name(os, graph.value(node.output).name);
  os << ' ';
  print_name(os, node.name);
  os << " = " << llvm::StringRef(op.data(), op.size()) << '(';
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    os << (i == 0 ? "%" : ", %");
    print_name(os, graph.value(node.inputs[i]).name);
  }
  os << ')';
  print_params(os, node);
  const Value& output = graph.value(node.output);
  os << " : " << to_string(output.type);
  if (output.grid)
    os << llvm::format(" on grid %.9g, zero %d", double{output.grid.scale}, output.grid.zero_point);
  os << '\n';
}

}  // namespace

std::string print(const Graph& graph) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "graph ";
  print_name(os, graph.name);
  os << '\n';
  for (ValueId id : graph.inputs()) {
    os << "input %";
    print_name(os, graph.value(id).name);
    os << " : " << to_string(graph.value(id).type) << '\n';
  }
  for (const Value& value : graph.values())
    if (value.is_constant) print_constant(os, value);
  for (const Node& node : graph.nodes()) print_node(os, graph, node);
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const Value& value = graph.value(graph.outputs()[i]);
    os << "output %";
    print_name(os, value.name);
    if (graph.output_name(i) != value.name) {
      os << " as ";
      print_name(os, graph.output_name(i));
    }
    os << " : " << to_string(value.type) << '\n';
  }
  for (const OutputExtent& extent : graph.extents()) {
    os << "extent %";
    print_name(os, graph.value(graph.outputs()[extent.output]).name);
    os << " dim " << extent.dim << " : %";
    print_name(os, graph.value(graph.outputs()[extent.count_output]).name);
    os << '\n';
  }
  for (const KeptState& state : graph.states()) {
    os << "state %";
    print_name(os, graph.value(graph.inputs()[state.input]).name);
    os << " : %";
    print_name(os, graph.value(graph.outputs()[state.output]).name);
    os << '\n';
  }
  return text;
}

}  // namespace codl::ir
