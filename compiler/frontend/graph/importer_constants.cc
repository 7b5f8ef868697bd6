// Implements the part of Importer that computes constants: values that no graph input leads to,
// when a rule asks for them.
#include <algorithm>
#include <limits>

#include "compiler/frontend/graph/importer.h"
#include "compiler/interp/interpreter.h"
#include "compiler/ops/op_spec.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

// Limits one value computed while importing. It is above every weight of a network (VGG-16's first
// fully connected layer has 1.03e8).
constexpr int64_t kMaxEvaluatedElements = int64_t{1} << 27;

// Computed values as small as settings are kept, because a later rule often asks again.
constexpr int64_t kSmallConstantBytes = int64_t{1} << 16;

// Returns the first `count` elements along dim `dim`.
OnnxTensor first_elements(const OnnxTensor& tensor, int32_t dim, int64_t count) {
  OnnxTensor result;
  result.dtype = tensor.dtype;
  result.dims = tensor.dims;
  result.dims[dim] = count;
  size_t inner = dtype_bytes(tensor.dtype);
  for (size_t i = dim + 1; i < tensor.dims.size(); ++i) inner *= tensor.dims[i];
  const size_t stride = inner * tensor.dims[dim];
  LargeBytes bytes;
  for (size_t at = 0; stride != 0 && at < tensor.bytes.size(); at += stride)
    bytes.insert(bytes.end(), tensor.bytes.begin() + at, tensor.bytes.begin() + at + inner * count);
  result.bytes = std::move(bytes);
  return result;
}

template <typename To, typename From>
void append_converted(llvm::ArrayRef<uint8_t> bytes, To& elements) {
  for (size_t at = 0; at + sizeof(From) <= bytes.size(); at += sizeof(From)) {
    From element;
    std::memcpy(&element, bytes.data() + at, sizeof element);
    elements.push_back(static_cast<typename To::value_type>(element));
  }
}

// Converts the elements of a constant of any dtype that the graph holds.
template <typename To>
To elements_of(const ConstantView& view) {
  To elements;
  elements.reserve(view.bytes.size() / dtype_bytes(view.dtype));
  switch (view.dtype) {
    case DType::I64:
      append_converted<To, int64_t>(view.bytes, elements);
      break;
    case DType::U64:
      append_converted<To, uint64_t>(view.bytes, elements);
      break;
    case DType::I32:
      append_converted<To, int32_t>(view.bytes, elements);
      break;
    case DType::U32:
      append_converted<To, uint32_t>(view.bytes, elements);
      break;
    case DType::I16:
      append_converted<To, int16_t>(view.bytes, elements);
      break;
    case DType::U16:
      append_converted<To, uint16_t>(view.bytes, elements);
      break;
    case DType::I8:
      append_converted<To, int8_t>(view.bytes, elements);
      break;
    case DType::U8:
    case DType::Bool:
      append_converted<To, uint8_t>(view.bytes, elements);
      break;
    case DType::F64:
      append_converted<To, double>(view.bytes, elements);
      break;
    default:
      append_converted<To, float>(view.bytes, elements);
      break;
  }
  return elements;
}

}  // namespace

ConstantView Importer::view_of(const Constant& constant) const {
  return {constant.tensor.dtype, constant.tensor.dims, constant.tensor.bytes};
}

Importer::Constant* Importer::keep(std::string name, OnnxTensor tensor) {
  constants_.push_back({std::move(name), std::move(tensor), ir::kNoId});
  return &constants_.back();
}

bool Importer::varies(ir::ValueId value) {
  // Operands have smaller ids than their users.
  for (ir::ValueId id = static_cast<ir::ValueId>(varies_.size()); id <= value; ++id) {
    const ir::Value& at = graph_.value(id);
    bool is_varying = at.is_input;
    if (at.producer != ir::kNoId)
      for (ir::ValueId input : graph_.node(at.producer).inputs)
        is_varying = is_varying || varies_[input];
    varies_.push_back(is_varying);
  }
  return varies_[value];
}

std::vector<ir::NodeId> Importer::nodes_to_evaluate(ir::ValueId value) const {
  std::vector<ir::NodeId> nodes;
  llvm::DenseMap<ir::ValueId, bool> is_listed;
  std::vector<ir::ValueId> open = {value};
  while (!open.empty()) {
    const ir::ValueId at = open.back();
    open.pop_back();
    const ir::NodeId producer = graph_.value(at).producer;
    if (producer == ir::kNoId || evaluated_.count(at) != 0) continue;
    // Its producers have been visited already.
    if (too_costly_.contains(at)) continue;
    if (!is_listed.insert({at, true}).second) continue;
    nodes.push_back(producer);
    for (ir::ValueId input : graph_.node(producer).inputs) open.push_back(input);
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

llvm::Error Importer::evaluate_node_of(ir::ValueId value) {
  const ir::Node& node = graph_.node(graph_.value(value).producer);
  llvm::SmallVector<llvm::ArrayRef<uint8_t>, 4> inputs;
  for (ir::ValueId input : node.inputs) {
    const ir::Value& input_value = graph_.value(input);
    inputs.push_back(input_value.is_constant ? llvm::ArrayRef<uint8_t>(input_value.bytes)
                                             : view_of(*evaluated_[input]).bytes);
  }
  auto bytes = evaluate_node(ir::NodeView{graph_, node}, inputs);
  if (!bytes) return bytes.takeError();
  OnnxTensor tensor;
  tensor.dtype = type(value).dtype;
  tensor.dims.assign(type(value).dims.begin(), type(value).dims.end());
  tensor.bytes = std::move(*bytes);
  // The constant stands beside the node; if nothing else reads the node, eliminate_dead removes it.
  evaluated_[value] = keep(fresh_name(graph_.value(value).name + ".folded"), std::move(tensor));
  return llvm::Error::success();
}

int64_t Importer::evaluated_bytes(ir::ValueId value) const {
  return static_cast<int64_t>(evaluated_.find(value)->second->tensor.bytes.size());
}

std::vector<ir::ValueId> Importer::last_read_by(llvm::ArrayRef<ir::NodeId> nodes, size_t at) const {
  std::vector<ir::ValueId> last;
  for (ir::ValueId input : graph_.node(nodes[at]).inputs) {
    const ir::NodeId producer = graph_.value(input).producer;
    if (producer == ir::kNoId || !std::binary_search(nodes.begin(), nodes.end(), producer) ||
        evaluated_bytes(input) <= kSmallConstantBytes || llvm::is_contained(last, input))
      continue;
    const bool is_read_later = llvm::any_of(nodes.drop_front(at + 1), [&](ir::NodeId node) {
      return llvm::is_contained(graph_.node(node).inputs, input);
    });
    if (!is_read_later) last.push_back(input);
  }
  return last;
}

llvm::Expected<Importer::Constant*> Importer::evaluate(ir::ValueId value) {
  if (varies(value)) return nullptr;
  bool gives_up = false;
  const std::vector<ir::NodeId> nodes = nodes_to_evaluate(value);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const ir::NodeView view{graph_, graph_.node(nodes[i])};
    const bool needs_too_much = llvm::any_of(
        view.node.inputs, [&](ir::ValueId input) { return too_costly_.contains(input); });
    if (gives_up && !needs_too_much) continue;
    std::vector<ir::ValueId> unneeded;
    int64_t freed = 0;
    if (!needs_too_much) unneeded = last_read_by(nodes, i);
    for (ir::ValueId input : unneeded) freed += evaluated_bytes(input);
    if (needs_too_much || view.output().element_count() > kMaxEvaluatedElements ||
        !budget_.take(view, freed)) {
      too_costly_.insert(view.node.output);
      gives_up = true;
      continue;
    }
    if (llvm::Error error = evaluate_node_of(view.node.output)) return error;
    for (ir::ValueId input : unneeded) {
      evaluated_[input]->tensor.bytes = {};
      evaluated_.erase(input);
    }
    if (evaluated_bytes(view.node.output) > kSmallConstantBytes)
      large_evaluated_.push_back(view.node.output);
  }
  if (too_costly_.contains(value)) return nullptr;
  const auto found = evaluated_.find(value);
  if (found != evaluated_.end()) return found->second;
  // A rule added the constant.
  const ir::Value& constant = graph_.value(value);
  OnnxTensor tensor;
  tensor.dtype = constant.type.dtype;
  tensor.dims.assign(constant.type.dims.begin(), constant.type.dims.end());
  tensor.bytes = constant.bytes;
  Constant* kept = keep(constant.name, std::move(tensor));
  kept->value = value;
  evaluated_[value] = kept;
  return kept;
}

void Importer::forget_large_constants() {
  // A sequence may have bound some of them.
  for (ir::ValueId value : sequences_.empty() ? large_evaluated_ : std::vector<ir::ValueId>()) {
    const auto found = evaluated_.find(value);
    if (found == evaluated_.end() || found->second->tensor.bytes.is_shared()) continue;
    Constant* constant = found->second;
    for (auto& bound : bindings_)
      if (bound.second.constant == constant) bound.second.constant = nullptr;
    budget_.add_bytes(static_cast<int64_t>(constant->tensor.bytes.size()));
    constant->tensor.bytes = {};
    evaluated_.erase(found);
  }
  large_evaluated_.clear();
}

llvm::Expected<ConstantView> Importer::constant(const OnnxNode& node, size_t i) {
  CODL_ASSIGN_OR_RETURN(binding, find_tensor(node, i));
  if (llvm::Error error = expect_known_extent(node, i, *binding)) return error;
  Constant* found = binding->constant;
  if (found == nullptr) {
    CODL_ASSIGN_OR_RETURN(evaluated, evaluate(binding->value));
    found = evaluated;
    // Every later reader of the name gets the constant.
    bindings_[node.inputs[i]].constant = found;
  }
  if (found == nullptr)
    return unsupported_error(node.name,
                             "expected a constant as input {0} ('{1}'), found a computed value{2}",
                             i, node.inputs[i], how_to_fix(node, i));
  if (!found->tensor.problem.empty())
    return unsupported_error(node.name, "expected usable data in '{0}', found {1}", found->name,
                             found->tensor.problem);
  return view_of(*seen(found));
}

std::string Importer::how_to_fix(const OnnxNode& node, llvm::ArrayRef<size_t> operands) const {
  // An input with more elements is data, which no flag replaces.
  constexpr int64_t kMaxElements = 64;
  std::vector<ir::ValueId> open;
  for (size_t i : llvm::reverse(operands)) {
    const auto binding = node.has_input(i) ? bindings_.find(node.inputs[i]) : bindings_.end();
    if (binding != bindings_.end() && binding->second.value != ir::kNoId)
      open.push_back(binding->second.value);
  }
  std::string flags;
  llvm::DenseSet<ir::ValueId> seen;
  while (!open.empty()) {
    const ir::Value& value = graph_.value(open.back());
    const bool is_new = seen.insert(open.back()).second;
    open.pop_back();
    if (!is_new) continue;
    if (value.producer != ir::kNoId)
      for (ir::ValueId input : graph_.node(value.producer).inputs) open.push_back(input);
    if (!value.is_input) continue;
    if (value.type.element_count() > kMaxElements) return "";
    flags += (flags.empty() ? "" : " and ") + ("--input-value=" + value.name + ":VALUE");
    if (value.type.element_count() > 1) flags += ",...";
  }
  return flags.empty() ? "" : " (" + flags + " fixes it)";
}

bool Importer::is_constant(const OnnxNode& node, size_t i) {
  auto view = constant(node, i);
  if (view) return true;
  llvm::consumeError(view.takeError());
  return false;
}

llvm::Expected<llvm::SmallVector<int64_t, 8>> Importer::int_constant(const OnnxNode& node, size_t i,
                                                                     IntegerUse use) {
  CODL_ASSIGN_OR_RETURN(view, constant(node, i));
  if (view.dtype != DType::Bool && !is_integer(view.dtype))
    return input_error(node.name, "expected integers in '{0}', found {1}", node.inputs[i],
                       dtype_name(view.dtype));
  auto elements = elements_of<llvm::SmallVector<int64_t, 8>>(view);
  for (int64_t& element : elements) {
    // This is a u64 beyond the range of int64.
    if (view.dtype == DType::U64 && element < 0) element = std::numeric_limits<int64_t>::max();
    CODL_ASSIGN_OR_RETURN(
        integer, expect_integer(node.name, "elements of '" + node.inputs[i] + "'", element, use));
    element = integer;
  }
  return elements;
}

llvm::Expected<LargeVector<float>> Importer::float_constant(const OnnxNode& node, size_t i) {
  CODL_ASSIGN_OR_RETURN(view, constant(node, i));
  return elements_of<LargeVector<float>>(view);
}

llvm::Error Importer::resolve_extents(Binding& binding, llvm::StringRef name) {
  if (binding.value == ir::kNoId || varies(binding.value)) return llvm::Error::success();
  for (const Extent& extent : binding.extents)
    if (varies(extent.count)) return llvm::Error::success();
  auto whole = evaluate(binding.value);
  if (!whole) return whole.takeError();
  if (*whole == nullptr) return llvm::Error::success();
  OnnxTensor tensor = (*whole)->tensor;
  for (const Extent& extent : binding.extents) {
    auto count = evaluate(extent.count);
    if (!count) return count.takeError();
    if (*count == nullptr) return llvm::Error::success();
    const int64_t elements = view_of(**count).as<int64_t>()[0];
    tensor = first_elements(tensor, extent.dim,
                            std::clamp<int64_t>(elements, 0, tensor.dims[extent.dim]));
  }
  if (!tensor.bytes.is_shared() && !budget_.take_bytes(static_cast<int64_t>(tensor.bytes.size())))
    return llvm::Error::success();
  binding.extents.clear();
  binding.constant = keep(fresh_name(name.str() + ".known"), std::move(tensor));
  return llvm::Error::success();
}

}  // namespace codl::compiler
