// Builds graphs with random weights, node by node.
#pragma once

#include <cmath>
#include <random>

#include "compiler/interp/interpreter.h"
#include "compiler/ops/op_spec.h"
#include "test/support/expected.h"

namespace codl::test {

class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : random_(seed) {}

  int32_t below(int32_t count) { return static_cast<int32_t>(random_() % count); }
  std::vector<float> floats(int64_t count) {
    std::vector<float> values;
    for (int64_t i = 0; i < count; ++i)
      values.push_back(static_cast<float>(random_() % 2001) / 1000.0f - 1.0f);
    return values;
  }
  ir::ValueId input(ir::Dims dims) {
    return graph.add_input("x", {DType::F32, dims, Layout::Plain});
  }
  ir::ValueId constant(ir::Dims dims, std::vector<float> values = {}) {
    const ir::TensorType type{DType::F32, dims, Layout::Plain};
    if (values.empty()) values = floats(type.element_count());
    return graph.add_constant(name("c"), type, compiler::bytes_of(llvm::ArrayRef<float>(values)));
  }
  template <typename Params>
  ir::ValueId node(OpKind op, llvm::ArrayRef<ir::ValueId> inputs, const Params& params) {
    ir::Node node;
    node.op = op;
    node.inputs.assign(inputs.begin(), inputs.end());
    node.params = ir::OpParams::of(op, params);
    node.name = name("n");
    // infer() looks at the node alone.
    return add(std::move(node));
  }
  ir::ValueId reshape(ir::ValueId x, ir::Dims dims) {
    ir::Node node;
    node.op = OpKind::Reshape;
    node.inputs = {x};
    node.name = name("n");
    std::string of_value = node.name;
    return graph.add_node(std::move(node), of_value, {DType::F32, dims, Layout::Plain});
  }
  ir::ValueId conv(ir::ValueId x, int32_t out, int32_t kernel, int32_t groups = 1,
                   ir::ValueId residual = ir::kNoId, int32_t activation = kUnaryRelu) {
    Conv2dParams p{};
    p.stride_h = p.stride_w = p.dilation_h = p.dilation_w = 1;
    p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = kernel / 2;
    p.groups = groups;
    p.has_residual = residual != ir::kNoId;
    p.activation = activation;
    const ir::ValueId w = constant({out, dims(x)[1] / groups, kernel, kernel});
    std::vector<ir::ValueId> inputs = {x, w, constant({out})};
    if (residual != ir::kNoId) inputs.push_back(residual);
    return node(OpKind::Conv2d, inputs, p);
  }
  ir::ValueId depthwise(ir::ValueId x) {
    DepthwiseConv2dParams p{};
    p.stride_h = p.stride_w = p.dilation_h = p.dilation_w = 1;
    p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = 1;
    return node(OpKind::DepthwiseConv2d,
                {x, constant({dims(x)[1], 1, 3, 3}), constant({dims(x)[1]})}, p);
  }
  ir::ValueId matmul(ir::ValueId x, int32_t out) {
    return node(OpKind::MatMul, {x, constant({dims(x)[1], out}), constant({out})}, MatMulParams{});
  }
  ir::ValueId binary(int32_t kind, ir::ValueId a, ir::ValueId b) {
    BinaryParams p{};
    p.kind = kind;
    return node(OpKind::Binary, {a, b}, p);
  }
  const ir::Dims& dims(ir::ValueId value) const { return graph.value(value).type.dims; }

  ir::Graph graph;

 private:
  std::string name(const char* kind) { return kind + std::to_string(count_++); }
  ir::ValueId add(ir::Node node) {
    const ir::TensorType type =
        value_of(compiler::op_spec(node.op).infer(ir::NodeView{graph, node}));
    std::string of_value = node.name;
    return graph.add_node(std::move(node), of_value, type);
  }
  std::mt19937 random_;
  int count_ = 0;
};

// Two dense layers of 64, one after the other; the second adds little to the first.
inline ir::Graph dense_network() {
  RandomGraph r(4);
  const ir::ValueId x = r.input({1, 8});
  r.graph.set_outputs({r.matmul(r.matmul(r.matmul(x, 64), 64), 10)});
  r.graph.name = "dense";
  return r.graph;
}

inline std::vector<float> run_graph(const ir::Graph& graph, const std::vector<float>& input) {
  const auto* first = reinterpret_cast<const uint8_t*>(input.data());
  const std::vector<compiler::Bytes> inputs = {
      compiler::Bytes(first, first + input.size() * sizeof(float))};
  std::vector<float> all;
  for (const compiler::Bytes& output : value_of(compiler::interpret(graph, inputs))) {
    const auto* begin = reinterpret_cast<const float*>(output.data());
    all.insert(all.end(), begin, begin + output.size() / sizeof(float));
  }
  return all;
}

inline double relative_error(const std::vector<float>& is, const std::vector<float>& was) {
  REQUIRE(is.size() == was.size());
  double difference = 0, norm = 0;
  for (size_t i = 0; i < is.size(); ++i) {
    difference += (double{is[i]} - double{was[i]}) * (double{is[i]} - double{was[i]});
    norm += double{was[i]} * double{was[i]};
  }
  return std::sqrt(difference / (norm + 1e-30));
}

}  // namespace codl::test
