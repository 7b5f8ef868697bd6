#include "compiler/frontend/states.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "compiler/support/error.h"
#include "llvm/ADT/STLExtras.h"

namespace codl::compiler {
namespace {

std::optional<uint32_t> find_input(const ir::Graph& graph, llvm::StringRef name) {
  for (uint32_t i = 0; i < graph.inputs().size(); ++i)
    if (graph.value(graph.inputs()[i]).name == name) return i;
  return std::nullopt;
}

std::optional<uint32_t> find_output(const ir::Graph& graph, llvm::StringRef name) {
  for (uint32_t i = 0; i < graph.outputs().size(); ++i)
    if (graph.output_name(i) == name) return i;
  return std::nullopt;
}

// Any colon may be the one between the names.
llvm::Expected<KeptState> find_state(const ir::Graph& graph, llvm::StringRef text) {
  const std::string where = "--state=" + text.str();
  std::optional<uint32_t> output, input;
  for (size_t colon = text.find(':'); colon != text.npos; colon = text.find(':', colon + 1)) {
    output = find_output(graph, text.take_front(colon));
    input = find_input(graph, text.drop_front(colon + 1));
    if (output && input) return KeptState{*input, *output};
  }
  std::vector<std::string> outputs, inputs;
  for (size_t i = 0; i < graph.outputs().size(); ++i) outputs.push_back(graph.output_name(i));
  for (ir::ValueId id : graph.inputs()) inputs.push_back(graph.value(id).name);
  return input_error(where,
                     "expected OUTPUT:INPUT with an output ({0}) and an input ({1}) of the "
                     "model, found no such pair",
                     llvm::join(outputs, ", "), llvm::join(inputs, ", "));
}

llvm::Error check_state(const ir::Graph& graph, const KeptState& state, const std::string& where) {
  const ir::TensorType& input = graph.value(graph.inputs()[state.input]).type;
  const ir::TensorType& output = graph.value(graph.outputs()[state.output]).type;
  if (!(input == output))
    return input_error(where, "expected an output of the input's type {0}, found {1}",
                       ir::to_string(input), ir::to_string(output));
  if (llvm::any_of(graph.extents(), [&](const OutputExtent& extent) {
        return extent.output == state.output || extent.count_output == state.output;
      }))
    return input_error(where, "expected an output of fixed dims, found dims that data decide");
  for (const KeptState& other : graph.states())
    if (other.input == state.input || other.output == state.output)
      return input_error(where, "expected each output and input in one state, found one again");
  return llvm::Error::success();
}

}  // namespace

llvm::Error keep_states(ir::Graph& graph, llvm::ArrayRef<std::string> texts) {
  for (const std::string& text : texts) {
    CODL_ASSIGN_OR_RETURN(state, find_state(graph, text));
    if (llvm::Error error = check_state(graph, state, "--state=" + text)) return error;
    std::vector<KeptState> states = graph.states().vec();
    states.push_back(state);
    llvm::sort(states, [](const KeptState& a, const KeptState& b) { return a.input < b.input; });
    graph.set_states(std::move(states));
  }
  return llvm::Error::success();
}

llvm::Error expect_equal_states(const ir::Graph& a, const ir::Graph& b) {
  for (size_t i = 0; i < a.states().size(); ++i) {
    const ir::Value& x = a.value(a.inputs()[a.states()[i].input]);
    const ir::Value& y = b.value(b.inputs()[b.states()[i].input]);
    if (!(x.type == y.type))
      return input_error("--state",
                         "expected states of the same dims at all input shapes, found {0} and {1} "
                         "of '{2}'",
                         ir::to_string(x.type), ir::to_string(y.type), x.name);
  }
  return llvm::Error::success();
}

}  // namespace codl::compiler
