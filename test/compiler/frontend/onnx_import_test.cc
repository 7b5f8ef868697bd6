// Tests models that are wrong, not supported or hostile: each gives one clear error, never a crash.
#include <functional>

#include "compiler/frontend/graph/importer.h"
#include "compiler/support/error.h"
#include "llvm/Support/raw_ostream.h"
#include "test/compiler/frontend/import_text.h"

namespace codl::test {
namespace {

constexpr int kInput = 1;  // exit codes
constexpr int kUnsupported = 2;

struct Outcome {
  int exit_code = 0;
  std::string text;
};

Outcome import_bytes(const std::string& bytes) {
  auto graph = compiler::import_onnx(bytes, "m.onnx");
  if (graph) return {0, error_of(ir::verify(*graph, "import"))};
  std::string text;
  llvm::raw_string_ostream os(text);
  const int exit_code = compiler::report_error(graph.takeError(), os);
  os.flush();
  text.pop_back();  // the line's end
  return {exit_code, text};
}

Outcome import_edited(const std::string& text, const std::function<void(onnx::ModelProto&)>& edit) {
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(onnx_model(text)));
  edit(model);
  return import_bytes(model.SerializeAsString());
}

const std::string kConv =
    "g (float[1,2,4,4] x) => (float[1,3,4,4] y) <float[3,2,1,1] w> "
    "{ c = Conv(x, w) y = Relu(c) }";

void check(const Outcome& found, int exit_code, const std::string& text) {
  CHECK(found.text == text);
  CHECK(found.exit_code == exit_code);
}

}  // namespace

TEST_CASE("bytes that are no model") {
  check(import_bytes(""), kInput, "m.onnx: expected an ONNX model, found no graph");
  check(import_bytes("not a model"), kInput,
        "m.onnx: expected an ONNX model, found 11 bytes of another format or of a file that is cut "
        "off");
  const std::string model = onnx_model(kConv);
  CHECK(import_bytes(model).exit_code == 0);
  for (size_t size = 0; size < model.size(); ++size)
    CHECK(import_bytes(model.substr(0, size)).exit_code != 0);
}

TEST_CASE("single changed bytes never crash the importer") {
  const std::string model = onnx_model(kConv);
  for (size_t i = 0; i < model.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = model;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      const Outcome found = import_bytes(changed);
      // Accepted models make good graphs; nothing is an internal error.
      CHECK((found.exit_code == 0 ? found.text.empty() : found.exit_code <= kUnsupported));
    }
}

TEST_CASE("opsets: as old as the rules say, as new as there are") {
  check(import_bytes(onnx_model(kConv, 4)), kUnsupported,
        "m.onnx: expected a model of operators that codl imports (codlc --list-ops), found Relu "
        "(opset 4) [y]: not imported at this opset");
  for (int opset : {6, 7, 18, 28}) CHECK(import_bytes(onnx_model(kConv, opset)).exit_code == 0);
  check(import_edited(kConv, [](auto& model) { model.clear_opset_import(); }), kInput,
        "m.onnx: expected an opset of the ONNX domain, found none");
  std::vector<std::string> notes;
  value_of(compiler::import_onnx(onnx_model(kConv, 40), "m.onnx", {}, &notes));
  CHECK(notes ==
        std::vector<std::string>{"opset 40 is newer than 28: operators are read as in 28"});
}

TEST_CASE("opsets of domains that nothing uses do no harm; ai.onnx is ONNX's own") {
  const Outcome found = import_edited(kConv, [](auto& model) {
    model.mutable_opset_import(0)->set_domain("ai.onnx");
    auto* other = model.add_opset_import();
    other->set_domain("com.example");
    other->set_version(3);
  });
  CHECK(found.exit_code == 0);
  check(import_edited(kConv,
                      [](auto& model) {
                        *model.add_opset_import() = model.opset_import(0);
                        model.mutable_opset_import(1)->set_version(9);
                      }),
        kInput, "m.onnx: expected one opset of domain '', found 13 and 9");
}

TEST_CASE("everything that is not supported is listed at once, by reason") {
  check(import_bytes(onnx_model(R"(
          g (float[1,2,4,4] x, string[2] names) => (float[] y) <float[1,1,3] w>
          { a = Odder(x)
            b = Relu(a)
            c = Odder(b)
            e = com.example.Odd(x)
            r = Relu<slope = 2>(x)
            dead = Oddest(x)
            y = Sum(c, e, r) })")),
        kUnsupported,
        "m.onnx: expected a model of operators that codl imports (codlc --list-ops), found "
        "input [names]: data type STRING; "
        "Odder (opset 13) [a, c]: operator not imported; "
        "com.example.Odd (opset 0) [e]: expected an operator of the ONNX domain or a function of "
        "the model, "
        "found domain 'com.example'; "
        "Relu (opset 13) [r]: expected attributes of the operator, found 'slope'");
}

TEST_CASE("attributes and operands that are valid and not supported") {
  auto reason = [](const std::string& graph, int opset = 13) {
    const Outcome found = import_bytes(onnx_model(graph, opset));
    CHECK(found.exit_code == kUnsupported);
    const size_t at = found.text.rfind("]: ");
    return at == std::string::npos ? found.text : found.text.substr(at + 3);
  };
  CHECK(reason("g (float[2] x) => (float[2] y) <float r = {0.5}, bool t = {1}> "
               "{ y = Dropout(x, r, t) }") == "expected training_mode false, found true");
  CHECK(reason("g (float[1,1,1,1,1,1,1,1] x) => (float[] y) { y = Unsqueeze<axes = [0]>(x) }",
               11) == "expected rank <= 8, found 9");
  CHECK(reason("g (float[65536,1] x) => (float[] y) <float[1,65536] k> { y = Add(x, k) }") ==
        "expected at most 1073741824 elements, found more");
}

TEST_CASE("more nodes than any network has are refused, with this one reason") {
  // Sum becomes one addition fewer than it has operands; the node after it would be the last.
  auto sum_of = [](size_t operand_count) {
    std::string operands = "x";
    for (size_t i = 1; i < operand_count; ++i) operands += ", x";
    return import_bytes(
        onnx_model("g (float[1] x) => (float[1] y) { s = Sum(" + operands + ") y = Erf(s) }"));
  };
  CHECK(sum_of(compiler::Importer::kMaxNodes - 2).exit_code == 0);
  check(sum_of(compiler::Importer::kMaxNodes + 1), kUnsupported,
        "s: expected fewer than 16384 nodes once written out, found more");
}

TEST_CASE("a constant that many nodes read at a higher rank is one constant more") {
  const ir::Graph graph = import_text(
      "g (float[1,1,4] x) => (float[1,1,4] y) <float[4] w> "
      "{ a = Add(x, w) b = Mul(w, a) y = Sub(b, w) }");
  size_t constants = 0;
  for (const ir::Value& value : graph.values()) constants += value.is_constant;
  CHECK(constants == 2);
}

TEST_CASE("weights in the body of a Loop count for what its trips take") {
  const std::string graph =
      "g (float[262144] x) => (float[262144] y) <int64 n = {COUNT}, bool go = {1}> { y = "
      "Loop<body = b (int64 i, bool c, float[262144] v) => (bool d, float[262144] w) "
      "{ d = Identity(c) w = Add(v, k) }>(n, go, x) }";
  const auto import_trips = [&](const std::string& count) {
    std::string text = graph;
    text.replace(text.find("COUNT"), 5, count);
    return import_edited(text, [](onnx::ModelProto& model) {
      onnx::GraphProto& body =
          *model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g();
      onnx::TensorProto& weights = *body.add_initializer();
      weights.set_name("k");
      weights.set_data_type(onnx::TensorProto::FLOAT);
      weights.add_dims(262144);
      weights.set_raw_data(std::string(1 << 20, '\0'));
    });
  };
  CHECK(import_trips("2").exit_code == 0);
  const Outcome found = import_trips("1000");
  CHECK(found.exit_code == kUnsupported);
  CHECK(found.text.find("268435456 bytes once written out, found more") != std::string::npos);
}

TEST_CASE("an initializer that is an input too is a constant") {
  const Outcome found = import_edited(kConv, [](auto& model) {
    auto* input = model.mutable_graph()->add_input();
    *input = model.graph().input(0);
    input->set_name("w");
  });
  CHECK(found.exit_code == 0);
}

TEST_CASE("inputs need a type") {
  check(import_edited(kConv,
                      [](auto& model) { model.mutable_graph()->mutable_input(0)->clear_type(); }),
        kInput, "input 'x': expected a type with a shape, found none");
  const Outcome sequence = import_edited(kConv, [](auto& model) {
    auto* type = model.mutable_graph()->mutable_input(0)->mutable_type();
    auto* element = type->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type();
    element->set_elem_type(onnx::TensorProto::FLOAT);
  });
  check(sequence, kUnsupported,
        "m.onnx: expected a model of operators that codl imports (codlc --list-ops), found input "
        "[x]: a sequence, not a tensor");
}

TEST_CASE("outputs are what the model declares") {
  check(import_bytes(onnx_model("g (float[2] x) => (int64[2] y) { y = Relu(x) }")), kInput,
        "output 'y': expected the declared type i64, computed f32[2]");
  CHECK(import_bytes(onnx_model("g (float[2] x) => (float[N] y) { y = Relu(x) }")).exit_code == 0);
}

TEST_CASE("declared dims that are not those computed: one note, and the computed hold") {
  const auto notes_of = [](const std::string& text,
                           const std::function<void(onnx::GraphProto&)>& edit = {}) {
    onnx::ModelProto model;
    REQUIRE(model.ParseFromString(onnx_model(text)));
    if (edit) edit(*model.mutable_graph());
    std::vector<std::string> notes;
    const ir::Graph graph =
        value_of(compiler::import_onnx(model.SerializeAsString(), "m.onnx", {}, &notes));
    CHECK(graph.value(graph.outputs()[0]).type.dims == ir::Dims{2, 3});
    return notes;
  };
  const std::string note = "declared dims that are not those computed, which hold: ";
  const std::string relu = " { t = Neg(x) y = Relu(t) }";
  using Notes = std::vector<std::string>;
  CHECK(notes_of("g (float[2,3] x) => (float[2,3] y)" + relu).empty());
  CHECK(notes_of("g (float[2,3] x) => (float[N,3] y)" + relu).empty());
  CHECK(notes_of("g (float[2,3] x) => (float[] y)" + relu).empty());  // no shape at all
  CHECK(notes_of("g (float[2,3] x) => (float[2,4] y)" + relu) ==
        Notes{note + "'y' [2,4] is [2,3]"});
  CHECK(notes_of("g (float[2,3] x) => (float[N,4] y)" + relu) ==
        Notes{note + "'y' [?,4] is [2,3]"});
  CHECK(notes_of("g (float[2,3] x) => (float[6] y)" + relu) == Notes{note + "'y' [6] is [2,3]"});
  CHECK(notes_of("g (float[2,3] x) => (float[2,3,1] y)" + relu) ==
        Notes{note + "'y' [2,3,1] is [2,3]"});
  CHECK(notes_of("g (float[2,3] x) => (float[0] y)" + relu) == Notes{note + "'y' [0] is [2,3]"});
  CHECK(notes_of("g (float[2,3] x) => (float y)" + relu) == Notes{note + "'y' [] is [2,3]"});
  // A value in between is wrong, too, and more than a line should name.
  CHECK(notes_of("g (float[2,3] x) => (float[9] y, float[9] z, float[9] w) "
                 "{ t = Neg(x) y = Relu(t) z = Abs(t) w = Sqrt(z) }",
                 [](onnx::GraphProto& graph) {
                   onnx::ValueInfoProto& info = *graph.add_value_info();
                   info = graph.output(0);
                   info.set_name("t");
                 }) ==
        Notes{note + "'y' [9] is [2,3], 'z' [9] is [2,3], 'w' [9] is [2,3], and 1 more"});
  // The first output is an input, the second a constant.
  CHECK(notes_of("g (float[2,3] x) => (float[6] x) {}") == Notes{note + "'x' [6] is [2,3]"});
  CHECK(notes_of("g (float[1] x) => (float[6] c) <float[2,3] c> {}") ==
        Notes{note + "'c' [6] is [2,3]"});
}

TEST_CASE("declared dims that do not fit where only they tell are not supported") {
  const auto refused = [](const std::string& operands, const std::string& node) {
    const Outcome found =
        import_bytes(onnx_model("g (" + operands + ") => (float[7,5] y) { " + node + " }"));
    CHECK(found.exit_code == kUnsupported);
    CHECK(found.text.find("--input-value=s:VALUE") != std::string::npos);
  };
  refused("float[6] x, int64[2] s", "y = Reshape(x, s)");
  refused("float[1,6] x, int64[2] s", "y = Expand(x, s)");
  refused("float[2,3,4] x, int64[3] s", "y = Tile(x, s)");
  refused("float[6] x, int64[2] s", "y = Pad(x, s)");
  refused("float[8] x, int64[1] s, int64[1] t", "y = Slice(x, s, t)");
  refused("float[1,3,4,4] x, float[4] s", "y = Resize(x, , s)");
  refused("int64[1] s", "y = ConstantOfShape(s)");
  const Outcome split = import_bytes(
      onnx_model("g (float[6] x, int64[2] s) => (float[2] y, float[3] z) { y, z = Split(x, s) }"));
  CHECK(split.exit_code == kUnsupported);
  CHECK(split.text.find("found: expected lengths that sum to 6, found 5 "
                        "(--input-value=s:VALUE,... fixes it)") != std::string::npos);
}

TEST_CASE("a declared dim that another flag's symbol fixes wrongly does no harm") {
  compiler::ImportOptions options;
  options.input_shapes["x"] = {1, 2};
  std::vector<std::string> notes;
  const ir::Graph graph = value_of(compiler::import_onnx(
      onnx_model("g (float[batch,2] x) => (float[batch] y) { y = Flatten<axis = 0>(x) }"), "m.onnx",
      options, &notes));
  CHECK(graph.value(graph.outputs()[0]).type.dims == ir::Dims{1, 2});
  CHECK(notes.size() == 1);
}

TEST_CASE("floats of other widths are converted at the border") {
  CHECK(nodes_of("g (bfloat16[2] x) => (float16[2] y) { y = Relu(x) }") ==
        "%x.f32 x.f32 = Cast(%x) {to=1} : f32[2]\n"
        "%y.value y = Unary(%x.f32) {kind=Relu} : f32[2]\n"
        "%y y = Cast(%y.value) {to=12} : f16[2]\n");
}

TEST_CASE("doubles stay doubles up to the first operator that computes in f32") {
  CHECK(nodes_of("g (double[2] x) => (double[2] y, double[2] z) "
                 "{ r = Relu(x) y = Softmax(r) z = Add(r, y) }") ==
        "%r r = Unary(%x) {kind=Relu} : f64[2]\n"
        "%y.cast y.cast = Cast(%r) {to=1} : f32[2]\n"
        "%y.value y = Softmax(%y.cast) : f32[2]\n"
        "%r.f32 r.f32 = Cast(%r) {to=1} : f32[2]\n"
        "%z.value z = Binary(%r.f32, %y.value) {kind=Add} : f32[2]\n"
        "%y y = Cast(%y.value) {to=11} : f64[2]\n"
        "%z z = Cast(%z.value) {to=11} : f64[2]\n");
}

TEST_CASE("tensors whose data does not fit their dims") {
  check(import_edited(
            kConv,
            [](auto& model) { model.mutable_graph()->mutable_initializer(0)->set_dims(0, 4); }),
        kInput, "w: expected 8 elements of data, found 6");
  check(import_edited(kConv,
                      [](auto& model) {
                        auto* w = model.mutable_graph()->mutable_initializer(0);
                        w->clear_float_data();
                        w->set_raw_data(std::string(23, 'x'));
                      }),
        kInput, "w: expected 24 bytes of data, found 23");
  check(import_edited(
            kConv,
            [](auto& model) { model.mutable_graph()->mutable_initializer(0)->set_dims(0, -6); }),
        kInput, "w: expected dims of at least 0, found -6");
  check(import_edited(kConv,
                      [](auto& model) {
                        auto* w = model.mutable_graph()->mutable_initializer(0);
                        w->set_dims(0, int64_t{1} << 62);
                        w->set_dims(1, int64_t{1} << 62);
                      }),
        kUnsupported,
        "w: expected at most 1073741824 elements, found a dim of 4611686018427387904");
}

TEST_CASE("tensors that nothing reads do no harm") {
  const Outcome found = import_edited(kConv, [](auto& model) {
    auto* unused = model.mutable_graph()->add_initializer();
    unused->set_name("unused");
    unused->set_data_type(onnx::TensorProto::COMPLEX128);
    unused->add_dims(3);
  });
  CHECK(found.exit_code == 0);
}

TEST_CASE("graphs that are none") {
  check(import_bytes(onnx_model("g (float[2] x) => (float[2] y) { a = Add(x, b) b = Relu(a) "
                                "y = Relu(b) }")),
        kInput, "a: expected a graph without cycles, found one behind or through this node");
  check(import_bytes(onnx_model("g (float[2] x) => (float[2] y) { y = Add(x, z) }")), kInput,
        "y: expected input 'z' to be defined, found nothing");
  check(import_bytes(onnx_model("g (float[2] x) => (float[2] y) { y = Relu(x) y = Tanh(x) }")),
        kInput, "y: expected each value to be defined once, found 'y' again");
  check(import_bytes(onnx_model("g (float[2] x) => (float[2] y) { y = Relu(x) x = Tanh(y) }")),
        kInput, "x: expected each value to be defined once, found 'x' again");
  check(import_bytes(onnx_model("g (float[2] x) => (float[2] z) { y = Relu(x) }")), kInput,
        "g: expected output 'z' to be computed, found no such value");
  check(import_edited(kConv, [](auto& model) { model.mutable_graph()->clear_output(); }), kInput,
        "g: expected a graph output, found none");
  check(import_edited(kConv,
                      [](auto& model) { model.mutable_graph()->mutable_node(0)->clear_output(); }),
        kInput, "y: expected input 'c' to be defined, found nothing");
}

TEST_CASE("nodes in any order are sorted") {
  CHECK(nodes_of("g (float[2] x) => (float[2] y) { y = Add(a, b) b = Relu(a) a = Tanh(x) }") ==
        "%a a = Unary(%x) {kind=Tanh} : f32[2]\n"
        "%b b = Unary(%a) {kind=Relu} : f32[2]\n"
        "%y y = Binary(%a, %b) {kind=Add} : f32[2]\n");
}

TEST_CASE("nodes that contradict their operator") {
  auto text = [](const std::string& graph, int opset = 13) {
    const Outcome found = import_bytes(onnx_model(graph, opset));
    CHECK(found.exit_code == kInput);
    return found.text;
  };
  const std::string map = "g (float[1,2,4,4] x) => (float[] y) <float[3,2,3,3] w> ";
  CHECK(text(map + "{ y = Conv(x) }") == "y: expected input 1 of Conv, found 1 inputs");
  CHECK(text(map + "{ y = Conv<strides = [0, 1]>(x, w) }") ==
        "y: expected stride in [1, 16777216], found 0");
  CHECK(text(map + "{ y = Conv<strides = [1, 1, 1]>(x, w) }") ==
        "y: expected 2 elements of attribute 'strides', found 3");
  CHECK(text(map + "{ y = Conv<strides = 1>(x, w) }") ==
        "y: expected attribute 'strides' to be ints, found another type");
  CHECK(text(map + "{ y = Conv<pads = [-1, 0, 0, 0]>(x, w) }") ==
        "y: expected pad in [0, 16777216], found -1");
  CHECK(text(map + "{ y = Conv<dilations = [4, 1]>(x, w) }") ==
        "y: expected a filter that fits the padded input, found f32[3,2,3,3] over "
        "f32[1,2,4,4]");
  CHECK(text(map + "{ y = Conv<kernel_shape = [3, 2]>(x, w) }") ==
        "y: expected kernel_shape [3, 3] as the weights', found [3, 2]");
  CHECK(text(map + "{ y = Conv<auto_pad = \"SAME\">(x, w) }") ==
        "y: expected auto_pad NOTSET, SAME_UPPER, SAME_LOWER or VALID, found 'SAME'");
  CHECK(text(map + "{ y = Conv<group = 0>(x, w) }") == "y: expected group that divides 3, found 0");
  CHECK(text(map + "{ y = Conv<group = 2>(x, w) }") == "y: expected group that divides 3, found 2");
  CHECK(text(map + "{ y = MaxPool(x) }") == "y: expected attribute 'kernel_shape', found none");
  CHECK(text(map + "{ y = MaxPool<kernel_shape = [0, 1]>(x) }") ==
        "y: expected kernel size in [1, 16777216], found 0");
  CHECK(text("g (float[2,3] x) => (float[] y) <int64[2] s = {4, -1}> { y = Reshape(x, s) }") ==
        "y: expected dims that divide 6 elements, found 4");
  CHECK(text("g (float[2,3] x) => (float[] y) <int64[2] s = {-1, -1}> { y = Reshape(x, s) }") ==
        "y: expected one dim of -1, found two");
  CHECK(text("g (float[2,3] x) => (float[] y) <int64[1] s = {5}> { y = Reshape(x, s) }") ==
        "y: expected 6 elements, found 5");
  CHECK(text("g (float[2,3] x) => (float[] y) { y = Transpose<perm = [0, 0]>(x) }") ==
        "y: expected a permutation of [0, 2), found 0 at 1");
  CHECK(text("g (float[2,3] x) => (float[] y) { y = Concat<axis = 2>(x, x) }") ==
        "y: expected an axis in [-2, 2), found 2");
  CHECK(text("g (float[2,3] x) => (float[] y) { y = Squeeze<axes = [0]>(x) }", 11) ==
        "y: expected dim 0 to be 1, found 2");
  CHECK(text("g (float[2,3] x) => (float[] y) <float[2,3] b> { y = MatMul(x, b) }") ==
        "y: expected 2 columns of the first operand, found f32[2,3]");
  CHECK(text("g (float[2,3] x) => (float[] y) <float[2] lo = {0, 1}> { y = Clip(x, lo) }") ==
        "y: expected one element in 'lo', found 2");
  CHECK(text(map + "{ y = BatchNormalization(x, w, w, w, w) }") ==
        "y: expected 2 elements in 'w', found dims [3, 2, 3, 3]");
}

TEST_CASE("names of outputs and nodes are the model's") {
  const ir::Graph graph = import_text(
      "g (float[2] x) => (float[2] y, float[2] z, float[2] c) <float[2] c = {1, 2}> "
      "{ y = Relu(x) z = Identity(y) }");
  REQUIRE(graph.outputs().size() == 3);
  CHECK(graph.value(graph.outputs()[0]).name == "y");
  CHECK(graph.value(graph.outputs()[1]).name == "z");
  CHECK(graph.value(graph.outputs()[2]).name == "c");
  // Each has memory of its own, whatever it shares: an input, an input of another type, a constant,
  // another output's value, another output's name.
  const auto outputs_of = [](const std::string& text) {
    const ir::Graph imported = import_text(text);
    std::string names;
    llvm::DenseSet<ir::ValueId> values;
    for (size_t i = 0; i < imported.outputs().size(); ++i) {
      names += imported.output_name(i) + " ";
      const ir::Value& value = imported.value(imported.outputs()[i]);
      CHECK(values.insert(imported.outputs()[i]).second);
      CHECK(!value.is_input);
    }
    return names;
  };
  CHECK(outputs_of("g (float[2] p) => (float[2] p) {}") == "p ");
  CHECK(outputs_of("g (float[2] p) => (float[2] p, float[2] p) {}") == "p p ");
  CHECK(outputs_of("g (float16[2] p) => (float16[2] p, float16[2] y) { y = Relu(p) }") == "p y ");
  CHECK(outputs_of("g (float16[2] p) => (float16[2] p, float16[2] p) {}") == "p p ");
  CHECK(outputs_of("g (float[2] p, float[2] q) => (float[2] q, float[2] y, float[2] p) "
                   "{ y = Identity(p) }") == "q y p ");
  CHECK(outputs_of("g (float[2] p) => (float[2] y, float[2] y) { y = Relu(p) }") == "y y ");
  CHECK(outputs_of("g (float16[2] p) => (float16[2] y, float16[2] y) { y = Relu(p) }") == "y y ");
  CHECK(outputs_of("g (float[2] p) => (float[2] y, float[2] z, float[2] y) "
                   "{ y = Relu(p) z = Identity(y) }") == "y z y ");
  CHECK(outputs_of("g (float[2] p) => (float[2] z, float[2] y) { y = Relu(p) z = Identity(y) }") ==
        "z y ");
  CHECK(outputs_of("g (float[2] p) => (float[2] c, float[2] c, float[2] d) "
                   "<float[2] c = {1, 2}> { d = Identity(c) }") == "c c d ");
  CHECK(outputs_of("g (float[2] p) => (float16[2] c, float16[2] d) <float[2] k = {1, 2}> "
                   "{ c = Cast<to = 10>(k) d = Identity(c) }") == "c d ");
  // The model has the name that a copy would get.
  CHECK(outputs_of("g (float[2] p) => (float[2] p, float[2] y) "
                   "{ t = Identity(p) y = Relu(t) }") == "p y ");
  CHECK(ir::print(import_text("g (float[2] p) => (float[2] p) {}")) ==
        "graph g\n"
        "input %p : f32[2]\n"
        "%p.copy p = Unary(%p) : f32[2]\n"
        "output %p.copy as p : f32[2]\n");
  const Outcome named = import_edited(kConv, [](auto& model) {
    model.mutable_graph()->mutable_node(0)->set_name("first");
    model.mutable_graph()->mutable_node(0)->add_input("missing");
  });
  CHECK(named.text == "first: expected input 'missing' to be defined, found nothing");
}

}  // namespace codl::test
