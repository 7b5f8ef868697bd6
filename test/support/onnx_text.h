// ONNX's textual syntax (onnx/defs/parser.h) as the input of compiler tests.
#pragma once

#ifndef ONNX_NAMESPACE
#define ONNX_NAMESPACE onnx
#endif
#include <onnx/defs/parser.h>

#include <string>

#include "test/support/catch.h"

namespace codl::test {

inline onnx::ModelProto parse_onnx_text(const std::string& text) {
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser::Parse(model, text.c_str());
  INFO(status.ErrorMessage());
  REQUIRE(status.IsOK());
  return model;
}

// A serialized model. `graph` is "name (inputs) => (outputs) <initializers> { nodes }".
inline std::string onnx_model(const std::string& graph, int opset = 13) {
  return parse_onnx_text("<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) + "]>\n" +
                         graph)
      .SerializeAsString();
}

}  // namespace codl::test
