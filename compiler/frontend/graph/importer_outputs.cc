// Implements the part of Importer that makes the graph's outputs, each a value of its own with the
// model's name.
#include <algorithm>

#include "compiler/frontend/graph/importer.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

// Limits the elements planned for an output that has none: 64 MiB of f32 that are never written.
constexpr int64_t kMaxPlannedElements = int64_t{1} << 24;

// Returns false if the model declares other dims than these. `is_fixed` is false for a dim that is
// planned with more elements than the value may have.
bool agree(const OnnxValueInfo& declared, llvm::ArrayRef<int64_t> dims,
           llvm::ArrayRef<bool> is_fixed) {
  if (!declared.has_shape) return true;
  bool is_same = declared.dims.size() == dims.size();
  for (size_t i = 0; is_same && i < dims.size(); ++i)
    is_same = declared.dims[i] == kUnknownDim || declared.dims[i] == dims[i] || !is_fixed[i];
  return is_same;
}

}  // namespace

llvm::Expected<ir::ValueId> Importer::own_value(const std::string& name, ir::ValueId value,
                                                DType dtype, const GivenNames& given) {
  ir::Value& source = graph_.value(value);
  const bool is_cast = source.type.dtype != dtype;
  if (!is_cast && source.producer != ir::kNoId && !given.values.contains(value)) {
    if (source.name == name) return value;
    // The value has a name that nothing outside knows, so it takes this one, unless that is taken.
    if (appended_.insert(name).second) {
      source.name = name;
      return value;
    }
  }
  // The name goes to the output, from the value itself or from another that it was computed from.
  // An input or another output keeps its name.
  bool is_kept = false;
  for (ir::ValueId id : given.by_name.lookup(name)) {
    ir::Value& holder = graph_.value(id);
    if (holder.name != name) continue;
    if (holder.is_input || given.values.contains(id))
      is_kept = true;
    else
      holder.name = fresh_name(name + ".value");
  }
  OnnxNode copy;
  copy.name = name;
  copy.outputs = {is_kept ? fresh_name(name + ".copy") : name};
  appended_.erase(copy.outputs[0]);
  if (is_cast)
    return append(copy, "", OpKind::Cast, CastParams{static_cast<int32_t>(dtype)}, {value});
  return append(copy, "", OpKind::Unary, UnaryParams{}, {value});
}

llvm::Error Importer::plan_elements(llvm::StringRef where, Binding& binding) {
  if (binding.constant == nullptr || !binding.constant->tensor.problem.empty())
    return llvm::Error::success();
  OnnxTensor tensor;
  tensor.dtype = binding.constant->tensor.dtype;
  tensor.dims = binding.constant->tensor.dims;
  if (!llvm::is_contained(tensor.dims, 0)) return llvm::Error::success();
  int64_t planned = 1;
  for (int64_t dim : tensor.dims)
    if (__builtin_mul_overflow(planned, std::max<int64_t>(dim, 1), &planned) ||
        planned > kMaxPlannedElements)
      return unsupported_error(where,
                               "expected at most {0} elements with 1 for dims of 0, found {1}",
                               kMaxPlannedElements, dims_text(tensor.dims));
  ir::TensorType scalar;
  scalar.dtype = DType::I64;
  const ir::ValueId none = graph_.add_constant(fresh_name(binding.constant->name + ".none"), scalar,
                                               std::vector<uint8_t>(sizeof(int64_t), 0));
  for (size_t i = 0; i < tensor.dims.size(); ++i) {
    if (tensor.dims[i] != 0) continue;
    tensor.dims[i] = 1;
    binding.extents.push_back({static_cast<int32_t>(i), none});
  }
  tensor.bytes = LargeBytes(tensor.element_count() * dtype_bytes(tensor.dtype));
  binding.constant = keep(fresh_name(binding.constant->name + ".planned"), std::move(tensor));
  return llvm::Error::success();
}

llvm::Expected<ir::ValueId> Importer::output_value(const OnnxValueInfo& output, Binding& binding) {
  const std::string where = "output '" + output.name + "'";
  if (!output.problem.empty())
    return unsupported_error(where, "expected a tensor of numbers or bools, found {0}",
                             output.problem);
  if (binding.sequence != nullptr || binding.is_absent)
    return unsupported_error(where, "expected a tensor, found {0}",
                             binding.is_absent ? "an optional without an element" : "a sequence");
  if (llvm::Error error = plan_elements(where, binding)) return error;
  CODL_ASSIGN_OR_RETURN(value, value_of(where, binding));
  if (output.dtype && held_dtype(*output.dtype) != held_dtype(type(value).dtype))
    return input_error(where, "expected the declared type {0}, computed {1}",
                       dtype_name(*output.dtype), ir::to_string(type(value)));
  return value;
}

void Importer::note_declared_dims(const OnnxGraph& graph) {
  // Limits the names in the message; a network may have thousands.
  constexpr size_t kMaxNamed = 3;
  std::string text;
  size_t count = 0;
  for (const auto* infos : {&graph.outputs, &graph.values})
    for (const OnnxValueInfo& info : *infos) {
      const auto found = bindings_.find(info.name);
      if (found == bindings_.end() || !is_usable(info.name)) continue;
      const Binding& binding = found->second;
      llvm::SmallVector<int64_t, 4> dims;
      if (binding.constant != nullptr)
        dims = binding.constant->tensor.dims;
      else
        dims.assign(type(binding.value).dims.begin(), type(binding.value).dims.end());
      llvm::SmallVector<bool, kMaxRank> is_fixed(dims.size(), true);
      for (const Extent& extent : binding.extents) is_fixed[extent.dim] = false;
      if (agree(info, dims, is_fixed) || ++count > kMaxNamed) continue;
      text += (count == 1 ? "" : ", ") + ("'" + info.name + "' ") + dims_text(info.dims) + " is " +
              dims_text(dims);
    }
  if (count == 0) return;
  if (count > kMaxNamed) text += ", and " + std::to_string(count - kMaxNamed) + " more";
  notes_.push_back("declared dims that are not those computed, which hold: " + text);
}

llvm::Error Importer::finish(const OnnxGraph& graph) {
  if (graph.outputs.empty()) return input_error(graph.name, "expected a graph output, found none");
  llvm::SmallVector<ir::ValueId, 4> outputs;
  for (const OnnxValueInfo& output : graph.outputs) {
    auto found = bindings_.find(output.name);
    if (found == bindings_.end())
      return input_error(graph.name, "expected output '{0}' to be computed, found no such value",
                         output.name);
    auto value = output_value(output, found->second);
    if (!value) return value.takeError();
    outputs.push_back(*value);
  }
  note_declared_dims(graph);
  graph_.computed_bytes_left = budget_.bytes_left();
  // Every output has memory of its own. This comes after the loop above, because a name is given
  // away only if no value has it.
  GivenNames given;
  std::vector<std::string> names;
  for (ir::ValueId id = 0; id < graph_.values().size(); ++id)
    given.by_name[graph_.value(id).name].push_back(id);
  llvm::SmallVector<ir::ValueId, 4> own;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OnnxValueInfo& output = graph.outputs[i];
    auto value =
        own_value(output.name, outputs[i], output.dtype.value_or(type(outputs[i]).dtype), given);
    if (!value) return value.takeError();
    own.push_back(*value);
    names.push_back(output.name);
    given.values.insert(*value);
    given.by_name[graph_.value(*value).name].push_back(*value);
  }
  std::vector<OutputExtent> extents;
  for (size_t i = 0; i < outputs.size(); ++i)
    for (const Extent& extent : bindings_[graph.outputs[i].name].extents) {
      const std::string name = graph.outputs[i].name + ".extent." + std::to_string(extent.dim);
      auto count = own_value(fresh_name(name), extent.count, DType::I64, given);
      if (!count) return count.takeError();
      extents.push_back({static_cast<uint32_t>(i), extent.dim, static_cast<uint32_t>(own.size())});
      own.push_back(*count);
      names.push_back(graph_.value(*count).name);
      given.values.insert(*count);
    }
  graph_.set_outputs(std::move(own), std::move(names));
  graph_.set_extents(std::move(extents));
  return llvm::Error::success();
}

}  // namespace codl::compiler
