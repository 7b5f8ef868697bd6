// Imports ONNX text, for the tests of the frontend.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "compiler/frontend/onnx_import.h"
#include "compiler/interp/interpreter.h"
#include "test/support/expected.h"
#include "test/support/onnx_text.h"

namespace codl::test {

inline ir::Graph import_text(const std::string& text, int opset = 13) {
  ir::Graph graph = value_of(compiler::import_onnx(onnx_model(text, opset), "m.onnx"));
  REQUIRE(error_of(ir::verify(graph, "import")) == "");
  return graph;
}

// Returns the nodes, one line each.
inline std::string nodes_of(const std::string& text, int opset = 13) {
  std::string nodes;
  std::istringstream lines(ir::print(import_text(text, opset)));
  for (std::string line; std::getline(lines, line);)
    if (line[0] == '%') nodes += line + "\n";
  return nodes;
}

inline std::string import_error(const std::string& text, int opset = 13) {
  return error_of(compiler::import_onnx(onnx_model(text, opset), "m.onnx"));
}

// Returns the first output, for one input.
inline std::vector<float> computed(const std::string& text, const std::vector<float>& input,
                                   int opset = 13) {
  const auto* first = reinterpret_cast<const uint8_t*>(input.data());
  const auto outputs = value_of(compiler::interpret(
      import_text(text, opset), {compiler::Bytes(first, first + input.size() * sizeof(float))}));
  const auto* begin = reinterpret_cast<const float*>(outputs[0].data());
  return std::vector<float>(begin, begin + outputs[0].size() / sizeof(float));
}

template <typename T>
compiler::Bytes bytes_of(const std::vector<T>& elements) {
  const auto* first = reinterpret_cast<const uint8_t*>(elements.data());
  return compiler::Bytes(first, first + elements.size() * sizeof(T));
}

// Returns output `output` of the model for these inputs.
template <typename T>
std::vector<T> run(const std::string& text, const std::vector<compiler::Bytes>& inputs,
                   size_t output = 0, int opset = 18) {
  const auto outputs = value_of(compiler::interpret(import_text(text, opset), inputs));
  const auto* begin = reinterpret_cast<const T*>(outputs[output].data());
  return std::vector<T>(begin, begin + outputs[output].size() / sizeof(T));
}

}  // namespace codl::test
