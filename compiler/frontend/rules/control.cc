// Imports If, Loop and Scan, if it is known at compile time what they run. A plan has no branches.
#include <cstring>
#include <functional>

#include "compiler/frontend/graph/rewrite.h"
#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

// Limits a Loop or Scan that is unrolled.
constexpr int64_t kMaxTrips = 1024;

using Names = std::vector<std::string>;

llvm::Expected<const OnnxGraph*> body_of(const OnnxNode& node, llvm::StringRef attribute) {
  const OnnxAttribute* found = node.find(attribute);
  if (found == nullptr || found->graph == nullptr)
    return input_error(node.name, "expected a graph as attribute '{0}', found none", attribute);
  return found->graph.get();
}

bool are_usable(const Names& names, const Importer& importer) {
  return llvm::all_of(names, [&](const std::string& name) { return importer.is_usable(name); });
}

llvm::Error expect_outputs(const OnnxNode& node, const Names& names, size_t count) {
  if (names.size() == count) return llvm::Error::success();
  return input_error(node.name, "expected a body with {0} outputs, found {1}", count, names.size());
}

// Returns a constant of one element as a number.
llvm::Expected<int64_t> known_scalar(const OnnxNode& node, Importer& importer, size_t i) {
  // Exporters write the largest number for a trip count that nobody knows.
  CODL_ASSIGN_OR_RETURN(elements, importer.int_constant(node, i, IntegerUse::Bound));
  if (elements.size() != 1)
    return input_error(node.name, "expected one element as input {0}, found {1}", i,
                       elements.size());
  return elements[0];
}

// Returns `node` with other operands and one output, as Compose takes it.
OnnxNode with_operands(const OnnxNode& node, Names inputs, size_t output) {
  OnnxNode result;
  result.name = node.name;
  result.op_type = node.op_type;
  result.opset = node.opset;
  result.inputs = std::move(inputs);
  result.outputs = {node.outputs[output]};
  return result;
}

// Computes condition ? a : b, with both computed: nothing in a graph has an effect but its value.
// `how` tells how to make the condition constant.
llvm::Error bind_choice(const OnnxNode& choice, Importer& importer, const std::string& how) {
  Compose c(choice, importer);
  const ir::ValueId condition = c.operand(0);
  const ir::ValueId a = c.operand(1);
  const ir::ValueId b = c.operand(2);
  if (llvm::Error error = c.take_error()) return error;
  if (c.type(a).dtype != c.type(b).dtype || c.type(a).dims != c.type(b).dims)
    return unsupported_error(choice.name,
                             "expected a constant condition, or branches of one type, found {0} "
                             "and {1}{2}",
                             ir::to_string(c.type(a)), ir::to_string(c.type(b)), how);
  if (c.type(condition).element_count() != 1)
    return input_error(choice.name, "expected a condition of one element, found {0}",
                       ir::to_string(c.type(condition)));
  const llvm::SmallVector<int64_t, 4> ones(c.rank(a), 1);
  return c.bind(c.where(c.reshape(condition, ones), a, b));
}

// Replaces an Input error by `reworded` of it; any other error stays.
llvm::Error as_unsupported(llvm::Error error,
                           llvm::function_ref<llvm::Error(const CompileError&)> reworded) {
  return llvm::handleErrors(std::move(error),
                            [&](std::unique_ptr<CompileError> found) -> llvm::Error {
                              if (found->kind() == ExitCode::Input) return reworded(*found);
                              return llvm::Error(std::move(found));
                            });
}

// A branch that may never be taken need not fit the network's inputs. Then the model is not at
// fault, but a plan computes both branches.
llvm::Expected<Names> import_branch(const OnnxNode& node, llvm::StringRef which,
                                    const OnnxGraph& body, const std::string& how,
                                    Importer& importer) {
  auto names = importer.import_body(node, body, {});
  if (names) return names;
  return as_unsupported(names.takeError(), [&](const CompileError& error) {
    return unsupported_error(node.name,
                             "expected a constant condition, or branches that both fit, found in "
                             "{0} '{1}': {2}{3}",
                             which, error.where(), error.text(), how);
  });
}

// Does the same for the results of two branches: tensors, or sequences of equal length.
llvm::Error bind_choice_of(const OnnxNode& node, Importer& importer, const std::string& a,
                           const std::string& b, size_t output, const std::string& how) {
  const OnnxNode choice = with_operands(node, {node.inputs[0], a, b}, output);
  if (importer.is_absent(a) && importer.is_absent(b)) {
    importer.bind_absent(choice);
    return llvm::Error::success();
  }
  if (importer.is_absent(a) || importer.is_absent(b))
    return unsupported_error(node.name,
                             "expected a constant condition, found one that decides whether an "
                             "optional has an element{0}",
                             how);
  if (!importer.is_sequence(a) && !importer.is_sequence(b))
    return bind_choice(choice, importer, how);
  CODL_ASSIGN_OR_RETURN(first, importer.sequence(choice, 1));
  CODL_ASSIGN_OR_RETURN(second, importer.sequence(choice, 2));
  if (first->elements.size() != second->elements.size())
    return unsupported_error(node.name,
                             "expected a constant condition, or sequences of one length, found {0} "
                             "and {1} tensors{2}",
                             first->elements.size(), second->elements.size(), how);
  Importer::Sequence sequence;
  sequence.dtype = first->dtype;
  for (size_t i = 0; i < first->elements.size(); ++i) {
    OnnxNode element =
        with_operands(node, {node.inputs[0], first->elements[i], second->elements[i]}, output);
    element.outputs = {importer.define_name(node, "element")};
    if (llvm::Error error = bind_choice(element, importer, how)) return error;
    sequence.elements.push_back(element.outputs[0]);
  }
  return importer.bind_sequence(node, std::move(sequence), output);
}

llvm::Error import_if(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(then_body, body_of(node, "then_branch"));
  CODL_ASSIGN_OR_RETURN(else_body, body_of(node, "else_branch"));
  if (importer.is_constant(node, 0)) {
    CODL_ASSIGN_OR_RETURN(condition, known_scalar(node, importer, 0));
    CODL_ASSIGN_OR_RETURN(names,
                          importer.import_body(node, condition ? *then_body : *else_body, {}));
    if (llvm::Error error = expect_outputs(node, names, node.outputs.size())) return error;
    for (size_t i = 0; i < names.size(); ++i) importer.bind_name(node, i, names[i]);
    return llvm::Error::success();
  }
  const std::string how = importer.how_to_fix(node, 0);
  CODL_ASSIGN_OR_RETURN(then_names, import_branch(node, "then_branch", *then_body, how, importer));
  CODL_ASSIGN_OR_RETURN(else_names, import_branch(node, "else_branch", *else_body, how, importer));
  if (llvm::Error error = expect_outputs(node, then_names, node.outputs.size())) return error;
  if (llvm::Error error = expect_outputs(node, else_names, node.outputs.size())) return error;
  if (!are_usable(then_names, importer) || !are_usable(else_names, importer))
    return llvm::Error::success();
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    if (llvm::Error error = bind_choice_of(node, importer, then_names[i], else_names[i], i, how))
      return error;
  }
  return llvm::Error::success();
}

OnnxTensor scalar_tensor(DType dtype, int64_t value) {
  OnnxTensor tensor;
  tensor.dtype = dtype;
  std::vector<uint8_t> bytes(dtype_bytes(dtype));
  std::memcpy(bytes.data(), &value, bytes.size());
  tensor.bytes = bytes;
  return tensor;
}

// Scan outputs of a Loop or Scan without a trip: they have no elements, but the dims and type of
// the body's result. If the body does not declare them, it is imported for one trip that nothing
// reads.
class NoTrips {
 public:
  using Body = std::function<llvm::Expected<Names>()>;
  // `import_trip` imports the body for one trip and returns the names of its outputs.
  NoTrips(const OnnxNode& node, const OnnxGraph& body, Importer& importer, Body import_trip)
      : node_(node), body_(body), importer_(importer), import_trip_(std::move(import_trip)) {}

  // Makes output `output` of the node from output `from` of the body.
  llvm::Error bind_scan(size_t from, int64_t axis_attribute, size_t output) {
    if (from >= body_.outputs.size())
      return input_error(node_.name, "expected a body with {0} outputs, found {1}", from + 1,
                         body_.outputs.size());
    const OnnxValueInfo& declared = body_.outputs[from];
    if (declared.dtype && declared.has_shape && !llvm::is_contained(declared.dims, kUnknownDim))
      return bind(held_dtype(*declared.dtype), declared.dims, axis_attribute, output);
    if (!outputs_) {
      auto names = import_trip_();
      // A trip that never happens need not fit.
      if (!names)
        return as_unsupported(names.takeError(), [&](const CompileError& error) {
          return unsupported_error(node_.name,
                                   "expected a body that declares the dims of its output {0}, or "
                                   "can be imported, found in it '{1}': {2}",
                                   from, error.where(), error.text());
        });
      outputs_ = std::move(*names);
    }
    if (llvm::Error error = expect_outputs(node_, *outputs_, body_.outputs.size())) return error;
    // The body's import has reported why.
    if (!importer_.is_usable((*outputs_)[from])) return llvm::Error::success();
    const OnnxNode read = with_operands(node_, {(*outputs_)[from]}, output);
    CODL_ASSIGN_OR_RETURN(dtype, importer_.dtype_of(read, 0));
    CODL_ASSIGN_OR_RETURN(dims, importer_.dims_of(read, 0));
    return bind(dtype, dims, axis_attribute, output);
  }

 private:
  llvm::Error bind(DType dtype, llvm::SmallVector<int64_t, 4> dims, int64_t axis_attribute,
                   size_t output) {
    CODL_ASSIGN_OR_RETURN(axis, normalized_axis(node_, axis_attribute, dims.size() + 1));
    dims.insert(dims.begin() + axis, 0);
    return bind_empty(node_, importer_, dtype, dims, output);
  }

  const OnnxNode& node_;
  const OnnxGraph& body_;
  Importer& importer_;
  Body import_trip_;
  std::optional<Names> outputs_;
};

// Unrolls a Loop whose number of trips is known.
//
// Loop(trip count, condition, carried ...) -> carried ..., scans ...
// body(trip, condition, carried ...) -> condition, carried ..., scans ...
class LoopWriter {
 public:
  LoopWriter(const OnnxNode& node, const OnnxGraph& body, Importer& importer)
      : node_(node), body_(body), importer_(importer) {}

  llvm::Error run() {
    if (node_.inputs.size() < 2)
      return input_error(node_.name, "expected a trip count and a condition, found {0} inputs",
                         node_.inputs.size());
    carried_.assign(node_.inputs.begin() + 2, node_.inputs.end());
    if (node_.outputs.size() < carried_.size())
      return input_error(node_.name, "expected {0} outputs or more, found {1}", carried_.size(),
                         node_.outputs.size());
    scans_.resize(node_.outputs.size() - carried_.size());
    int64_t trips = kMaxTrips + 1;
    if (node_.has_input(0)) {
      CODL_ASSIGN_OR_RETURN(count, known_scalar(node_, importer_, 0));
      trips = count;
    }
    bool goes_on = true;
    if (node_.has_input(1)) {
      CODL_ASSIGN_OR_RETURN(condition, known_scalar(node_, importer_, 1));
      goes_on = condition != 0;
    }
    for (int64_t trip = 0; goes_on && trip < trips; ++trip) {
      if (trip == kMaxTrips)
        return unsupported_error(node_.name, "expected at most {0} trips, found more", kMaxTrips);
      auto condition = write_trip(trip);
      if (!condition) return condition.takeError();
      goes_on = *condition && is_complete_;
    }
    return is_complete_ ? bind_outputs() : llvm::Error::success();
  }

 private:
  llvm::Expected<Names> import_trip(int64_t trip) {
    Names inputs = {importer_.define_constant(node_, "trip", scalar_tensor(DType::I64, trip)),
                    importer_.define_constant(node_, "condition", scalar_tensor(DType::Bool, 1))};
    inputs.insert(inputs.end(), carried_.begin(), carried_.end());
    return importer_.import_body(node_, body_, inputs);
  }

  // Returns the condition for the next trip.
  llvm::Expected<bool> write_trip(int64_t trip) {
    CODL_ASSIGN_OR_RETURN(outputs, import_trip(trip));
    if (llvm::Error error = expect_outputs(node_, outputs, 1 + node_.outputs.size())) return error;
    is_complete_ = are_usable(outputs, importer_);
    if (!is_complete_) return false;
    for (size_t i = 0; i < carried_.size(); ++i) carried_[i] = outputs[1 + i];
    for (size_t i = 0; i < scans_.size(); ++i)
      scans_[i].push_back(outputs[1 + carried_.size() + i]);
    CODL_ASSIGN_OR_RETURN(condition,
                          known_scalar(with_operands(node_, {outputs[0]}, 0), importer_, 0));
    return condition != 0;
  }

  llvm::Error bind_outputs() {
    NoTrips no_trips(node_, body_, importer_, [&] { return import_trip(0); });
    for (size_t i = 0; i < carried_.size(); ++i) importer_.bind_name(node_, i, carried_[i]);
    for (size_t i = 0; i < scans_.size(); ++i) {
      const size_t output = carried_.size() + i;
      if (node_.outputs[output].empty()) continue;
      llvm::Error error = scans_[i].empty() ? no_trips.bind_scan(1 + output, 0, output)
                                            : bind_stack(node_, importer_, scans_[i], 0, output);
      if (error) return error;
    }
    return llvm::Error::success();
  }

  const OnnxNode& node_;
  const OnnxGraph& body_;
  Importer& importer_;
  Names carried_;
  std::vector<Names> scans_;  // indexed by scan output, then by trip
  bool is_complete_ = true;   // false if something in the body was not imported
};

llvm::Error import_loop(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(body, body_of(node, "body"));
  return LoopWriter(node, *body, importer).run();
}

// Unrolls a Scan, whose number of trips is a dim.
//
// Scan(carried ..., scanned ...) -> carried ..., scans ...
// body(carried ..., elements of scanned ...) -> carried ..., elements of scans ...
class ScanWriter {
 public:
  ScanWriter(const OnnxNode& node, const OnnxGraph& body, Importer& importer)
      : node_(node), body_(body), importer_(importer) {}

  llvm::Error run() {
    if (llvm::Error error = read()) return error;
    for (int64_t trip = 0; is_complete_ && trip < trips_; ++trip)
      if (llvm::Error error = write_trip(trip)) return error;
    return is_complete_ ? bind_outputs() : llvm::Error::success();
  }

 private:
  // Says in which direction a scanned operand or a scan output is walked.
  struct Path {
    int64_t axis = 0;
    bool is_backwards = false;
  };

  llvm::Expected<std::vector<Path>> read_paths(llvm::StringRef axes, llvm::StringRef directions,
                                               size_t count) {
    const std::vector<int64_t> zeros(count, 0);
    CODL_ASSIGN_OR_RETURN(axis, node_.ints_or(axes, zeros, static_cast<int>(count)));
    CODL_ASSIGN_OR_RETURN(direction, node_.ints_or(directions, zeros, static_cast<int>(count)));
    std::vector<Path> paths;
    for (size_t i = 0; i < count; ++i) paths.push_back({axis[i], direction[i] != 0});
    return paths;
  }

  llvm::Error read() {
    CODL_ASSIGN_OR_RETURN(scanned, node_.int_or("num_scan_inputs", 0));
    const int64_t inputs = static_cast<int64_t>(node_.inputs.size());
    if (scanned < 1 || scanned > inputs)
      return input_error(node_.name, "expected 1 to {0} scanned inputs, found {1}", inputs,
                         scanned);
    carried_.assign(node_.inputs.begin(), node_.inputs.end() - scanned);
    if (node_.outputs.size() < carried_.size())
      return input_error(node_.name, "expected {0} outputs or more, found {1}", carried_.size(),
                         node_.outputs.size());
    scans_.resize(node_.outputs.size() - carried_.size());
    CODL_ASSIGN_OR_RETURN(from, read_paths("scan_input_axes", "scan_input_directions", scanned));
    CODL_ASSIGN_OR_RETURN(to,
                          read_paths("scan_output_axes", "scan_output_directions", scans_.size()));
    from_ = from;
    to_ = to;
    for (size_t i = 0; i < from_.size(); ++i) {
      CODL_ASSIGN_OR_RETURN(dims, importer_.dims_of(node_, carried_.size() + i));
      CODL_ASSIGN_OR_RETURN(axis, normalized_axis(node_, from_[i].axis, dims.size()));
      if (i != 0 && dims[axis] != trips_)
        return input_error(node_.name, "expected {0} elements of each scanned input, found {1}",
                           trips_, dims[axis]);
      from_[i].axis = axis;
      trips_ = dims[axis];
    }
    if (trips_ > kMaxTrips)
      return unsupported_error(node_.name, "expected at most {0} trips, found {1}", kMaxTrips,
                               trips_);
    return llvm::Error::success();
  }

  // Returns a name for the element of scanned operand `i` in a trip: zeros if there is none.
  llvm::Expected<std::string> element_of(size_t i, int64_t trip) {
    const size_t operand = carried_.size() + i;
    Rewrite r(node_, importer_);
    std::string element;
    if (trips_ != 0) {
      const int64_t place = from_[i].is_backwards ? trips_ - 1 - trip : trip;
      const std::string axis = r.ints({from_[i].axis});
      const std::string slice =
          r.op("Slice", {node_.inputs[operand], r.ints({place}), r.ints({place + 1}), axis});
      element = r.op("Squeeze", {slice, axis});
    } else {
      CODL_ASSIGN_OR_RETURN(dims, importer_.dims_of(node_, operand));
      CODL_ASSIGN_OR_RETURN(dtype, importer_.dtype_of(node_, operand));
      dims.erase(dims.begin() + from_[i].axis);
      const std::string zero = importer_.define_constant(node_, "zero", scalar_tensor(dtype, 0));
      element = r.op("Expand", {zero, r.ints(dims)});
    }
    if (llvm::Error error = r.take_error()) return error;
    return element;
  }

  llvm::Expected<Names> import_trip(int64_t trip) {
    Names inputs = carried_;
    for (size_t i = 0; i < from_.size(); ++i) {
      CODL_ASSIGN_OR_RETURN(element, element_of(i, trip));
      inputs.push_back(element);
    }
    return importer_.import_body(node_, body_, inputs);
  }

  llvm::Error write_trip(int64_t trip) {
    CODL_ASSIGN_OR_RETURN(outputs, import_trip(trip));
    if (llvm::Error error = expect_outputs(node_, outputs, node_.outputs.size())) return error;
    is_complete_ = are_usable(outputs, importer_);
    for (size_t i = 0; i < carried_.size(); ++i) carried_[i] = outputs[i];
    for (size_t i = 0; i < scans_.size(); ++i)
      scans_[i].insert(to_[i].is_backwards ? scans_[i].begin() : scans_[i].end(),
                       outputs[carried_.size() + i]);
    return llvm::Error::success();
  }

  llvm::Error bind_outputs() {
    NoTrips no_trips(node_, body_, importer_, [&] { return import_trip(0); });
    for (size_t i = 0; i < carried_.size(); ++i) importer_.bind_name(node_, i, carried_[i]);
    for (size_t i = 0; i < scans_.size(); ++i) {
      const size_t output = carried_.size() + i;
      if (node_.outputs[output].empty()) continue;
      llvm::Error error = scans_[i].empty()
                              ? no_trips.bind_scan(output, to_[i].axis, output)
                              : bind_stack(node_, importer_, scans_[i], to_[i].axis, output);
      if (error) return error;
    }
    return llvm::Error::success();
  }

  const OnnxNode& node_;
  const OnnxGraph& body_;
  Importer& importer_;
  int64_t trips_ = 0;
  Names carried_;
  std::vector<Path> from_;    // indexed by scanned operand
  std::vector<Path> to_;      // indexed by scan output
  std::vector<Names> scans_;  // indexed by scan output, in the order of its elements
  bool is_complete_ = true;   // false if something in the body was not imported
};

llvm::Error import_scan(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(body, body_of(node, "body"));
  return ScanWriter(node, *body, importer).run();
}

}  // namespace

llvm::ArrayRef<ImportEntry> control_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"If", 1, kNewestOpset, import_if},
      {"Loop", 1, kNewestOpset, import_loop},
      {"Scan", 9, kNewestOpset, import_scan},
  };
  return kEntries;
}

}  // namespace codl::compiler
