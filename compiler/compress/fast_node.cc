#include "compiler/compress/fast_node.h"

#include <Eigen/Core>
#include <algorithm>

#include "kernels/unary/unary.h"

namespace codl::compiler {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using MatrixView = Eigen::Map<Matrix>;
using ConstMatrixView = Eigen::Map<const Matrix>;

// Of the columns that a convolution is unfolded to at a time: about a second cache.
constexpr int64_t kUnfoldedElements = 1 << 18;

template <typename Params>
void activate(const Params& params, float* y, int64_t count) {
  if (params.activation == kUnaryIdentity) return;
  if (params.activation == kUnaryRelu) {
    for (int64_t i = 0; i < count; ++i) y[i] = std::max(y[i], 0.0f);
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    y[i] = kernels::unary_value_ref(params.activation, params.activation_alpha,
                                    params.activation_beta, y[i]);
}

// Rows [begin, end) of the output map: a column per output pixel, a row per tap of the filter.
void unfold(const ir::NodeView& node, const Conv2dParams& p, const float* x, int32_t begin,
            int32_t end, Matrix& columns) {
  const ir::Dims& in = node.input(0).dims;
  const ir::Dims& filter = node.input(1).dims;
  const int32_t width = node.output().dims[3];
  columns.resize(int64_t{in[1]} * filter[2] * filter[3], int64_t{end - begin} * width);
  int64_t row = 0;
  for (int32_t c = 0; c < in[1]; ++c)
    for (int32_t kh = 0; kh < filter[2]; ++kh)
      for (int32_t kw = 0; kw < filter[3]; ++kw, ++row) {
        float* to = columns.data() + row * columns.cols();
        for (int32_t oh = begin; oh < end; ++oh) {
          const int32_t ih = oh * p.stride_h - p.pad_top + kh * p.dilation_h;
          for (int32_t ow = 0; ow < width; ++ow) {
            const int32_t iw = ow * p.stride_w - p.pad_left + kw * p.dilation_w;
            const bool is_inside = ih >= 0 && ih < in[2] && iw >= 0 && iw < in[3];
            *to++ = is_inside ? x[(int64_t{c} * in[2] + ih) * in[3] + iw] : 0.0f;
          }
        }
      }
}

LargeBytes convolve(const ir::NodeView& node, llvm::ArrayRef<llvm::ArrayRef<uint8_t>> inputs) {
  const auto params = node.params<Conv2dParams>();
  const ir::Dims& out = node.output().dims;
  const ir::Dims& in = node.input(0).dims;
  const int64_t taps = node.input(1).element_count() / out[1];
  const int64_t pixels = int64_t{out[2]} * out[3];
  LargeBytes result(static_cast<size_t>(node.output().element_count()) * sizeof(float));
  const ConstMatrixView filter(floats(inputs[1]), out[1], taps);
  const Eigen::Map<const Eigen::VectorXf> bias(floats(inputs[2]), out[1]);
  const auto rows = static_cast<int32_t>(
      std::clamp<int64_t>(kUnfoldedElements / std::max<int64_t>(taps * out[3], 1), 1, out[2]));
  Matrix columns;
  for (int32_t n = 0; n < out[0]; ++n) {
    const float* x = floats(inputs[0]) + int64_t{n} * in[1] * in[2] * in[3];
    MatrixView y(reinterpret_cast<float*>(result.data()) + n * out[1] * pixels, out[1], pixels);
    for (int32_t begin = 0; begin < out[2]; begin += rows) {
      const int32_t end = std::min(begin + rows, out[2]);
      unfold(node, params, x, begin, end, columns);
      auto part = y.middleCols(int64_t{begin} * out[3], columns.cols());
      part.noalias() = filter * columns;
      part.colwise() += bias;
    }
  }
  auto* y = reinterpret_cast<float*>(result.data());
  const int64_t count = node.output().element_count();
  if (params.has_residual)
    for (int64_t i = 0; i < count; ++i) y[i] += floats(inputs[3])[i];
  activate(params, y, count);
  return result;
}

LargeBytes multiply(const ir::NodeView& node, llvm::ArrayRef<llvm::ArrayRef<uint8_t>> inputs) {
  const ir::Dims& out = node.output().dims;
  const int64_t depth = node.input(0).dims[1];
  LargeBytes result(static_cast<size_t>(node.output().element_count()) * sizeof(float));
  MatrixView y(reinterpret_cast<float*>(result.data()), out[0], out[1]);
  y.noalias() = ConstMatrixView(floats(inputs[0]), out[0], depth) *
                ConstMatrixView(floats(inputs[1]), depth, out[1]);
  y.rowwise() += Eigen::Map<const Eigen::RowVectorXf>(floats(inputs[2]), out[1]);
  activate(node.params<MatMulParams>(), y.data(), y.size());
  return result;
}

template <typename Params>
ir::Node without_activation(const ir::NodeView& node) {
  auto params = node.params<Params>();
  params.activation = kUnaryIdentity;
  ir::Node plain = node.node;
  plain.params = ir::OpParams::of(plain.op, params);
  return plain;
}

}  // namespace

llvm::Expected<LargeBytes> evaluate_sum(const ir::NodeView& node,
                                        llvm::ArrayRef<llvm::ArrayRef<uint8_t>> inputs) {
  const ir::Node plain = node.node.op == OpKind::Conv2d ? without_activation<Conv2dParams>(node)
                         : node.node.op == OpKind::MatMul
                             ? without_activation<MatMulParams>(node)
                             : without_activation<DepthwiseConv2dParams>(node);
  return evaluate_fast({node.graph, plain}, inputs);
}

void apply_activation(const ir::NodeView& node, LargeBytes& sum) {
  auto* y = reinterpret_cast<float*>(sum.data());
  if (node.node.op == OpKind::Conv2d)
    activate(node.params<Conv2dParams>(), y, node.output().element_count());
  else if (node.node.op == OpKind::DepthwiseConv2d)
    activate(node.params<DepthwiseConv2dParams>(), y, node.output().element_count());
  else
    activate(node.params<MatMulParams>(), y, node.output().element_count());
}

llvm::Expected<LargeBytes> evaluate_fast(const ir::NodeView& node,
                                         llvm::ArrayRef<llvm::ArrayRef<uint8_t>> inputs) {
  if (node.node.op == OpKind::Conv2d && node.params<Conv2dParams>().groups == 1)
    return convolve(node, inputs);
  if (node.node.op == OpKind::MatMul) return multiply(node, inputs);
  return evaluate_node(node, inputs);
}

}  // namespace codl::compiler
