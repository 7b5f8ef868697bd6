// If, Loop and functions: what is left of them in a graph.
#include "test/compiler/frontend/import_text.h"

namespace codl::test {
namespace {

// A whole model in ONNX's syntax: functions stand behind the graph.
std::string model_bytes(const std::string& text) {
  return parse_onnx_text(text).SerializeAsString();
}

std::string nodes_of_model(const std::string& text) {
  const ir::Graph graph = value_of(compiler::import_onnx(model_bytes(text), "m.onnx"));
  REQUIRE(error_of(ir::verify(graph, "import")) == "");
  std::string nodes;
  std::istringstream lines(ir::print(graph));
  for (std::string line; std::getline(lines, line);)
    if (line[0] == '%') nodes += line + "\n";
  return nodes;
}

std::string error_of_model(const std::string& text) {
  return error_of(compiler::import_onnx(model_bytes(text), "m.onnx"));
}

const std::string kBranches =
    " <then_branch = a () => (float[2] p) { p = Relu(x) }, "
    "else_branch = b () => (float[2] p) { q = Tanh(x) p = Sigmoid(q) }>(c) }";

}  // namespace

TEST_CASE("If: a constant condition leaves one branch") {
  CHECK(nodes_of("g (float[2] x) => (float[2] y) <bool c = {1}> { y = If" + kBranches) ==
        "%y y/p = Unary(%x) {kind=Relu} : f32[2]\n");
  CHECK(nodes_of("g (float[2] x) => (float[2] y) <bool c = {0}> { y = If" + kBranches) ==
        "%y/q y/q = Unary(%x) {kind=Tanh} : f32[2]\n"
        "%y y/p = Unary(%y/q) {kind=Sigmoid} : f32[2]\n");
}

TEST_CASE("If: a condition from shape arithmetic is constant") {
  CHECK(nodes_of("g (float[2] x) => (float[2] y) { s = Shape(x) two = Constant<value_ints = [2]>() "
                 "c = Equal(s, two) y = If" +
                 kBranches)
            .find("kind=Relu") != std::string::npos);
}

TEST_CASE("If: both branches run where the condition is computed") {
  const ir::Graph graph =
      import_text("g (float[2] x, bool c) => (float[2] y) { y = If" + kBranches);
  const auto bytes = [](const std::vector<float>& elements) {
    const auto* first = reinterpret_cast<const uint8_t*>(elements.data());
    return compiler::Bytes(first, first + elements.size() * sizeof(float));
  };
  const auto outputs = value_of(compiler::interpret(graph, {bytes({-1, 3}), {1}}));
  CHECK(outputs[0] == bytes({0, 3}));
  CHECK(import_error("g (float[2] x, bool c) => (float[] y) { y = If"
                     "<then_branch = a () => (float[2] p) { p = Relu(x) }, "
                     "else_branch = b () => (float[4] p) { p = Concat<axis = 0>(x, x) }>(c) }")
            .find("expected a constant condition, or branches of one type") != std::string::npos);
}

TEST_CASE("Loop: a known number of trips is written out") {
  const std::string loop =
      "g (float[2] x) => (float[2] y, float[3,2] all) <int64 n = {3}, bool go = {1}> "
      "{ y, all = Loop<body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w, float[2] r) "
      "{ d = Identity(c) w = Add(v, x) r = Identity(v) }>(n, go, x) }";
  CHECK(computed(loop, {1, 10}) == std::vector<float>{4, 40});
  CHECK(import_error("g (float[2] x, int64 n) => (float[2] y) { y = Loop<body = b (int64 i, bool "
                     "c, float[2] v) => (bool d, float[2] w) { d = Identity(c) w = Add(v, x) }>"
                     "(n, , x) }")
            .find("expected a constant as input 0 ('n')") != std::string::npos);
}

TEST_CASE("functions are written out where they are called") {
  const std::string head = "<ir_version: 8, opset_import: [\"\": 13, \"f\": 1]>\n";
  CHECK(nodes_of_model(head + R"(g (float[2] x) => (float[2] y) { a = f.twice(x) y = f.twice(a) }
    <domain: "f", opset_import: ["": 13]> twice (v) => (w) { t = Relu(v) w = Add(t, v) })") ==
        "%a/t a/t = Unary(%x) {kind=Relu} : f32[2]\n"
        "%a a/w = Binary(%a/t, %x) {kind=Add} : f32[2]\n"
        "%y/t y/t = Unary(%a) {kind=Relu} : f32[2]\n"
        "%y y/w = Binary(%y/t, %a) {kind=Add} : f32[2]\n");
}

TEST_CASE("functions call functions, and take attributes from the call") {
  const std::string head = "<ir_version: 8, opset_import: [\"\": 13, \"f\": 1]>\n";
  CHECK(nodes_of_model(head + R"(g (float[2] x) => (float[2] y) { y = f.outer<slope = 0.5>(x) }
    <domain: "f", opset_import: ["": 13, "f": 1]> outer <slope> (v) => (w)
    { w = f.inner<alpha: float = @slope>(v) }
    <domain: "f", opset_import: ["": 13]> inner <alpha> (v) => (w)
    { w = LeakyRelu<alpha: float = @alpha>(v) })") ==
        "%y y/w/w = Unary(%x) {kind=LeakyRelu, alpha=0.5} : f32[2]\n");
}

TEST_CASE("functions that do not end") {
  const std::string head = "<ir_version: 8, opset_import: [\"\": 13, \"f\": 1]>\n";
  CHECK(error_of_model(head + R"(g (float[2] x) => (float[2] y) { y = f.a(x) }
    <domain: "f", opset_import: ["f": 1]> a (v) => (w) { w = f.b(v) }
    <domain: "f", opset_import: ["f": 1]> b (v) => (w) { w = f.a(v) })") ==
        "y/w/w: expected functions that do not call themselves, found 'a'");
  // 2^20 nodes in twenty functions.
  std::string doubling = head + "g (float[2] x) => (float[2] y) { y = f.f0(x) }\n";
  for (int i = 0; i < 20; ++i) {
    const std::string next = i == 19 ? "Relu" : "f.f" + std::to_string(i + 1);
    doubling += "<domain: \"f\", opset_import: [\"\": 13, \"f\": 1]> f" + std::to_string(i) +
                " (v) => (w) { t = " + next + "(v) w = " + next + "(t) }\n";
  }
  CHECK(error_of_model(doubling).find("once written out, found more") != std::string::npos);
}

}  // namespace codl::test
