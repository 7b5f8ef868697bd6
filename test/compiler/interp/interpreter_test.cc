#include "compiler/interp/interpreter.h"

#include <cmath>

#include "compiler/frontend/onnx_import.h"
#include "compiler/passes/passes.h"
#include "test/support/expected.h"
#include "test/support/onnx_text.h"

namespace codl::compiler {
namespace {

Bytes bytes_of_floats(const std::vector<float>& elements) {
  const auto* first = reinterpret_cast<const uint8_t*>(elements.data());
  return Bytes(first, first + elements.size() * sizeof(float));
}

// Computes y = relu(x w + b), 1x1 over a 2x2 map.
ir::Graph network() {
  return test::value_of(import_onnx(test::onnx_model(R"(
      g (float[1,2,2,2] x) => (float[1,1,2,2] y, float[1,2,2,2] t)
      <float[1,2,1,1] w = {1, 10}, float[1] b = {-25}>
      { c = Conv(x, w, b)
        y = Relu(c)
        t = Tanh(x) })"),
                                    "test"));
}

const std::vector<float> kInput = {0, 1, 2, 3, 4, 3, 2, 1};

}  // namespace

TEST_CASE("interpret computes a network by hand") {
  const auto outputs = test::value_of(interpret(network(), {bytes_of_floats(kInput)}));
  REQUIRE(outputs.size() == 2);
  // 0 + 40 - 25, 1 + 30 - 25, 2 + 20 - 25, 3 + 10 - 25
  CHECK(outputs[0] == bytes_of_floats({15, 6, 0, 0}));
  CHECK(outputs[1].size() == 8 * sizeof(float));
}

TEST_CASE("interpret rounds what halves may hold, but for the application's values") {
  ir::Graph graph = network();
  for (ir::ValueId id = 0; id < graph.values().size(); ++id)
    graph.value(id).precision = ir::Precision::Fp16;
  const float a_third = 1.0f / 3;
  const auto outputs =
      test::value_of(interpret(graph, {bytes_of_floats({20, 0, 0, 0, 1 + a_third, 1, 1, 1})}));
  // The convolution's result is 8.333, of which halves have 8.336.
  CHECK(reinterpret_cast<const float*>(outputs[0].data())[0] == 8.3359375f);
  const float tangent = std::tanh(1 + a_third);
  CHECK(reinterpret_cast<const float*>(outputs[1].data())[4] ==
        Approx(double{tangent}).epsilon(1e-6));
}

TEST_CASE("layouts do not change what interpret computes") {
  ir::Graph graph = network();
  REQUIRE(test::error_of(assign_layouts(graph)) == "");
  const auto outputs = test::value_of(interpret(graph, {bytes_of_floats(kInput)}));
  CHECK(outputs[0] == bytes_of_floats({15, 6, 0, 0}));
}

TEST_CASE("interpret leaves constants alone") {
  const ir::Graph graph = network();
  const auto first = test::value_of(interpret(graph, {bytes_of_floats(kInput)}));
  CHECK(test::value_of(interpret(graph, {bytes_of_floats(kInput)})) == first);
}

TEST_CASE("interpret names an input that does not fit") {
  CHECK(test::error_of(interpret(network(), {})) == "g: expected 1 inputs, found 0");
  CHECK(test::error_of(interpret(network(), {Bytes(31)})) ==
        "x: expected 32 bytes (f32[1,2,2,2]), found 31");
}

TEST_CASE("evaluate_node checks the sizes of its operands") {
  const ir::Graph graph = network();
  const ir::NodeView node{graph, graph.node(0)};
  CHECK(test::error_of(evaluate_node(node, {})) == "c: expected 3 operands, found 0");
  const Bytes bytes(4);
  const llvm::ArrayRef<uint8_t> operands[] = {bytes, bytes, bytes};
  CHECK(test::error_of(evaluate_node(node, operands)) ==
        "c: expected 32 bytes of operand 0, found 4");
}

}  // namespace codl::compiler
