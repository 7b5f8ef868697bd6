#include "compiler/frontend/graph/no_elements.h"

#include <algorithm>
#include <array>

#include "compiler/frontend/graph/compose.h"
#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

constexpr llvm::StringLiteral kSumsOfProducts[] = {"Einsum", "Gemm", "MatMul"};

// Returns the node with operands of zeros, `extent` of them along each dim of 0.
llvm::Expected<OnnxNode> stretched(const OnnxNode& node, Importer& importer, int64_t extent) {
  OnnxNode copy = node;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!importer.is_without_elements(node, i)) continue;
    CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, i));
    CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, i));
    std::replace(dims.begin(), dims.end(), int64_t{0}, extent);
    if (llvm::Error error = check_dims(node, dims)) return error;
    Compose c(node, importer);
    const ir::ValueId zeros = c.filled(dtype, 0, dims);
    if (llvm::Error error = c.take_error()) return error;
    copy.inputs[i] = importer.define_value(node, "stretched", zeros);
  }
  return copy;
}

// Imports the stretched node by its rule. Returns for each output an empty tensor with its dims.
llvm::Expected<std::vector<OnnxTensor>> outputs_with(const ImportEntry& entry, const OnnxNode& node,
                                                     Importer& importer, int64_t extent) {
  CODL_ASSIGN_OR_RETURN(trial, stretched(node, importer, extent));
  for (std::string& output : trial.outputs)
    if (!output.empty()) output = importer.define_name(node, "stretched");
  importer.bind_unavailable(trial);
  if (llvm::Error error = entry.rule(trial, importer)) return error;
  for (size_t i = 0; i < node.attributes.size(); ++i)
    node.attributes[i].was_asked |= trial.attributes[i].was_asked;
  OnnxNode reader;
  reader.inputs = trial.outputs;
  std::vector<OnnxTensor> outputs(trial.outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!importer.is_usable(trial.outputs[i])) continue;
    CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(reader, i));
    CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(reader, i));
    outputs[i].dims = dims;
    outputs[i].dtype = dtype;
  }
  return outputs;
}

// Extrapolates the dims for 1, 2 and 3 to an extent of 0; returns none if they do not grow in equal
// steps.
std::optional<Dims64> extrapolated(const Dims64& one, const Dims64& two, const Dims64& three) {
  if (one.size() != two.size() || two.size() != three.size()) return std::nullopt;
  Dims64 none;
  for (size_t i = 0; i < one.size(); ++i) {
    const int64_t step = two[i] - one[i];
    if (three[i] - two[i] != step || one[i] < step) return std::nullopt;
    none.push_back(one[i] - step);
  }
  return none;
}

}  // namespace

llvm::Error import_without_elements(const ImportEntry& entry, const OnnxNode& node,
                                    Importer& importer, llvm::Error rule_error) {
  // Otherwise a body would be imported several times.
  if (llvm::any_of(node.attributes, [](const auto& attribute) { return attribute.graph; }))
    return rule_error;
  std::array<std::vector<OnnxTensor>, 3> trials;
  for (int64_t extent = 1; extent <= 3; ++extent) {
    auto outputs = outputs_with(entry, node, importer, extent);
    if (!outputs) {
      llvm::consumeError(outputs.takeError());
      return rule_error;
    }
    trials[extent - 1] = std::move(*outputs);
  }
  bool are_empty = true;
  bool are_fixed = true;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    const auto dims = extrapolated(trials[0][i].dims, trials[1][i].dims, trials[2][i].dims);
    if (!dims) return rule_error;
    are_fixed = are_fixed && *dims == trials[0][i].dims;
    are_empty = are_empty && element_count(*dims) == 0;
    trials[0][i].dims = *dims;
  }
  if (are_fixed && entry.domain.empty() && llvm::is_contained(kSumsOfProducts, entry.op_type)) {
    llvm::consumeError(std::move(rule_error));
    CODL_ASSIGN_OR_RETURN(one, stretched(node, importer, 1));
    return entry.rule(one, importer);
  }
  if (!are_empty) return rule_error;
  llvm::consumeError(std::move(rule_error));
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (!node.outputs[i].empty()) importer.bind_constant(node, std::move(trials[0][i]), i);
  return llvm::Error::success();
}

}  // namespace codl::compiler
