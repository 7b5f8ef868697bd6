// Tests passes: ONNX text goes in, the printed graph comes out.
#pragma once

#include <sstream>
#include <string>

#include "compiler/frontend/onnx_import.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/passes.h"
#include "test/support/expected.h"
#include "test/support/onnx_text.h"

namespace codl::test {

// Returns the graph after the passes, each verified, without the lines of constants.
inline std::string after(const std::string& onnx, llvm::ArrayRef<compiler::Pass> passes) {
  ir::Graph graph = value_of(compiler::import_onnx(onnx_model(onnx), "test"));
  REQUIRE(error_of(compiler::run_passes(graph, passes, {})) == "");
  std::string text;
  std::istringstream lines(ir::print(graph));
  for (std::string line; std::getline(lines, line);)
    if (line.rfind("const ", 0) != 0 && line.rfind("graph ", 0) != 0) text += line + "\n";
  return text;
}

// Returns the printed constant `name`, or "".
inline std::string constant_after(const std::string& onnx, llvm::ArrayRef<compiler::Pass> passes,
                                  const std::string& name) {
  ir::Graph graph = value_of(compiler::import_onnx(onnx_model(onnx), "test"));
  REQUIRE(error_of(compiler::run_passes(graph, passes, {})) == "");
  std::istringstream lines(ir::print(graph));
  for (std::string line; std::getline(lines, line);)
    if (line.rfind("const %" + name + " ", 0) == 0) return line;
  return "";
}

}  // namespace codl::test
