// Reads ONNX's textual syntax (onnx/defs/parser.h), the input of compiler tests.
#pragma once

// Debian's libonnx is built so.
#ifndef ONNX_ML
#define ONNX_ML 1
#endif
#ifndef ONNX_NAMESPACE
#define ONNX_NAMESPACE onnx
#endif
#include <onnx/defs/parser.h>
#include <onnx/defs/schema.h>

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

// Turns values that the text declares without data ("float[2,3] w" among the initializers) into
// float initializers with some data, the same on every run: most tests need weights, but few care
// which.
inline void fill_declared(onnx::GraphProto& graph) {
  for (const onnx::ValueInfoProto& info : graph.value_info()) {
    onnx::TensorProto& tensor = *graph.add_initializer();
    tensor.set_name(info.name());
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    int64_t count = 1;
    for (const auto& dim : info.type().tensor_type().shape().dim()) {
      tensor.add_dims(dim.dim_value());
      count *= dim.dim_value();
    }
    for (int64_t i = 0; i < count; ++i)
      tensor.add_float_data(static_cast<float>(i * 7 % 13 - 6) * 0.125f);
  }
  graph.clear_value_info();
}

// Returns a serialized model. `graph` is "name (inputs) => (outputs) <initializers> { nodes }".
inline std::string onnx_model(const std::string& graph, int opset = 13) {
  onnx::ModelProto model = parse_onnx_text(
      "<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) + "]>\n" + graph);
  fill_declared(*model.mutable_graph());
  return model.SerializeAsString();
}

}  // namespace codl::test
