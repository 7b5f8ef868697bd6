// Every import rule, by group; import_table.cc says which ONNX operator and opset each is for.
#pragma once

#include "compiler/frontend/importer.h"

namespace codl::compiler {

// import_conv.cc
llvm::Error import_conv(const OnnxNode& node, Importer& importer);
llvm::Error import_batch_normalization(const OnnxNode& node, Importer& importer);

// import_pool.cc
llvm::Error import_max_pool(const OnnxNode& node, Importer& importer);
llvm::Error import_average_pool(const OnnxNode& node, Importer& importer);
llvm::Error import_global_max_pool(const OnnxNode& node, Importer& importer);
llvm::Error import_global_average_pool(const OnnxNode& node, Importer& importer);
llvm::Error import_reduce_mean_7(const OnnxNode& node, Importer& importer);   // axes: attribute
llvm::Error import_reduce_mean_18(const OnnxNode& node, Importer& importer);  // axes: input

// import_elementwise.cc
llvm::Error import_relu(const OnnxNode& node, Importer& importer);
llvm::Error import_leaky_relu(const OnnxNode& node, Importer& importer);
llvm::Error import_sigmoid(const OnnxNode& node, Importer& importer);
llvm::Error import_tanh(const OnnxNode& node, Importer& importer);
llvm::Error import_clip_7(const OnnxNode& node, Importer& importer);   // bounds: attributes
llvm::Error import_clip_11(const OnnxNode& node, Importer& importer);  // bounds: inputs
llvm::Error import_add(const OnnxNode& node, Importer& importer);
llvm::Error import_sub(const OnnxNode& node, Importer& importer);
llvm::Error import_mul(const OnnxNode& node, Importer& importer);
llvm::Error import_div(const OnnxNode& node, Importer& importer);
llvm::Error import_softmax_7(const OnnxNode& node, Importer& importer);   // over all dims from axis
llvm::Error import_softmax_13(const OnnxNode& node, Importer& importer);  // along axis

// import_matmul.cc
llvm::Error import_gemm(const OnnxNode& node, Importer& importer);
llvm::Error import_matmul(const OnnxNode& node, Importer& importer);

// import_shape.cc
llvm::Error import_flatten(const OnnxNode& node, Importer& importer);
llvm::Error import_reshape(const OnnxNode& node, Importer& importer);
llvm::Error import_squeeze_7(const OnnxNode& node, Importer& importer);   // axes: attribute
llvm::Error import_squeeze_13(const OnnxNode& node, Importer& importer);  // axes: input
llvm::Error import_unsqueeze_7(const OnnxNode& node, Importer& importer);
llvm::Error import_unsqueeze_13(const OnnxNode& node, Importer& importer);
llvm::Error import_transpose(const OnnxNode& node, Importer& importer);
llvm::Error import_concat(const OnnxNode& node, Importer& importer);

// import_constant.cc
llvm::Error import_identity(const OnnxNode& node, Importer& importer);
llvm::Error import_dropout(const OnnxNode& node, Importer& importer);
llvm::Error import_constant(const OnnxNode& node, Importer& importer);
llvm::Error import_shape(const OnnxNode& node, Importer& importer);
llvm::Error import_gather(const OnnxNode& node, Importer& importer);
llvm::Error import_cast(const OnnxNode& node, Importer& importer);

}  // namespace codl::compiler
