// Pieces of ONNX's protobuf messages, for the files of this folder that write them.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <utility>

#include "compiler/frontend/onnx/onnx_model.h"
#include "llvm/ADT/ArrayRef.h"

namespace codl::compiler {

// Written models have these.
inline constexpr int64_t kWrittenIrVersion = 9;
inline constexpr int64_t kWrittenOpset = 20;  // the first with Gelu

inline int32_t onnx_type_of(DType dtype) {
  for (int32_t type = onnx::TensorProto::FLOAT; type <= onnx::TensorProto::BFLOAT16; ++type)
    if (dtype_of_onnx(type) == dtype) return type;
  return onnx::TensorProto::UNDEFINED;
}

// `dims` is a range of integers.
template <typename Dims>
void describe(const std::string& name, DType dtype, const Dims& dims, onnx::ValueInfoProto* info) {
  info->set_name(name);
  auto* tensor = info->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(onnx_type_of(dtype));
  tensor->mutable_shape();
  for (const auto dim : dims) tensor->mutable_shape()->add_dim()->set_dim_value(dim);
}

inline onnx::AttributeProto* attribute(onnx::NodeProto* node, const char* name) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  return attribute;
}
inline void set(onnx::NodeProto* node, const char* name, int64_t value) {
  auto* a = attribute(node, name);
  a->set_type(onnx::AttributeProto::INT);
  a->set_i(value);
}
inline void set_float(onnx::NodeProto* node, const char* name, float value) {
  auto* a = attribute(node, name);
  a->set_type(onnx::AttributeProto::FLOAT);
  a->set_f(value);
}
inline void set_text(onnx::NodeProto* node, const char* name, std::string value) {
  auto* a = attribute(node, name);
  a->set_type(onnx::AttributeProto::STRING);
  a->set_s(std::move(value));
}
inline void set(onnx::NodeProto* node, const char* name, llvm::ArrayRef<int64_t> values) {
  auto* a = attribute(node, name);
  a->set_type(onnx::AttributeProto::INTS);
  for (int64_t value : values) a->add_ints(value);
}
inline void set_floats(onnx::NodeProto* node, const char* name, llvm::ArrayRef<float> values) {
  if (values.empty()) return;
  auto* a = attribute(node, name);
  a->set_type(onnx::AttributeProto::FLOATS);
  for (float value : values) a->add_floats(value);
}

}  // namespace codl::compiler
