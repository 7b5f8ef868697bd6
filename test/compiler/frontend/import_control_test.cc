// Tests what remains of If, Loop and functions in a graph.
#include "compiler/support/error.h"
#include "llvm/Support/raw_ostream.h"
#include "test/compiler/frontend/import_text.h"

namespace codl::test {
namespace {

// Reads a whole model in ONNX's syntax: functions come after the graph.
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

namespace {

// One branch takes 4 elements, the other 2: they fit inputs of other lengths.
const std::string kLengths =
    "If<then_branch = a () => (float[1,1] p) { d = Constant<value_ints = [1, 4]>() "
    "r = Reshape(x, d) p = ReduceMax<axes = [1]>(r) }, "
    "else_branch = b () => (float[1,1] p) { d = Constant<value_ints = [1, 2]>() "
    "r = Reshape(x, d) p = ReduceMin<axes = [1]>(r) }>";
const std::string kByRate = "{ c = Equal(sr, k) y = " + kLengths + "(c) }";
const std::string kRateModel =
    "g (float[1,n] x, int64 sr) => (float[1,1] y) <int64 k = {16000}> " + kByRate;

compiler::ImportOptions rate_options(int64_t length, const std::string& rate) {
  compiler::ImportOptions options;
  options.input_shapes["x"] = {1, length};
  if (!rate.empty()) options.input_values["sr"] = {rate};
  return options;
}

}  // namespace

TEST_CASE("If: branches that do not both fit ask for the value that decides") {
  const auto error = [](int64_t length) {
    auto graph = compiler::import_onnx(onnx_model(kRateModel), "m.onnx", rate_options(length, ""));
    REQUIRE(!graph);
    std::string text;
    llvm::raw_string_ostream os(text);
    CHECK(compiler::report_error(graph.takeError(), os) == 2);
    return os.str();
  };
  CHECK(error(4) ==
        "m.onnx: expected a model of operators that codl imports (codlc --list-ops), found If "
        "(opset 13) [y]: expected a constant condition, or branches that both fit, found in "
        "else_branch 'y/r': expected 4 elements, found 2 (--input-value=sr:VALUE fixes it)\n");
  CHECK(error(2).find("in then_branch 'y/r': expected 2 elements, found 4 "
                      "(--input-value=sr:VALUE fixes it)") != std::string::npos);
  // Only the right branch remains, for either rate.
  for (const auto& [length, rate, op] :
       {std::tuple{4, "16000", "ReduceMax"}, std::tuple{2, "8000", "ReduceMin"}}) {
    const ir::Graph graph = value_of(
        compiler::import_onnx(onnx_model(kRateModel), "m.onnx", rate_options(length, rate)));
    REQUIRE(graph.inputs().size() == 1);
    CHECK(ir::print(graph).find("Where") == std::string::npos);
    CHECK(ir::print(graph).find(op == std::string("ReduceMax") ? "kind=Max" : "kind=Min") !=
          std::string::npos);
  }
  // With this length, the wrong rate is the model's error.
  CHECK(
      error_of(compiler::import_onnx(onnx_model(kRateModel), "m.onnx", rate_options(4, "8000"))) ==
      "y/r: expected 4 elements, found 2");
  // The branches have two shapes; a value decides other things, too.
  CHECK(import_error("g (float[2] x, bool c) => (float[] y) { n = Not(c) y = If"
                     "<then_branch = a () => (float[2] p) { p = Relu(x) }, "
                     "else_branch = b () => (float[4] p) { p = Concat<axis = 0>(x, x) }>(n) }")
            .find("f32[2] and f32[4] (--input-value=c:VALUE fixes it)") != std::string::npos);
  CHECK(import_error("g (float[2] x, int64[2] s, int64[1] t) => (float[] y) "
                     "{ u = Mul(s, t) y = Reshape(x, u) }")
            .find("(--input-value=t:VALUE and --input-value=s:VALUE,... fixes it)") !=
        std::string::npos);
  // Data does not count as a setting.
  CHECK(import_error("g (float[2] x, float[1000] s) => (float[] y) "
                     "{ u = Cast<to = 7>(s) y = Reshape(x, u) }")
            .find("--input-value") == std::string::npos);
}

TEST_CASE("If: inlined wherever the condition becomes constant") {
  const auto has_where = [](const std::string& text, const compiler::ImportOptions& options = {}) {
    const ir::Graph graph = value_of(compiler::import_onnx(onnx_model(text), "m.onnx", options));
    REQUIRE(error_of(ir::verify(graph, "import")) == "");
    return ir::print(graph).find("Where") != std::string::npos;
  };
  const std::string relu_or_tanh =
      "If<then_branch = a () => (float[2] p) { p = Relu(x) }, "
      "else_branch = b () => (float[2] p) { p = Tanh(x) }>(c) ";
  const std::string sr = "g (float[2] x, int64 sr) => (float[2] y) <int64 k = {16000}> ";
  // The condition is computed: directly, through arithmetic, or in a body that reads it from
  // outside.
  CHECK(has_where(sr + "{ c = Equal(sr, k) y = " + relu_or_tanh + "}"));
  for (const std::string condition :
       {"c = Equal(sr, k) ", "m = Mul(sr, sr) d = Div(m, k) c = Greater(d, sr) ",
        "f = Cast<to = 1>(sr) s = Sqrt(f) l = Cast<to = 7>(s) c = Less(l, k) "})
    CHECK(!has_where(sr + "{ " + condition + "y = " + relu_or_tanh + "}", [] {
      compiler::ImportOptions options;
      options.input_values["sr"] = {"16000"};
      return options;
    }()));
  // The condition stands inside a branch of a computed one.
  const ir::Graph nested = import_text(
      "g (float[2] x, bool o) => (float[2] y) <bool c = {0}> "
      "{ y = If<then_branch = a () => (float[2] q) { q = " +
      relu_or_tanh +
      "}, "
      "else_branch = b () => (float[2] q) { q = Neg(x) }>(o) }");
  CHECK(ir::print(nested).find("kind=Tanh") != std::string::npos);
  CHECK(ir::print(nested).find("kind=Relu") == std::string::npos);
  // A Loop's trip decides, and the branches have different shapes.
  CHECK(computed("g (float[2] x) => (float[4] y) <int64 n = {3}, bool go = {1}, int64 two = {2}> "
                 "{ y = Loop<body = l (int64 i, bool g, float[m] v) => (bool d, float[o] w) "
                 "{ d = Identity(g) last = Equal(i, two) "
                 "w = If<then_branch = a () => (float[4] p) { p = Concat<axis = 0>(v, v) }, "
                 "else_branch = b () => (float[2] p) { p = Add(v, v) }>(last) }>(n, go, x) }",
                 {1, 10}) == std::vector<float>{4, 40, 4, 40});
  // A Loop inside a branch has a trip count that a value gives.
  compiler::ImportOptions trips;
  trips.input_values["n"] = {"2"};
  CHECK(
      !has_where("g (float[2] x, int64 n) => (float[2] y) <bool go = {1}, int64 one = {1}> "
                 "{ c = Greater(n, one) y = If<then_branch = a () => (float[2] p) { p = "
                 "Loop<body = l (int64 i, bool g, float[2] v) => (bool d, float[2] w) "
                 "{ d = Identity(g) w = Add(v, v) }>(n, go, x) }, "
                 "else_branch = b () => (float[1] p) { p = ReduceMax(x) }>(c) }",
                 trips));
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

TEST_CASE("Loop: conditions are constant per trip; bodies hold If") {
  // v doubles until the trip is 3.
  const std::string loop =
      "g (float[1] x) => (float[] all) <int64 n = {100}, bool go = {1}> "
      "{ y, all = Loop<body = b (int64 i, bool c, float[1] v) => (bool d, float[1] w, float[1] r) "
      "{ three = Constant<value_int = 3>() d = Less(i, three) two = Constant<value_int = 2>() "
      "e = Equal(i, two) w = If<then_branch = t () => (float[1] p) { p = Neg(v) }, "
      "else_branch = f () => (float[1] q) { q = Add(v, v) }>(e) r = Identity(w) }>(n, go, x) }";
  CHECK(computed(loop, {1}) == std::vector<float>{2, 4, -4, -8});
  CHECK(import_error("g (float[1] x) => (float[] y) <int64 n = {9000000000000000000}, bool go = "
                     "{1}> { y = Loop<body = "
                     "b (int64 i, bool c, float[1] v) => (bool d, float[1] w) { d = Identity(c) "
                     "w = Add(v, v) }>(n, go, x) }")
            .find("expected at most 1024 trips, found more") != std::string::npos);
}

TEST_CASE("Loop and Scan without a trip: values as they came, scan outputs without elements") {
  // Outputs with a declared and with an inferred shape have 0 elements along the first axis.
  const auto loop = [](const std::string& head, const std::string& type) {
    return "g (float[2,3] x) => (float[2,3] y, float[] all) <" + head + "> " +
           "{ y, all = Loop<body = b (int64 i, bool c, float[2,3] v) => (bool d, float[2,3] w, " +
           type + " r) { d = Identity(c) w = Add(v, x) r = Transpose(v) }>(n, go, x) }";
  };
  for (const char* head : {"int64 n = {0}, bool go = {1}", "int64 n = {-2}, bool go = {1}",
                           "int64 n = {5}, bool go = {0}"})
    for (const char* type : {"float[3,2]", "float[N,2]", "float[]"}) {
      const ir::Graph graph = import_text(loop(head, type));
      CHECK(ir::to_string(graph.value(graph.outputs()[1]).type).find(",3,2]") != std::string::npos);
    }
  CHECK(computed(loop("int64 n = {0}, bool go = {1}", "float[]"), {1, 2, 3, 4, 5, 6}) ==
        std::vector<float>{1, 2, 3, 4, 5, 6});
  // The body only fits a trip that is made.
  CHECK(import_error("g (float[2] x) => (float[] all) <int64 n = {0}, bool go = {1}, float[3] t> "
                     "{ all = Loop<body = b (int64 i, bool c) => (bool d, float[N] r) "
                     "{ d = Identity(c) r = Add(x, t) }>(n, go) }")
            .find("expected a body that declares the dims of its output 1, or can be imported") !=
        std::string::npos);
  const ir::Graph scan = import_text(
      "g (float[2] x, float[4,0] s) => (float[2] y, float[] all) { y, all = Scan<num_scan_inputs = "
      "1, scan_input_axes = [1], scan_output_axes = [-1], body = b (float[2] v, float[4] e) => "
      "(float[2] w, float[M] r) { w = Neg(v) r = Add(e, e) }>(x, s) }");
  CHECK(ir::to_string(scan.value(scan.outputs()[1]).type).find("f32[4,") != std::string::npos);
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
  // Twenty functions make 2^20 nodes.
  std::string doubling = head + "g (float[2] x) => (float[2] y) { y = f.f0(x) }\n";
  for (int i = 0; i < 20; ++i) {
    const std::string next = i == 19 ? "Relu" : "f.f" + std::to_string(i + 1);
    doubling += "<domain: \"f\", opset_import: [\"\": 13, \"f\": 1]> f" + std::to_string(i) +
                " (v) => (w) { t = " + next + "(v) w = " + next + "(t) }\n";
  }
  CHECK(error_of_model(doubling).find("once written out, found more") != std::string::npos);
}

}  // namespace codl::test
