// Reads the networks of test/compiler/golden.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include "test/support/onnx_text.h"

namespace codl::compiler {

inline const std::string kGoldenFolder = CODL_TEST_GOLDEN;

inline std::string golden_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Returns ONNX bytes, with weights.
inline std::string golden_model(const std::string& network) {
  std::string text = golden_text(kGoldenFolder + "/" + network + ".onnx.txt");
  text.erase(0, text.find('\n') + 1);  // the parser does not know comments
  onnx::ModelProto model = test::parse_onnx_text(text);
  test::fill_declared(*model.mutable_graph());
  return model.SerializeAsString();
}

}  // namespace codl::compiler
