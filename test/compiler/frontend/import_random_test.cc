// Tests the import of random numbers: which are a constant, which the session's, and how many.
#include "test/compiler/frontend/import_text.h"

namespace codl::test {
namespace {

ir::Graph random_graph(const std::string& nodes, const std::string& initializers = "") {
  return value_of(compiler::import_onnx(
      onnx_model("g (float[2,3] x) => (float[] y) " + initializers + " { " + nodes + " }"),
      "m.onnx"));
}

std::vector<float> outputs_of(const ir::Graph& graph) {
  const auto outputs = value_of(compiler::interpret(graph, {compiler::Bytes(6 * sizeof(float))}));
  const auto* begin = reinterpret_cast<const float*>(outputs[0].data());
  return {begin, begin + outputs[0].size() / sizeof(float)};
}

}  // namespace

TEST_CASE("random numbers have the dims that the model says") {
  for (const char* op : {"RandomNormal", "RandomUniform"}) {
    const std::string name = op;
    const ir::Graph shaped = random_graph("y = " + name + "<shape = [4, 5]>()");
    CHECK(ir::to_string(shaped.value(shaped.outputs()[0]).type) == "f32[4,5]");
    const ir::Graph like = random_graph("y = " + name + "Like(x)");
    CHECK(ir::to_string(like.value(like.outputs()[0]).type) == "f32[2,3]");
    // An operand of integers, with dims that only the importer knows.
    const ir::Graph sized = random_graph("s = Shape(x) y = " + name + "Like<dtype = 10>(s)");
    CHECK(outputs_of(sized).size() == 2);
    CHECK(error_of(compiler::import_onnx(onnx_model("g (float[2] x) => (float[] y) { y = " + name +
                                                    "Like<dtype = 7>(x) }"),
                                         "m.onnx"))
              .find("expected a dtype of floats, found 7") != std::string::npos);
  }
}

TEST_CASE("random numbers without a seed differ from node to node, and are the same in each run") {
  const ir::Graph graph =
      random_graph("a = RandomNormalLike(x) b = RandomNormalLike(x) y = Sub(a, b)");
  for (float difference : outputs_of(graph)) CHECK(difference != 0);
  CHECK(outputs_of(graph) == outputs_of(graph));
}

TEST_CASE("random numbers wait for an input that has elements") {
  const std::string nodes = nodes_of(
      "g (float[0,3] e, float[2] x) => (float[0,3] none, float[2] y) "
      "{ none = Identity(e) n = RandomNormal<shape = [2]>() y = Add(x, n) }");
  CHECK_THAT(nodes, Catch::Contains("%n n = Random(%x)"));
}

TEST_CASE("an own seed decides: equal seeds give equal numbers") {
  for (float difference : outputs_of(
           random_graph("a = RandomNormalLike<seed = 1.5>(x) b = RandomNormalLike<seed = 1.5>(x) "
                        "y = Sub(a, b)")))
    CHECK(difference == 0);
  for (float difference : outputs_of(
           random_graph("a = RandomNormalLike<seed = 1.5>(x) b = RandomNormalLike<seed = 2.5>(x) "
                        "y = Sub(a, b)")))
    CHECK(difference != 0);
}

TEST_CASE("random numbers keep to their attributes") {
  for (float number : outputs_of(random_graph("y = RandomUniformLike<low = 3.0, high = 3.5>(x)"))) {
    CHECK(number >= 3);
    CHECK(number <= 3.5f);
  }
  for (float number : outputs_of(random_graph("y = RandomNormalLike<mean = 8.0, scale = 0.0>(x)")))
    CHECK(number == 8);
}

}  // namespace codl::test
