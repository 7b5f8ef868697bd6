#include <cstring>

#include "compiler/interp/interpreter.h"
#include "test/passes/pass_text.h"

namespace codl::test {
namespace {

const compiler::Pass kSinkDepthToSpace[] = {{"sink_depth_to_space", compiler::sink_depth_to_space}};

std::string spaced_model(const std::string& nodes, const std::string& outputs) {
  return "g (float[1,8,2,3] x, float[1,2,4,6] z) => (" + outputs +
         ") <float one = {0.5}, float[2,1,1] c = {10, 20}, float[1,2,1,1] c4 = {10, 20}, "
         "float[1,1,4,1] rows = {1, 2, 3, 4}, float[2] s = {2, 3}, float[2] b = {5, 7}, "
         "float[2] m = {0, 1}, float[2] v = {1, 4}> { " +
         nodes + " }";
}

std::string spaced(const std::string& nodes, const std::string& outputs = "float[1,2,4,6] y") {
  return after(spaced_model(nodes, outputs), kSinkDepthToSpace);
}

// Checks that the model's outputs are the same before and after the pass.
void check_same(const std::string& nodes) {
  ir::Graph graph =
      value_of(compiler::import_onnx(onnx_model(spaced_model(nodes, "float[1,2,4,6] y")), "test"));
  std::vector<float> x(48), z(48);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13) - 6;
  const auto bytes = [](const std::vector<float>& floats) {
    compiler::Bytes copy(floats.size() * sizeof(float));
    std::memcpy(copy.data(), floats.data(), copy.size());
    return copy;
  };
  const std::vector<compiler::Bytes> inputs = {bytes(x), bytes(z)};
  const auto expected = value_of(compiler::interpret(graph, inputs));
  REQUIRE(error_of(compiler::run_passes(graph, kSinkDepthToSpace, {})) == "");
  REQUIRE(graph.nodes().back().op == OpKind::DepthToSpace);
  CHECK(value_of(compiler::interpret(graph, inputs)) == expected);
}

}  // namespace

TEST_CASE("a DepthToSpace goes behind what is elementwise, and gives what it gave") {
  for (const std::string mode : {"DCR", "CRD"}) {
    const std::string begin = "d = DepthToSpace<blocksize = 2, mode = \"" + mode + "\">(x) ";
    for (const char* nodes : {
             "y = Relu(d)",
             "y = Add(d, one)",
             "y = Mul(c, d)",
             "y = Sub(c4, d)",
             "y = BatchNormalization(d, s, b, m, v)",
             "e = Add(d, c) f = BatchNormalization(e, s, b, m, v) y = Sigmoid(f)",
         }) {
      INFO(mode << ": " << nodes);
      check_same(begin + nodes);
    }
  }
}

TEST_CASE("a DepthToSpace stays in front of what is not elementwise by channels") {
  const std::string begin = "d = DepthToSpace<blocksize = 2>(x) ";
  for (const char* nodes :
       {"y = Add(d, z)", "y = Add(d, rows)", "y = MaxPool<kernel_shape = [1, 1]>(d)"}) {
    INFO(nodes);
    const std::string text = spaced(begin + nodes);
    CHECK(text.find("DepthToSpace(%x)") != std::string::npos);
  }
  // The value has another reader.
  CHECK(spaced(begin + "y = Relu(d)", "float[1,2,4,6] y, float[1,2,4,6] d")
            .find("DepthToSpace(%x)") != std::string::npos);
}

}  // namespace codl::test
