#include "compiler/interp/fast_node.h"

#include <cmath>

#include "compiler/ops/activation.h"
#include "compiler/support/error.h"
#include "compiler/support/parallel.h"
#include "test/compiler/ops/op_cases.h"
#include "test/support/catch.h"

namespace codl::test {
namespace {

using compiler::Bytes;

std::vector<Bytes> inputs_of(const ir::Graph& graph) {
  std::vector<Bytes> inputs;
  for (ir::ValueId input : graph.inputs())
    inputs.push_back(random_elements(graph.value(input).type, 100 + input));
  return inputs;
}

// Returns the largest difference of f32 values, absolute below 1.
float difference(const Bytes& a, const Bytes& b) {
  REQUIRE(a.size() == b.size());
  float most = 0;
  for (size_t i = 0; i < a.size() / sizeof(float); ++i) {
    const float x = compiler::floats(a)[i], y = compiler::floats(b)[i];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const float off = std::fabs(x - y) / std::max(1.0f, std::fabs(y));
    most = std::isnan(off) ? INFINITY : std::max(most, off);
  }
  return most;
}

}  // namespace

TEST_CASE("kernels of the CPU give what the interpreter gives, of every operator") {
  for (const OpCase& op_case : op_cases()) {
    INFO(op_case.name);
    const ir::Graph graph = graph_of(op_case);
    const std::vector<Bytes> inputs = inputs_of(graph);
    const auto expected = value_of(compiler::interpret(graph, inputs));
    const auto found = value_of(compiler::FastGraph(graph).run(inputs));
    if (graph.value(graph.outputs()[0]).type.dtype == DType::F32)
      CHECK(difference(found[0], expected[0]) < 1e-5f);
    else
      CHECK(found[0] == expected[0]);
  }
}

TEST_CASE("a sum and its activation are the node") {
  for (const OpCase& op_case : op_cases()) {
    if (op_case.op != OpKind::Conv2d) continue;
    ir::Graph graph = graph_of(op_case);
    ir::Node node = graph.nodes()[0];
    auto params = node.params.as<Conv2dParams>();
    params.activation = kUnarySigmoid;
    node.params = ir::OpParams::of(node.op, params);
    const std::vector<Bytes> inputs = inputs_of(graph);
    llvm::SmallVector<llvm::ArrayRef<uint8_t>, 4> operands;
    size_t next = 0;
    for (ir::ValueId input : node.inputs)
      operands.push_back(graph.value(input).is_constant
                             ? llvm::ArrayRef<uint8_t>(graph.value(input).bytes)
                             : llvm::ArrayRef<uint8_t>(inputs[next++]));
    const auto whole = value_of(compiler::FastNode(graph, node).evaluate(operands));
    auto sum =
        value_of(compiler::FastNode(graph, compiler::without_activation(node)).evaluate(operands));
    compiler::apply_activation({graph, node}, sum);
    CHECK(difference({sum.begin(), sum.end()}, {whole.begin(), whole.end()}) < 1e-5f);
  }
}

TEST_CASE("work at once is done once each, and the first failure counts") {
  std::vector<int> calls(100);
  CHECK_FALSE(bool(compiler::for_each_at_once(calls.size(), [&](size_t i) -> llvm::Error {
    ++calls[i];
    return llvm::Error::success();
  })));
  CHECK(calls == std::vector<int>(100, 1));
  CHECK(llvm::toString(compiler::for_each_at_once(2, [](size_t i) -> llvm::Error {
          return compiler::input_error("item " + std::to_string(i), "expected none");
        })).rfind("item 0", 0) == 0);
  CHECK_THROWS_AS(llvm::toString(compiler::for_each_at_once(
                      50, [](size_t) -> llvm::Error { throw std::bad_alloc(); })),
                  std::bad_alloc);
}

}  // namespace codl::test
