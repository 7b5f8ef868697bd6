#include "compiler/shrink/low_rank.h"

#include <algorithm>
#include <cmath>

#include "compiler/ops/multiply_adds.h"
#include "compiler/passes/rewrite.h"
#include "compiler/shrink/matrix.h"
#include "compiler/shrink/operands.h"

namespace codl::compiler {
namespace {

constexpr double kMaxMacShare = 0.9;

// Kernels compute whole panels of 16 channels, small ones of 4.
int64_t rounded_rank(int64_t rank) {
  const int64_t panel = rank > 32 ? 16 : 4;
  return (rank + panel - 1) / panel * panel;
}

// Returns, as columns, the vectors of a matrix' row space that keep `energy` of its squares, the
// largest first. `gram` is the matrix' product with itself, the smaller of the two.
Matrix leading_vectors(const Matrix& gram, double energy) {
  const Spectrum spectrum = spectrum_of(gram);
  const int64_t size = gram.rows();
  double all = 0;
  for (double value : spectrum.values) all += std::max(value, 0.0);
  int64_t rank = 0;
  for (double kept = 0; rank < size && (rank == 0 || kept < energy * all); ++rank)
    kept += std::max(spectrum.values[static_cast<size_t>(size - 1 - rank)], 0.0);
  rank = std::min(rounded_rank(rank), size);
  Matrix leading(size, rank);
  for (int64_t row = 0; row < size; ++row)
    for (int64_t i = 0; i < rank; ++i) leading(row, i) = spectrum.vectors(row, size - 1 - i);
  return leading;
}

struct Factors {
  Matrix left;   // [rows, rank]
  Matrix right;  // [rank, columns]
};

// Returns left * right, the matrix projected on what keeps `energy` of its squares. Returns nothing
// where its smaller side is too long.
std::optional<Factors> factorized(const Matrix& matrix, double energy) {
  if (std::min(matrix.rows(), matrix.columns()) > kMaxLowRankSide) return std::nullopt;
  if (matrix.columns() <= matrix.rows()) {
    const Matrix vectors = leading_vectors(transposed_product(matrix, matrix), energy);
    return Factors{product(matrix, vectors), transposed(vectors)};
  }
  const Matrix vectors = leading_vectors(product(matrix, transposed(matrix)), energy);
  return Factors{vectors, transposed_product(vectors, matrix)};
}

// ---- rewriting ----

// Views a filter in ONNX's order, [out, in, kh, kw].
struct Filter {
  std::vector<float> weights;
  int32_t out = 0, in = 0, kh = 1, kw = 1;
};

// Replaces a convolution by a row of them. The last has the bias, residual, activation and output.
class Chain {
 public:
  Chain(const ir::Graph& graph, ir::NodeId node)
      : graph_(graph), names_(graph), id_(node), x_(graph.node(node).inputs[kX]) {}

  // Adds one before the last, which has no bias and no activation.
  void add(const Filter& filter, Conv2dParams params) {
    params.has_residual = 0;
    params.activation = kUnaryIdentity;
    ir::Node node;
    node.op = OpKind::Conv2d;
    const ir::TensorType of_bias{DType::F32, {filter.out}, Layout::Plain};
    node.inputs = {x_, constant(filter),
                   graph_.add_constant(name("bias"), of_bias,
                                       bytes_of<float>(std::vector<float>(filter.out, 0.0f)))};
    node.params = ir::OpParams::of(OpKind::Conv2d, params);
    const ir::Dims& in = graph_.value(x_).type.dims;
    const auto outputs = [](int32_t size, int32_t pads, int32_t kernel, int32_t dilation,
                            int32_t stride) {
      return (size + pads - (kernel - 1) * dilation - 1) / stride + 1;
    };
    add(std::move(node), {in[0], filter.out,
                          outputs(in[2], params.pad_top + params.pad_bottom, filter.kh,
                                  params.dilation_h, params.stride_h),
                          outputs(in[3], params.pad_left + params.pad_right, filter.kw,
                                  params.dilation_w, params.stride_w)});
  }
  void add_product(const Matrix& weights) {
    ir::Node node;
    node.op = OpKind::MatMul;
    const auto rank = static_cast<int32_t>(weights.columns());
    const ir::TensorType of_bias{DType::F32, {rank}, Layout::Plain};
    node.inputs = {x_, constant(weights),
                   graph_.add_constant(name("bias"), of_bias,
                                       bytes_of<float>(std::vector<float>(rank, 0.0f)))};
    node.params = ir::OpParams::of(OpKind::MatMul, MatMulParams{});
    add(std::move(node), {graph_.value(x_).type.dims[0], rank});
  }
  // The last one stands where the whole one did.
  ir::Graph end(const Filter& filter, Conv2dParams params) {
    const auto whole = graph_.node(id_).params.as<Conv2dParams>();
    params.has_residual = whole.has_residual;
    params.activation = whole.activation;
    params.activation_alpha = whole.activation_alpha;
    params.activation_beta = whole.activation_beta;
    graph_.node(id_).params = ir::OpParams::of(OpKind::Conv2d, params);
    return end(constant(filter));
  }
  ir::Graph end_product(const Matrix& weights) { return end(constant(weights)); }

 private:
  std::string name(const char* what) {
    return names_.take(graph_.node(id_).name + ".low_rank." + what);
  }
  ir::ValueId constant(const Filter& filter) {
    return graph_.add_constant(
        name("w"), {DType::F32, {filter.out, filter.in, filter.kh, filter.kw}, Layout::Plain},
        bytes_of<float>(filter.weights));
  }
  ir::ValueId constant(const Matrix& weights) {
    const std::vector<float> floats(weights.elements().begin(), weights.elements().end());
    return graph_.add_constant(
        name("w"),
        {DType::F32,
         {static_cast<int32_t>(weights.rows()), static_cast<int32_t>(weights.columns())},
         Layout::Plain},
        bytes_of<float>(floats));
  }
  void add(ir::Node node, ir::Dims dims) {
    node.name = name("part");
    std::string value_name = node.name;
    x_ = graph_.add_node(std::move(node), std::move(value_name),
                         {DType::F32, std::move(dims), Layout::Plain});
    ++added_;
  }
  ir::Graph end(ir::ValueId weights) {
    graph_.node(id_).inputs[kX] = x_;
    graph_.node(id_).inputs[kW] = weights;
    std::vector<ir::NodeId> order;
    const auto count = static_cast<ir::NodeId>(graph_.nodes().size());
    for (ir::NodeId id = 0; id < count - added_; ++id) {
      if (id == id_)
        for (ir::NodeId part = count - added_; part < count; ++part) order.push_back(part);
      order.push_back(id);
    }
    graph_.reorder_nodes(order);
    graph_.remove_unused_values();
    return std::move(graph_);
  }

  ir::Graph graph_;
  NewNames names_;
  ir::NodeId id_;
  ir::ValueId x_;
  ir::NodeId added_ = 0;
};

// Makes a filter of the elements (row, column) of a matrix.
template <typename At>
Filter filter_of(int64_t out, int64_t in, int64_t kh, int64_t kw, At at) {
  Filter filter{{},
                static_cast<int32_t>(out),
                static_cast<int32_t>(in),
                static_cast<int32_t>(kh),
                static_cast<int32_t>(kw)};
  for (int64_t o = 0; o < out; ++o)
    for (int64_t i = 0; i < in; ++i)
      for (int64_t h = 0; h < kh; ++h)
        for (int64_t w = 0; w < kw; ++w)
          filter.weights.push_back(static_cast<float>(at(o, i, h, w)));
  return filter;
}

Conv2dParams pointwise() {
  Conv2dParams params{};
  params.stride_h = params.stride_w = params.dilation_h = params.dilation_w = params.groups = 1;
  return params;
}

class ConvolutionForms {
 public:
  ConvolutionForms(const ir::Graph& graph, ir::NodeId id, double energy)
      : graph_(graph), id_(id), energy_(energy), params_(graph.node(id).params.as<Conv2dParams>()) {
    const ir::Value& w = graph.value(graph.node(id).inputs[kW]);
    out_ = w.type.dims[0];
    in_ = w.type.dims[1];
    kh_ = w.type.dims[2];
    kw_ = w.type.dims[3];
    weights_ = w.as<float>();
  }

  void add_to(std::vector<LowRankRewrite>& forms) const {
    if (std::max(out_, in_) > kMaxLowRankSide) return;
    channel_wise(forms);
    if (kh_ > 1 && kw_ > 1) spatial(forms);
    if (kh_ * kw_ > 1) tucker(forms);
  }

 private:
  double weight(int64_t o, int64_t i, int64_t h, int64_t w) const {
    return weights_[((o * in_ + i) * kh_ + h) * kw_ + w];
  }

  // Makes [out, in * taps] = B [out, r] A [r, in * taps].
  void channel_wise(std::vector<LowRankRewrite>& forms) const {
    Matrix matrix(out_, in_ * kh_ * kw_);
    std::copy(weights_.begin(), weights_.end(), matrix.data());
    const auto factors = factorized(matrix, energy_);
    if (!factors) return;
    const int64_t rank = factors->right.rows();
    Chain chain(graph_, id_);
    chain.add(filter_of(rank, in_, kh_, kw_,
                        [&](int64_t o, int64_t i, int64_t h, int64_t w) {
                          return factors->right(o, (i * kh_ + h) * kw_ + w);
                        }),
              params_);
    forms.push_back(
        {kh_ * kw_ > 1 ? LowRankForm::ChannelWise : LowRankForm::Svd, std::to_string(rank),
         chain.end(
             filter_of(out_, rank, 1, 1,
                       [&](int64_t o, int64_t i, int64_t, int64_t) { return factors->left(o, i); }),
             pointwise())});
  }

  // Makes [in * kh, out * kw] = A [in * kh, r] B [r, out * kw].
  void spatial(std::vector<LowRankRewrite>& forms) const {
    Matrix matrix(in_ * kh_, out_ * kw_);
    for (int64_t o = 0; o < out_; ++o)
      for (int64_t i = 0; i < in_; ++i)
        for (int64_t h = 0; h < kh_; ++h)
          for (int64_t w = 0; w < kw_; ++w) matrix(i * kh_ + h, o * kw_ + w) = weight(o, i, h, w);
    const auto factors = factorized(matrix, energy_);
    if (!factors) return;
    const int64_t rank = factors->right.rows();
    Conv2dParams column = params_, row = params_;
    column.stride_w = column.dilation_w = row.stride_h = row.dilation_h = 1;
    column.pad_left = column.pad_right = row.pad_top = row.pad_bottom = 0;
    Chain chain(graph_, id_);
    chain.add(filter_of(rank, in_, kh_, 1,
                        [&](int64_t o, int64_t i, int64_t h, int64_t) {
                          return factors->left(i * kh_ + h, o);
                        }),
              column);
    forms.push_back({LowRankForm::Spatial, std::to_string(rank),
                     chain.end(filter_of(out_, rank, 1, kw_,
                                         [&](int64_t o, int64_t i, int64_t, int64_t w) {
                                           return factors->right(i, o * kw_ + w);
                                         }),
                               row)});
  }

  // Finds vectors of the input and the output channels; the core is the filter as seen by them.
  // Each side may lose half of the loss allowed.
  void tucker(std::vector<LowRankRewrite>& forms) const {
    Matrix by_out(out_, in_ * kh_ * kw_), by_in(in_, out_ * kh_ * kw_);
    std::copy(weights_.begin(), weights_.end(), by_out.data());
    for (int64_t o = 0; o < out_; ++o)
      for (int64_t i = 0; i < in_; ++i)
        for (int64_t t = 0; t < kh_ * kw_; ++t)
          by_in(i, o * kh_ * kw_ + t) = weights_[(o * in_ + i) * kh_ * kw_ + t];
    const double energy = 1 - (1 - energy_) / 2;
    const Matrix of_out = leading_vectors(product(by_out, transposed(by_out)), energy);
    const Matrix of_in = leading_vectors(product(by_in, transposed(by_in)), energy);
    const int64_t rank_out = of_out.columns(), rank_in = of_in.columns();
    const Matrix half = transposed_product(of_out, by_out);  // [rank_out, in * taps]
    const auto core =
        filter_of(rank_out, rank_in, kh_, kw_, [&](int64_t o, int64_t r, int64_t h, int64_t w) {
          double sum = 0;
          for (int64_t i = 0; i < in_; ++i) sum += of_in(i, r) * half(o, (i * kh_ + h) * kw_ + w);
          return sum;
        });
    Chain chain(graph_, id_);
    chain.add(filter_of(rank_in, in_, 1, 1,
                        [&](int64_t o, int64_t i, int64_t, int64_t) { return of_in(i, o); }),
              pointwise());
    chain.add(core, params_);
    forms.push_back(
        {LowRankForm::Tucker2, std::to_string(rank_in) + ", " + std::to_string(rank_out),
         chain.end(filter_of(out_, rank_out, 1, 1,
                             [&](int64_t o, int64_t i, int64_t, int64_t) { return of_out(o, i); }),
                   pointwise())});
  }

  const ir::Graph& graph_;
  const ir::NodeId id_;
  const double energy_;
  const Conv2dParams params_;
  int64_t out_ = 0, in_ = 0, kh_ = 1, kw_ = 1;
  llvm::ArrayRef<float> weights_;
};

double all_multiply_adds(const ir::Graph& graph) {
  double sum = 0;
  for (const ir::Node& node : graph.nodes()) sum += multiply_adds(ir::NodeView{graph, node});
  return sum;
}

}  // namespace

const char* name_of(LowRankForm form) {
  switch (form) {
    case LowRankForm::Svd:
      return "SVD";
    case LowRankForm::ChannelWise:
      return "channel-wise";
    case LowRankForm::Spatial:
      return "spatial";
    case LowRankForm::Tucker2:
      return "Tucker-2";
  }
  return "";
}

std::vector<LowRankRewrite> low_rank_forms(const ir::Graph& graph, ir::NodeId node, double energy) {
  const ir::NodeView view{graph, graph.node(node)};
  std::vector<LowRankRewrite> forms;
  const bool is_product = view.node.op == OpKind::MatMul;
  const bool is_convolution =
      view.node.op == OpKind::Conv2d && view.params<Conv2dParams>().groups == 1;
  if ((!is_product && !is_convolution) || !view.input_value(kW).is_constant) return forms;
  if (is_convolution) {
    ConvolutionForms(graph, node, energy).add_to(forms);
  } else {
    const ir::Value& w = view.input_value(kW);
    Matrix matrix(w.type.dims[0], w.type.dims[1]);
    llvm::copy(w.as<float>(), matrix.data());
    if (const auto factors = factorized(matrix, energy)) {
      Chain chain(graph, node);
      chain.add_product(factors->left);
      forms.push_back({LowRankForm::Svd, std::to_string(factors->right.rows()),
                       chain.end_product(factors->right)});
    }
  }
  const double before = all_multiply_adds(graph);
  const double of_node = multiply_adds(view);
  llvm::erase_if(forms, [&](const LowRankRewrite& form) {
    return all_multiply_adds(form.graph) - (before - of_node) > kMaxMacShare * of_node;
  });
  return forms;
}

}  // namespace codl::compiler
