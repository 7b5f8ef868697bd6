#include "compiler/frontend/onnx/onnx_writer.h"

#include <cmath>
#include <set>
#include <tuple>

#include "compiler/interp/interpreter.h"
#include "compiler/passes/pass_order.h"
#include "compiler/pipeline.h"
#include "test/passes/pass_text.h"
#include "test/support/graphs.h"

namespace codl::test {
namespace {

const compiler::Pass kFusions[] = {{"fold_constants", compiler::fold_constants},
                                   {"fold_batch_norm", compiler::fold_batch_norm},
                                   {"fuse_residual", compiler::fuse_residual},
                                   {"fuse_activation", compiler::fuse_activation},
                                   {"eliminate_dead", compiler::eliminate_dead}};

const compiler::Pass kOneHot[] = {{"fold_batch_norm", compiler::fold_batch_norm},
                                  {"fuse_one_hot", compiler::fuse_one_hot}};

// Returns the graph's lines without names, because the writer makes new ones.
std::string operators_of(const ir::Graph& graph) {
  std::string text;
  for (const ir::Node& node : graph.nodes())
    text += std::string(op_info(node.op).name) + " " +
            ir::to_string(graph.value(node.output).type) + "\n";
  return text;
}

// Returns its outputs for numbers between -1 and 1, and 2, 3, 2 .. where the input has integers.
std::vector<compiler::Bytes> interpreted(const ir::Graph& graph) {
  std::vector<compiler::Bytes> inputs;
  const auto append = [](compiler::Bytes& bytes, auto number) {
    const auto* first = reinterpret_cast<const uint8_t*>(&number);
    bytes.insert(bytes.end(), first, first + sizeof(number));
  };
  for (ir::ValueId id : graph.inputs()) {
    const ir::TensorType& type = graph.value(id).type;
    compiler::Bytes& bytes = inputs.emplace_back();
    for (int32_t i = 0; i < type.element_count(); ++i)
      if (type.dtype == DType::I64)
        append(bytes, int64_t{2 + i % 2});
      else if (type.dtype == DType::I32)
        append(bytes, int32_t{2 + i % 2});
      else
        append(bytes, static_cast<float>(i * 7 % 19) / 9 - 1);
  }
  return value_of(compiler::interpret(graph, inputs));
}

}  // namespace

TEST_CASE("a graph written as ONNX is the same graph when it is read") {
  for (const char* model : {R"(
    g (float[1,2,6,6] x) => (float[1,3] y) <float[4,2,3,3] w, float[4,1,3,3] d, float[144,3] m>
    { c = Conv<pads = [1, 1, 1, 1]>(x, w)
      e = Conv<pads = [1, 1, 1, 1], group = 4>(c, d)
      s = Add(e, c)
      r = HardSigmoid(s)
      l = LeakyRelu<alpha = 0.3>(r)
      shape = Constant<value_ints = [1, 144]>()
      f = Reshape(l, shape)
      y = MatMul(f, m) })",
                            R"(
    g (float[1,4,6] x) => (float[1,6,2] y, float[1,1,6] z)
    { t = Transpose<perm = [0, 2, 1]>(x)
      starts = Constant<value_ints = [3]>()
      ends = Constant<value_ints = [-100]>()
      axes = Constant<value_ints = [2]>()
      steps = Constant<value_ints = [-2]>()
      y = Slice(t, starts, ends, axes, steps)
      p = Softmax<axis = 1>(x)
      z = ReduceMax<axes = [1]>(p) })",
                            R"(
    g (float[1,3,4,4] x) => (float[1,3,4,4] y)
    <float[3] s = {1.5, -0.5, 2}, float[3] b = {0.25, 0, 1}, float[4] l = {1, 2, 3, 4}>
    { n = InstanceNormalization<epsilon = 0.01>(x, s, b)
      y = LayerNormalization(n, l) })"}) {
    ir::Graph graph = value_of(compiler::import_onnx(onnx_model(model), "test"));
    REQUIRE(error_of(compiler::run_passes(graph, kFusions, {})) == "");
    const std::string bytes = value_of(compiler::write_onnx(graph));
    ir::Graph again = value_of(compiler::import_onnx(bytes, "test"));
    REQUIRE(error_of(compiler::run_passes(again, kFusions, {})) == "");
    CHECK(operators_of(again) == operators_of(graph));
    CHECK(again.value(again.inputs()[0]).name == graph.value(graph.inputs()[0]).name);
    CHECK(again.output_name(0) == graph.output_name(0));
    std::vector<compiler::Bytes> inputs;
    for (ir::ValueId id : graph.inputs())
      inputs.emplace_back(static_cast<size_t>(graph.value(id).type.element_count()) * 4, 0x3e);
    CHECK(value_of(compiler::interpret(again, inputs)) ==
          value_of(compiler::interpret(graph, inputs)));
  }
}

TEST_CASE("a normalisation that ONNX has no operator for is written as its formula") {
  ir::Graph graph = value_of(compiler::import_onnx(
      onnx_model("g (float[1,3,4,4] x, float[3] s, float[3] b) => (float[1,3,4,4] y)"
                 "{ y = InstanceNormalization<epsilon = 0.01>(x, s, b) }"),
      "test"));
  const ir::Graph again =
      value_of(compiler::import_onnx(value_of(compiler::write_onnx(graph)), "test"));
  CHECK(operators_of(again).find("Normalize") == std::string::npos);
  std::vector<float> values;
  for (int i = 0; i < 48; ++i) values.push_back(static_cast<float>(i * i % 17) - 8);
  std::vector<compiler::Bytes> inputs;
  for (const size_t count : {48, 3, 3}) {
    const auto* first = reinterpret_cast<const uint8_t*>(values.data());
    inputs.emplace_back(first, first + count * sizeof(float));
  }
  const auto is = value_of(compiler::interpret(again, inputs));
  const auto was = value_of(compiler::interpret(graph, inputs));
  for (size_t i = 0; i < 48; ++i)
    CHECK(std::fabs(reinterpret_cast<const float*>(is[0].data())[i] -
                    reinterpret_cast<const float*>(was[0].data())[i]) < 1e-4f);
}

TEST_CASE("the activation of a normalisation is a node of its own in ONNX") {
  ir::Graph graph = value_of(compiler::import_onnx(onnx_model(R"(
    g (float[1,3,4,4] x, float[3] s) => (float[1,3,4,4] y)
    <float[3] c = {1.5, -0.5, 2}, float[3] b = {0.25, 0, 1}, float[4] l = {1, 2, 3, 4}>
    { instance = InstanceNormalization<epsilon = 0.01>(x, c, b)
      r = Relu(instance)
      layer = LayerNormalization(r, l)
      k = LeakyRelu<alpha = 0.25>(layer)
      formula = InstanceNormalization<epsilon = 0.01>(k, s, b)
      y = HardSigmoid(formula) })"),
                                                   "test"));
  const std::vector<compiler::Bytes> was = interpreted(graph);
  REQUIRE(error_of(compiler::run_passes(graph, kFusions, {})) == "");
  REQUIRE(operators_of(graph).find("Unary") == std::string::npos);
  CHECK(interpreted(graph) == was);
  const ir::Graph again =
      value_of(compiler::import_onnx(value_of(compiler::write_onnx(graph)), "test"));
  std::vector<int32_t> functions;
  for (const ir::Node& node : again.nodes())
    if (node.op == OpKind::Unary) functions.push_back(node.params.as<UnaryParams>().kind);
  for (int32_t function : {kUnaryRelu, kUnaryLeakyRelu, kUnaryHardSigmoid})
    CHECK(llvm::count(functions, function) == 1);
  const auto is = interpreted(again);
  for (size_t i = 0; i < 48; ++i)
    CHECK(std::fabs(reinterpret_cast<const float*>(is[0].data())[i] -
                    reinterpret_cast<const float*>(was[0].data())[i]) < 1e-5f);
}

TEST_CASE("recurrent networks written as ONNX give the same when they are read") {
  for (const char* model : {R"(
    g (float[3,2,4] x, int32[2] lengths) => (float[3,2,2,2] y, float[2,2,2] c)
    <float[2,8,4] w, float[2,8,2] r, float[2,16] b, float[2,2,2] h0, float[2,2,2] c0, float[2,6] p>
    { y, h, c = LSTM<hidden_size = 2, direction = "bidirectional", clip = 2.0, input_forget = 1,
                     activations = ["HardSigmoid", "Tanh", "Elu", "Sigmoid", "LeakyRelu", "Tanh"],
                     activation_alpha = [0.3, 0.7, 0.1], activation_beta = [0.4]>
                (x, w, r, b, lengths, h0, c0, p) })",
                            R"(
    g (float[3,2,4] x) => (float[3,1,2,2] y, float[1,2,2] h)
    <float[1,6,4] w, float[1,6,2] r, float[1,12] b>
    { y, h = GRU<hidden_size = 2, direction = "reverse", linear_before_reset = 1>(x, w, r, b) })",
                            R"(
    g (float[3,2,4] x) => (float[1,2,2] h) <float[1,2,4] w, float[1,2,2] r, float[1,2,2] h0>
    { y, h = RNN<hidden_size = 2>(x, w, r, , , h0) })"}) {
    CAPTURE(model);
    ir::Graph graph = value_of(compiler::import_onnx(onnx_model(model), "test"));
    const ir::Graph again =
        value_of(compiler::import_onnx(value_of(compiler::write_onnx(graph)), "test"));
    CHECK(interpreted(again) == interpreted(graph));
  }
}

TEST_CASE("bounds of integers are integers when they are written as ONNX") {
  ir::Graph graph = value_of(compiler::import_onnx(
      onnx_model("g (int64[4,1] x) => (float[4,2] y) <int64[1,3] places = {0, 1, 2}, float[3,2] w>"
                 "{ h = Equal(x, places) f = Cast<to = 1>(h) y = MatMul(f, w) }"),
      "test"));
  REQUIRE(error_of(compiler::run_passes(graph, kFusions, {})) == "");
  REQUIRE(error_of(compiler::run_passes(graph, kOneHot, {})) == "");
  REQUIRE(ir::print(graph).find("{kind=Clip") != std::string::npos);
  const ir::Graph again =
      value_of(compiler::import_onnx(value_of(compiler::write_onnx(graph)), "test"));
  CHECK(interpreted(again) == interpreted(graph));
}

TEST_CASE("an output that has an input's name, or another output's, is written once") {
  for (const char* model : {"g (float[2,3] p) => (float[2,3] p) { r = Relu(p) }",
                            "g (float[2,3] x) => (float[2,3] y, float[2,3] y) { y = Relu(x) }",
                            "g (float[2,3] x) => (float[2,3] y, float[2,3] z)"
                            "{ y = Relu(x) z = Identity(y) }"}) {
    CAPTURE(model);
    const ir::Graph graph = value_of(compiler::import_onnx(onnx_model(model), "test"));
    const std::string bytes = value_of(compiler::write_onnx(graph));
    onnx::ModelProto written;
    REQUIRE(written.ParseFromString(bytes));
    std::set<std::string> names;
    for (const auto& input : written.graph().input()) CHECK(names.insert(input.name()).second);
    for (const auto& node : written.graph().node())
      for (const auto& output : node.output()) CHECK(names.insert(output).second);
    for (const auto& output : written.graph().output()) CHECK(names.count(output.name()) == 1);
    const ir::Graph again = value_of(compiler::import_onnx(bytes, "test"));
    CHECK(interpreted(again) == interpreted(graph));
  }
}

TEST_CASE("outputs whose dims a run computes are written with them") {
  const ir::Graph graph = value_of(compiler::import_onnx(
      onnx_model("g (float[6,4] x, int64[1] n) => (float[m,4] y, float[6,4] z)"
                 "{ from = Constant<value_ints = [0]>() y = Slice(x, from, n) z = Relu(x) }"),
      "test"));
  REQUIRE(graph.extents().size() == 1);
  const ir::Graph again =
      value_of(compiler::import_onnx(value_of(compiler::write_onnx(graph)), "test"));
  REQUIRE(again.extents().size() == 1);
  CHECK(again.outputs().size() == graph.outputs().size());
  CHECK(again.output_name(0) == "y");
  const auto is = interpreted(again), was = interpreted(graph);
  CHECK(is[2] == was[2]);  // 2 of the 6 rows
  CHECK(llvm::ArrayRef<uint8_t>(is[0]).take_front(32) ==
        llvm::ArrayRef<uint8_t>(was[0]).take_front(32));
  CHECK(is[1] == was[1]);
}

TEST_CASE("a reduction over no axis is none when it is written as ONNX") {
  for (const char* kind : {"ReduceSum", "ReduceMax", "ReduceL1", "ReduceLogSumExp"}) {
    CAPTURE(kind);
    const ir::Graph graph = value_of(compiler::import_onnx(
        onnx_model(("g (float[3,2] x) => (float[3,2] y) { y = " + std::string(kind) +
                    "<noop_with_empty_axes = 1>(x) }")
                       .c_str(),
                   18),
        "test"));
    const ir::Graph again =
        value_of(compiler::import_onnx(value_of(compiler::write_onnx(graph)), "test"));
    CHECK(interpreted(again) == interpreted(graph));
  }
}

TEST_CASE("a pooling that rounds nothing up is written without") {
  for (const auto& [dims, rows, is_ceil] :
       {std::tuple("float[1,1,2,2]", 1, 0), std::tuple("float[1,1,4,4]", 2, 1)}) {
    const ir::Graph graph = value_of(compiler::import_onnx(
        onnx_model(("g (" + std::string(dims) +
                    " x) => (float[1,1,h,w] y)"
                    "{ y = MaxPool<kernel_shape = [" +
                    (is_ceil ? "3, 3" : "1, 1") + "], strides = [2, 2], ceil_mode = 1>(x) }")
                       .c_str()),
        "test"));
    REQUIRE(graph.value(graph.outputs()[0]).type.dims[2] == rows);
    onnx::ModelProto written;
    REQUIRE(written.ParseFromString(value_of(compiler::write_onnx(graph))));
    for (const auto& attribute : written.graph().node(0).attribute())
      if (attribute.name() == "ceil_mode") CHECK(attribute.i() == is_ceil);
  }
}

TEST_CASE("operators that opset 20 has for other types only are named") {
  for (const auto& [model, name] :
       {std::pair("g (int32[4] x, int32[4] n) => (int32[4] y)"
                  "{ y = BitShift<direction = \"LEFT\">(x, n) }",
                  "Binary"),
        std::pair("g (float[4] x, float[4] n) => (float[4] y) { y = Mod<fmod = 0>(x, n) }",
                  "Binary")}) {
    CAPTURE(model);
    const ir::Graph graph = value_of(compiler::import_onnx(onnx_model(model, 28), "test"));
    const std::string error = error_of(compiler::write_onnx(graph).takeError());
    CHECK(error.find(name) != std::string::npos);
  }
}

TEST_CASE("operators that no rule writes are named") {
  ir::Graph graph = value_of(compiler::import_onnx(
      onnx_model("g (float[4] x) => (int64[1,n] y) { y = NonZero(x) }"), "test"));
  const std::string error = error_of(compiler::write_onnx(graph).takeError());
  CHECK(error.rfind("--emit-onnx: expected operators that can be written, found NonZero", 0) == 0);
}

TEST_CASE("operators that no rule writes are found before a search") {
  const compiler::DeviceProfile profile = test_profile(Sharing::FineSvm);
  compiler::CompileOptions options;
  options.shrink.prune = compiler::ShrinkRatio{true, 0};  // a search, which nothing is known for
  options.emits_onnx = true;
  const auto compile = [&](const char* model) {
    return error_of(compiler::compile(onnx_model(model), "test", profile, options).takeError());
  };
  CHECK(compile("g (float[4,8] x) => (float[4,8] y) <float[8,8] w>"
                "{ m = MatMul(x, w) y = HardSigmoid(m) }")
            .find("--calibration: expected a folder") == 0);
  CHECK(compile("g (float[4,8] x) => (int64[2,n] y) <float[8,8] w>"
                "{ m = MatMul(x, w) y = NonZero(m) }") ==
        "--emit-onnx: expected operators that can be written, found NonZero");
}

TEST_CASE("what was quantised is written as quantised") {
  ir::Graph graph = value_of(compiler::import_onnx(onnx_model(R"(
    g (float[1,2,6,6] x) => (float[1,3] y)
    <float s = {0.25}, uint8 z = {3}, int8 i = {-5}, float[4] t = {0.5, 0.25, 1, 2}, int8[4] zeros = {0, 0, 0, 0}, int8[4,2,1,1] w = {1, -127, 5, 6, 7, 8, 127, 3},
     float[3] u = {0.5, 0.25, 1}, int8[3] nulls = {0, 0, 0}, float[144,3] m>
    { q = QuantizeLinear(x, s, z)
      d = DequantizeLinear(q, s, z)
      k = DequantizeLinear<axis = 0>(w, t, zeros)
      c = Conv(d, k)
      e = QuantizeLinear(c, s, i)
      f = DequantizeLinear(e, s, i)
      shape = Constant<value_ints = [1, 144]>()
      flat = Reshape(f, shape)
      n = QuantizeLinear<axis = 1>(m, u, nulls)
      o = DequantizeLinear<axis = 1>(n, u, nulls)
      y = MatMul(flat, o) })"),
                                                   "test"));
  REQUIRE(error_of(compiler::run_passes(graph, compiler::fusion_passes(), {})) == "");
  REQUIRE(error_of(compiler::find_grids(graph)) == "");
  const std::string written = value_of(compiler::write_onnx(graph));
  for (const char* name : {"QuantizeLinear", "DequantizeLinear", ".int8", ".scale"})
    CHECK(written.find(name) != std::string::npos);
  CHECK(written.find("Round") == std::string::npos);
  ir::Graph again = value_of(compiler::import_onnx(written, "test"));
  REQUIRE(error_of(compiler::run_passes(again, compiler::fusion_passes(), {})) == "");
  REQUIRE(error_of(compiler::find_grids(again)) == "");
  CHECK(operators_of(again) == operators_of(graph));
  CHECK(interpreted(again) == interpreted(graph));
  for (const ir::Graph* each : {&graph, &again})
    CHECK(llvm::count_if(each->values(),
                         [](const ir::Value& value) { return value.has_channel_grids; }) == 2);
}

}  // namespace codl::test
