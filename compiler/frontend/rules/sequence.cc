// Imports sequences and optionals. A plan has neither. In the importer a sequence is a list of
// names, whose length and positions must be known, and an optional is its element or known to be
// absent.
#include <algorithm>

#include "compiler/frontend/graph/rewrite.h"
#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

using Names = Rewrite::Names;
using Sequence = Importer::Sequence;

// Returns the position that operand `i` gives, in `count` tensors counted from the front or the
// back. With `has_end` the position after the last, counted from the front, is allowed, too.
llvm::Expected<size_t> known_position(const OnnxNode& node, Importer& importer, size_t i,
                                      size_t count, bool has_end = false) {
  if (!importer.is_constant(node, i)) return needs_constant(node, importer, i, "position");
  CODL_ASSIGN_OR_RETURN(elements, importer.int_constant(node, i));
  if (elements.size() != 1)
    return input_error(node.name, "expected a position of one element, found {0}", elements.size());
  const int64_t places = static_cast<int64_t>(count);
  const int64_t last = places - (has_end ? 0 : 1);
  if (elements[0] < -places || elements[0] > last)
    return input_error(node.name, "expected a position in [{0}, {1}], found {2}", -places, last,
                       elements[0]);
  return static_cast<size_t>(elements[0] < 0 ? elements[0] + places : elements[0]);
}

llvm::Error import_sequence_construct(const OnnxNode& node, Importer& importer) {
  Sequence sequence;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, i));
    if (i == 0) sequence.dtype = dtype;
    if (dtype != sequence.dtype)
      return input_error(node.name, "expected tensors of one type, found {0} and {1}",
                         dtype_name(sequence.dtype), dtype_name(dtype));
    sequence.elements.push_back(node.inputs[i]);
  }
  if (sequence.elements.empty())
    return input_error(node.name, "expected tensors, found none (SequenceEmpty has none)");
  return importer.bind_sequence(node, std::move(sequence));
}

llvm::Error import_sequence_empty(const OnnxNode& node, Importer& importer) {
  constexpr int64_t kFloat = 1;  // TensorProto.FLOAT
  CODL_ASSIGN_OR_RETURN(type, node.int_or("dtype", kFloat));
  const auto dtype = dtype_of_onnx(type);
  if (!dtype)
    return unsupported_error(node.name, "expected a sequence of numbers or bools, found {0}",
                             onnx_type_name(type));
  Sequence sequence;
  sequence.dtype = held_dtype(*dtype);
  return importer.bind_sequence(node, std::move(sequence));
}

// Inserts the tensor before the given position; without one, at the end.
llvm::Error import_sequence_insert(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(given, importer.sequence(node, 0));
  CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 1));
  if (dtype != given->dtype)
    return input_error(node.name, "expected a tensor of {0} for this sequence, found {1}",
                       dtype_name(given->dtype), dtype_name(dtype));
  const size_t count = given->elements.size();
  size_t position = count;
  if (node.has_input(2)) {
    CODL_ASSIGN_OR_RETURN(known, known_position(node, importer, 2, count, /*has_end=*/true));
    position = known;
  }
  Sequence sequence = *given;
  sequence.elements.insert(sequence.elements.begin() + position, node.inputs[1]);
  return importer.bind_sequence(node, std::move(sequence));
}

llvm::Error import_sequence_erase(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(given, importer.sequence(node, 0));
  const size_t count = given->elements.size();
  if (count == 0) return input_error(node.name, "expected a sequence of tensors, found none in it");
  size_t position = count - 1;
  if (node.has_input(1)) {
    CODL_ASSIGN_OR_RETURN(known, known_position(node, importer, 1, count));
    position = known;
  }
  Sequence sequence = *given;
  sequence.elements.erase(sequence.elements.begin() + position);
  return importer.bind_sequence(node, std::move(sequence));
}

llvm::Error import_sequence_at(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(given, importer.sequence(node, 0));
  CODL_ASSIGN_OR_RETURN(position, known_position(node, importer, 1, given->elements.size()));
  importer.bind_name(node, 0, given->elements[position]);
  return llvm::Error::success();
}

llvm::Error import_sequence_length(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(given, importer.sequence(node, 0));
  importer.bind_constant(node, int_tensor(static_cast<int64_t>(given->elements.size()), {}));
  return llvm::Error::success();
}

// Joins the tensors along an axis, or along a new one.
llvm::Error import_concat_from_sequence(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(given, importer.sequence(node, 0));
  CODL_ASSIGN_OR_RETURN(axis, node.int_or("axis", 0));
  CODL_ASSIGN_OR_RETURN(new_axis, node.int_or("new_axis", 0));
  if (node.find("axis") == nullptr)
    return input_error(node.name, "expected attribute 'axis', found none");
  if (new_axis != 0 && new_axis != 1)
    return input_error(node.name, "expected new_axis 0 or 1, found {0}", new_axis);
  if (given->elements.empty())
    return input_error(node.name, "expected a sequence of tensors, found none in it");
  return new_axis != 0 ? bind_stack(node, importer, given->elements, axis)
                       : Rewrite(node, importer)
                             .bind("Concat", given->elements, {Rewrite::attribute("axis", axis)});
}

// Returns the lengths of the pieces that `split` gives; without it each has one element. `axis`
// counts from the front.
llvm::Expected<std::vector<int64_t>> piece_lengths(const OnnxNode& node, Importer& importer,
                                                   int64_t extent) {
  std::vector<int64_t> lengths;
  int64_t piece = 1;
  if (node.has_input(1)) {
    CODL_ASSIGN_OR_RETURN(split, known_ints(node, importer, 1));
    if (!split) return needs_constant(node, importer, 1, "lengths");
    CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 1));
    if (dims.size() > 1)
      return input_error(node.name, "expected a scalar or vector of lengths, found rank {0}",
                         dims.size());
    if (dims.size() == 1) return *split;
    piece = (*split)[0];
    if (piece < 1)
      return input_error(node.name, "expected a length of 1 or more, found {0}", piece);
  }
  // Each piece is a node.
  constexpr int64_t kMaxPieces = Importer::kMaxNodes;
  if ((extent - 1) / piece >= kMaxPieces)
    return unsupported_error(node.name, "expected at most {0} pieces, found more", kMaxPieces);
  for (int64_t begin = 0; begin < extent; begin += lengths.back())
    lengths.push_back(std::min(piece, extent - begin));
  return lengths;
}

llvm::Error import_split_to_sequence(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(axis_attribute, node.int_or("axis", 0));
  CODL_ASSIGN_OR_RETURN(keeps_dim, node.int_or("keepdims", 1));
  CODL_ASSIGN_OR_RETURN(dims, planned_dims(node, importer, 0));
  CODL_ASSIGN_OR_RETURN(axis, normalized_axis(node, axis_attribute, dims.size()));
  for (Importer::Extent extent : importer.extents_of(node, 0))
    if (extent.dim == axis) return unsupported_extent(node, axis);
  CODL_ASSIGN_OR_RETURN(lengths, piece_lengths(node, importer, dims[axis]));
  Sequence sequence;
  CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
  sequence.dtype = dtype;
  if (lengths.empty() && dims[axis] != 0)
    return input_error(node.name, "expected lengths that sum to {0}, found none", dims[axis]);
  if (lengths.empty()) return importer.bind_sequence(node, std::move(sequence));
  Rewrite r(node, importer);
  sequence.elements = r.ops("Split", {node.inputs[0], r.ints(lengths)},
                            {Rewrite::attribute("axis", int64_t{axis})}, lengths.size());
  if (keeps_dim == 0 && !node.has_input(1)) {
    const std::string axes = r.ints({axis});
    for (std::string& piece : sequence.elements) piece = r.op("Squeeze", {piece, axes});
  }
  if (llvm::Error error = r.take_error()) return error;
  return importer.bind_sequence(node, std::move(sequence));
}

// Imports SequenceMap(sequence, operands ...) -> sequences: the body is unrolled for each element.
// An operand is a sequence of equal length, or a tensor that every element's body reads.
llvm::Error import_sequence_map(const OnnxNode& node, Importer& importer) {
  const OnnxAttribute* body = node.find("body");
  if (body == nullptr || body->graph == nullptr)
    return input_error(node.name, "expected a graph as attribute 'body', found none");
  CODL_ASSIGN_OR_RETURN(mapped, importer.sequence(node, 0));
  if (body->graph->outputs.size() < node.outputs.size())
    return input_error(node.name, "expected a body with {0} outputs, found {1}",
                       node.outputs.size(), body->graph->outputs.size());
  std::vector<Sequence> results(node.outputs.size());
  for (size_t i = 0; i < results.size(); ++i)
    results[i].dtype = held_dtype(body->graph->outputs[i].dtype.value_or(DType::F32));
  for (size_t at = 0; at < mapped->elements.size(); ++at) {
    Names inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!importer.is_sequence(node.inputs[i])) {
        inputs.push_back(node.inputs[i]);
        continue;
      }
      CODL_ASSIGN_OR_RETURN(operand, importer.sequence(node, i));
      if (operand->elements.size() != mapped->elements.size())
        return input_error(node.name, "expected sequences of {0} tensors, found {1}",
                           mapped->elements.size(), operand->elements.size());
      inputs.push_back(operand->elements[at]);
    }
    CODL_ASSIGN_OR_RETURN(outputs, importer.import_body(node, *body->graph, inputs));
    for (size_t i = 0; i < results.size(); ++i) {
      // The body's import has reported why.
      if (!importer.is_usable(outputs[i])) return llvm::Error::success();
      OnnxNode read;
      read.name = node.name;
      read.inputs = {outputs[i]};
      CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(read, 0));
      results[i].dtype = dtype;
      results[i].elements.push_back(outputs[i]);
    }
  }
  for (size_t i = 0; i < results.size(); ++i)
    if (llvm::Error error = importer.bind_sequence(node, std::move(results[i]), i)) return error;
  return llvm::Error::success();
}

// ---- optionals ----

// Without an operand it has no element; attribute `type` then says which type it would have.
llvm::Error import_optional(const OnnxNode& node, Importer& importer) {
  ignore_attributes(node, {"type"});
  if (node.has_input(0)) return importer.bind_operand(node, 0);
  importer.bind_absent(node);
  return llvm::Error::success();
}

llvm::Error import_optional_get_element(const OnnxNode& node, Importer& importer) {
  if (node.has_input(0) && importer.is_absent(node.inputs[0]))
    return input_error(node.name, "expected an optional with an element, found one without");
  return importer.bind_operand(node, 0);
}

llvm::Error import_optional_has_element(const OnnxNode& node, Importer& importer) {
  OnnxTensor answer;
  answer.dtype = DType::Bool;
  const bool has_element = node.has_input(0) && !importer.is_absent(node.inputs[0]);
  answer.bytes = std::vector<uint8_t>{static_cast<uint8_t>(has_element)};
  importer.bind_constant(node, std::move(answer));
  return llvm::Error::success();
}

}  // namespace

llvm::ArrayRef<ImportEntry> sequence_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"ConcatFromSequence", 11, kNewestOpset, import_concat_from_sequence},
      {"Optional", 15, kNewestOpset, import_optional},
      {"OptionalGetElement", 15, kNewestOpset, import_optional_get_element},
      {"OptionalHasElement", 15, kNewestOpset, import_optional_has_element},
      {"SequenceAt", 11, kNewestOpset, import_sequence_at},
      {"SequenceConstruct", 11, kNewestOpset, import_sequence_construct},
      {"SequenceEmpty", 11, kNewestOpset, import_sequence_empty},
      {"SequenceErase", 11, kNewestOpset, import_sequence_erase},
      {"SequenceInsert", 11, kNewestOpset, import_sequence_insert},
      {"SequenceLength", 11, kNewestOpset, import_sequence_length},
      {"SequenceMap", 17, kNewestOpset, import_sequence_map},
      {"SplitToSequence", 11, kNewestOpset, import_split_to_sequence},
  };
  return kEntries;
}

}  // namespace codl::compiler
