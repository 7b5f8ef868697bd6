#include "compiler/frontend/rules.h"

namespace codl::compiler {
namespace {

// Opsets are those of ONNX's operator changelog in which the rule's reading of attributes and
// inputs holds, within the range read_onnx() accepts.
constexpr ImportRow kRows[] = {
    {"Add", 7, 18, import_add},
    {"AveragePool", 7, 18, import_average_pool},
    {"BatchNormalization", 7, 18, import_batch_normalization},
    {"Cast", 7, 18, import_cast},
    {"Clip", 7, 10, import_clip_7},
    {"Clip", 11, 18, import_clip_11},
    {"Concat", 7, 18, import_concat},
    {"Constant", 7, 18, import_constant},
    {"Conv", 7, 18, import_conv},
    {"Div", 7, 18, import_div},
    {"Dropout", 7, 18, import_dropout},
    {"Flatten", 7, 18, import_flatten},
    {"Gather", 7, 18, import_gather},
    {"Gemm", 7, 18, import_gemm},
    {"GlobalAveragePool", 7, 18, import_global_average_pool},
    {"GlobalMaxPool", 7, 18, import_global_max_pool},
    {"Identity", 7, 18, import_identity},
    {"LeakyRelu", 7, 18, import_leaky_relu},
    {"MatMul", 7, 18, import_matmul},
    {"MaxPool", 7, 18, import_max_pool},
    {"Mul", 7, 18, import_mul},
    {"ReduceMean", 7, 17, import_reduce_mean_7},
    {"ReduceMean", 18, 18, import_reduce_mean_18},
    {"Relu", 7, 18, import_relu},
    {"Reshape", 7, 18, import_reshape},
    {"Shape", 7, 18, import_shape},
    {"Sigmoid", 7, 18, import_sigmoid},
    {"Softmax", 7, 12, import_softmax_7},
    {"Softmax", 13, 18, import_softmax_13},
    {"Squeeze", 7, 12, import_squeeze_7},
    {"Squeeze", 13, 18, import_squeeze_13},
    {"Sub", 7, 18, import_sub},
    {"Tanh", 7, 18, import_tanh},
    {"Transpose", 7, 18, import_transpose},
    {"Unsqueeze", 7, 12, import_unsqueeze_7},
    {"Unsqueeze", 13, 18, import_unsqueeze_13},
};

}  // namespace

llvm::ArrayRef<ImportRow> import_table() { return kRows; }

}  // namespace codl::compiler
