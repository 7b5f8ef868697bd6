#include "compiler/frontend/onnx/input_shapes.h"

#include <algorithm>

#include "compiler/support/error.h"
#include "llvm/ADT/StringExtras.h"
#include "tools/nearest.h"

namespace codl::compiler {
namespace {

std::string dim_text(const OnnxValueInfo& info, size_t i) {
  if (info.dims[i] != kUnknownDim) return std::to_string(info.dims[i]);
  return info.symbols[i].empty() ? "?" : info.symbols[i];
}

// Returns "[batch,3,224,224]".
std::string shape_text(const OnnxValueInfo& info) {
  std::string text = "[";
  for (size_t i = 0; i < info.dims.size(); ++i) text += (i == 0 ? "" : ",") + dim_text(info, i);
  return text + "]";
}

// Returns "--input-shape=x:<batch>x3x224x224".
std::string flag_text(const OnnxValueInfo& info) {
  std::string text = "--input-shape=" + info.name + ":";
  if (!info.has_shape) return text + "<dims>";
  for (size_t i = 0; i < info.dims.size(); ++i) {
    const std::string dim = dim_text(info, i);
    text += i == 0 ? "" : "x";
    text += info.dims[i] != kUnknownDim ? dim : dim == "?" ? "<dim>" : "<" + dim + ">";
  }
  return text;
}

// Holds what a flag says about one symbol.
struct FixedSymbol {
  int64_t dim = 0;
  std::string input;  // empty: --dim names the symbol
  size_t index = 0;   // index among the dims of `input`
};

llvm::Error fix_input(OnnxValueInfo& input, llvm::ArrayRef<int64_t> dims,
                      llvm::StringMap<FixedSymbol>& symbols) {
  const std::string where = "--input-shape=" + input.name;
  if (!input.has_shape) {
    input.has_shape = true;
    input.dims.assign(dims.size(), kUnknownDim);
    input.symbols.assign(dims.size(), "");
  }
  if (dims.size() != input.dims.size())
    return input_error(where, "expected {0} dims as in {1}, found {2}", input.dims.size(),
                       shape_text(input), dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) return input_error(where, "expected dims of 0 or more, found {0}", dims[i]);
    if (input.dims[i] != kUnknownDim && input.dims[i] != dims[i])
      return input_error(where, "expected {0} as dim {1}, which the model fixes, found {2}",
                         input.dims[i], i, dims[i]);
    input.dims[i] = dims[i];
    const std::string& symbol = input.symbols[i];
    if (symbol.empty()) continue;
    const auto [known, is_new] = symbols.insert({symbol, {dims[i], input.name, i}});
    if (is_new || known->second.dim == dims[i]) continue;
    if (known->second.input.empty())
      return input_error(where, "expected {0} as dim {1}, as --dim={2} says, found {3}",
                         known->second.dim, i, symbol, dims[i]);
    const std::string flag =
        known->second.input == input.name ? "this flag" : "--input-shape=" + known->second.input;
    return input_error(where, "expected {0} as dim {1} ('{2}', dim {3} of {4}), found {5}",
                       known->second.dim, i, symbol, known->second.index, flag, dims[i]);
  }
  return llvm::Error::success();
}

// Returns an Input error if no input has an open dim of that name; it lists those that there are.
llvm::Error expect_open_dim(const std::string& name, const OnnxGraph& graph) {
  std::vector<std::string> names;
  for (const OnnxValueInfo& input : graph.inputs)
    for (size_t i = 0; i < input.dims.size(); ++i)
      if (input.dims[i] == kUnknownDim && !input.symbols[i].empty() &&
          !llvm::is_contained(names, input.symbols[i]))
        names.push_back(input.symbols[i]);
  if (llvm::is_contained(names, name)) return llvm::Error::success();
  if (names.empty())
    return input_error(
        "--dim",
        "expected a model whose inputs have open dims with names (--input-shape sets "
        "those without), found none for {0}",
        name);
  return input_error("--dim", "expected an open dim of the model's inputs ({0}), found {1}{2}",
                     llvm::join(names, ", "), name, tools::suggestion(name, names));
}

}  // namespace

llvm::Error unknown_input(llvm::StringRef flag, const std::string& name, const OnnxGraph& graph) {
  std::vector<std::string> names;
  for (const OnnxValueInfo& input : graph.inputs) names.push_back(input.name);
  return input_error(flag, "expected an input of the model ({0}), found {1}{2}",
                     llvm::join(names, ", "), name, tools::suggestion(name, names));
}

llvm::Error fix_input_shapes(OnnxGraph& graph, llvm::StringRef path,
                             const llvm::StringMap<std::vector<int64_t>>& shapes,
                             const llvm::StringMap<int64_t>& dims) {
  llvm::StringMap<FixedSymbol> symbols;
  for (const auto& dim : dims) {
    if (llvm::Error error = expect_open_dim(dim.getKey().str(), graph)) return error;
    symbols.insert({dim.getKey(), {dim.getValue(), "", 0}});
  }
  std::vector<std::string> names;
  for (const auto& entry : shapes) names.push_back(entry.getKey().str());
  std::sort(names.begin(), names.end());  // a StringMap has no order, but messages need one
  for (const std::string& name : names) {
    auto input = llvm::find_if(
        graph.inputs, [&](const OnnxValueInfo& candidate) { return candidate.name == name; });
    if (input == graph.inputs.end()) return unknown_input("--input-shape", name, graph);
    if (llvm::Error error = fix_input(*input, shapes.find(name)->second, symbols)) return error;
  }
  for (auto* infos : {&graph.inputs, &graph.outputs, &graph.values})
    for (OnnxValueInfo& info : *infos)
      for (size_t i = 0; i < info.dims.size(); ++i)
        if (info.dims[i] == kUnknownDim && symbols.count(info.symbols[i]) != 0)
          info.dims[i] = symbols[info.symbols[i]].dim;

  std::string open;
  for (const OnnxValueInfo& input : graph.inputs) {
    // The importer reports an input without any type.
    if (!input.problem.empty() || !input.dtype) continue;
    if (input.has_shape && !llvm::is_contained(input.dims, kUnknownDim)) continue;
    open += open.empty() ? "" : "; ";
    open += "'" + input.name + "' " +
            (input.has_shape ? shape_text(input) : std::string("without a shape")) + " (use " +
            flag_text(input) + ")";
  }
  if (open.empty()) return llvm::Error::success();
  return input_error(path, "expected inputs with a number for every dim, found {0}", open);
}

}  // namespace codl::compiler
