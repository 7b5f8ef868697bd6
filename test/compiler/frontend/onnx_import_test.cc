// Models that are wrong, not supported or hostile: one clear error each, never a crash.
#include <functional>

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
        "m.onnx: expected an ONNX model, found 11 bytes that are none");
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
      // Accepted models are good graphs; nothing is an internal error.
      CHECK((found.exit_code == 0 ? found.text.empty() : found.exit_code <= kUnsupported));
    }
}

TEST_CASE("opsets outside 7 to 18") {
  for (int opset : {6, 19})
    check(import_bytes(onnx_model(kConv, opset)), kUnsupported,
          "m.onnx: expected opset 7 to 18, found " + std::to_string(opset));
  for (int opset : {7, 18}) CHECK(import_bytes(onnx_model(kConv, opset)).exit_code == 0);
  check(import_edited(kConv, [](auto& model) { model.clear_opset_import(); }), kInput,
        "m.onnx: expected an opset of the ONNX domain, found none");
}

TEST_CASE("everything that is not supported is listed at once, by reason") {
  check(import_bytes(onnx_model(R"(
          g (float[1,2,4,4] x) => (float[1] y) <float[1,1,3] w>
          { a = Erf(x)
            b = Relu(a)
            c = Erf(b)
            d = Conv(x, w2)
            w2 = Exp(x)
            e = com.example.Odd(x)
            f = ReduceMean<axes = [1]>(x)
            y = Add(c, f) })")),
        kUnsupported,
        "m.onnx: expected a model of operators that codl imports (codlc --list-ops), found "
        "Erf (opset 13) [a, c]: operator not imported; "
        "Exp (opset 13) [w2]: operator not imported; "
        "Odd (opset 13) [e]: expected an operator of the ONNX domain, found domain 'com.example'; "
        "ReduceMean (opset 13) [f]: expected a mean over height and width, found other axes");
}

TEST_CASE("attributes and operands that are valid and not supported") {
  auto reason = [](const std::string& graph, int opset = 13) {
    const Outcome found = import_bytes(onnx_model(graph, opset));
    CHECK(found.exit_code == kUnsupported);
    return found.text.substr(found.text.rfind("]: ") + 3);
  };
  CHECK(reason("g (float[1,2,4] x) => (float[1] y) <float[3,2,3] w> { y = Conv(x, w) }") ==
        "expected a 2-D convolution (rank 4), found rank 3");
  CHECK(reason("g (float[1,2,4,4] x, float[3,2,1,1] w) => (float[1] y) { y = Conv(x, w) }") ==
        "expected a constant as input 1 ('w'), found a computed value");
  CHECK(reason("g (float[2,2] x) => (float[1] y) <float[2,2] b> { y = Gemm<transA = 1>(x, b) }") ==
        "expected transA 0, found 1");
  CHECK(reason("g (float[2,2] x, float[2,2] b) => (float[1] y) { y = MatMul(x, b) }") ==
        "expected a constant as input 1 ('b'), found a computed value");
  CHECK(reason("g (float[2,2] x, int64[1] s) => (float[1] y) { y = Reshape(x, s) }") ==
        "data type INT64");
  CHECK(reason("g (float[1,2,4,4] x) => (float[1] y) { m, i = MaxPool<kernel_shape = [2, 2]>(x) "
               "y = Cast<to = 1>(i) }") ==
        "expected only the first output to be read, found a reader of 'i'");
  CHECK(reason("g (float[1,2,4,4] x) => (float[1] y) <float[2] s> "
               "{ y = BatchNormalization<training_mode = 1>(x, s, s, s, s) }") ==
        "expected training_mode 0, found 1");
  CHECK(reason("g (float[2] x) => (float[2] y) <float r = {0.5}, bool t = {1}> "
               "{ y = Dropout(x, r, t) }") == "expected training_mode false, found true");
  CHECK(reason("g (float[2] x) => (float[2] y) <double[1] k = {1}> { y = Add(x, k) }") ==
        "expected float data in 'k', found data type DOUBLE");
  CHECK(reason("g (float[2] x) => (float[2] y) <int64[1] k = {1}> { y = Add(x, k) }") ==
        "expected float data in 'k', found integers");
  CHECK(reason("g (float[1,1,1,1,1,1,1,1] x) => (float[2] y) { y = Unsqueeze<axes = [0]>(x) }",
               11) == "expected rank <= 8, found 9");
  CHECK(reason("g (float[65536,1] x) => (float[2] y) <float[1,65536] k> { y = Add(x, k) }") ==
        "expected at most 1073741824 elements, found more");
}

TEST_CASE("an initializer that is an input too is a constant") {
  const Outcome found = import_edited(kConv, [](auto& model) {
    auto* input = model.mutable_graph()->add_input();
    *input = model.graph().input(0);
    input->set_name("w");
  });
  CHECK(found.exit_code == 0);
}

TEST_CASE("inputs need static dims") {
  check(import_bytes(onnx_model("g (float[N,2] x) => (float[1] y) { y = Relu(x) }")), kInput,
        "input 'x': expected a number as dim 0, found 'N'");
  check(import_edited(kConv,
                      [](auto& model) {
                        auto* type = model.mutable_graph()->mutable_input(0)->mutable_type();
                        type->mutable_tensor_type()->mutable_shape()->mutable_dim(2)->clear_value();
                      }),
        kInput, "input 'x': expected a number as dim 2, found none");
  check(import_edited(kConv,
                      [](auto& model) {
                        auto* type = model.mutable_graph()->mutable_input(0)->mutable_type();
                        type->mutable_tensor_type()->clear_shape();
                      }),
        kInput, "input 'x': expected a static shape, found none");
  for (int64_t dim : {int64_t{0}, int64_t{-3}, INT64_MIN})
    check(import_edited(
              kConv,
              [&](auto& model) {
                auto* type = model.mutable_graph()->mutable_input(0)->mutable_type();
                type->mutable_tensor_type()->mutable_shape()->mutable_dim(2)->set_dim_value(dim);
              }),
          kInput, "input 'x': expected positive dims, found " + std::to_string(dim));
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
  const Outcome external = import_edited(kConv, [](auto& model) {
    auto* w = model.mutable_graph()->mutable_initializer(0);
    w->clear_float_data();
    w->set_data_location(onnx::TensorProto::EXTERNAL);
  });
  check(external, kUnsupported,
        "m.onnx: expected a model of operators that codl imports (codlc --list-ops), found Conv "
        "(opset 13) [c]: expected float or integer data in 'w', found data in an external file");
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
        kInput, "Conv: expected a node with a first output, found none");
  check(import_edited(
            kConv,
            [](auto& model) { *model.mutable_graph()->add_output() = model.graph().output(0); }),
        kInput, "g: expected each output once, found 'y' again");
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
  const std::string map = "g (float[1,2,4,4] x) => (float[1] y) <float[3,2,3,3] w> ";
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
        "y: expected a filter that fits the padded input, found f32[3,2,3,3] over f32[1,2,4,4]");
  CHECK(text(map + "{ y = Conv<kernel_shape = [3, 2]>(x, w) }") ==
        "y: expected kernel_shape 3x3 as the weights', found 3x2");
  CHECK(text(map + "{ y = Conv<auto_pad = \"SAME\">(x, w) }") ==
        "y: expected auto_pad NOTSET, SAME_UPPER, SAME_LOWER or VALID, found 'SAME'");
  CHECK(text(map + "{ y = Conv<group = 0>(x, w) }") == "y: expected group in [1, 3], found 0");
  CHECK(text(map + "{ y = Conv<group = 2>(x, w) }") ==
        "y: expected groups that divide 3 output channels, found 2");
  CHECK(text(map + "{ y = MaxPool(x) }") == "y: expected attribute 'kernel_shape', found none");
  CHECK(text(map + "{ y = MaxPool<kernel_shape = [0, 1]>(x) }") ==
        "y: expected kernel size in [1, 16777216], found 0");
  CHECK(text(map + "{ y = MaxPool<kernel_shape = [2, 2], pads = [2, 0, 0, 0]>(x) }") ==
        "y: expected windows with an element, found window 0 in the padding");
  CHECK(text("g (float[2,3] x) => (float[1] y) <int64[2] s = {4, -1}> { y = Reshape(x, s) }") ==
        "y: expected dims that divide 6 elements, found 4");
  CHECK(text("g (float[2,3] x) => (float[1] y) <int64[2] s = {-1, -1}> { y = Reshape(x, s) }") ==
        "y: expected one dim of -1, found two");
  CHECK(text("g (float[2,3] x) => (float[1] y) <int64[1] s = {5}> { y = Reshape(x, s) }") ==
        "y: expected as many elements as f32[2,3], found f32[5]");
  CHECK(text("g (float[2,3] x) => (float[1] y) { y = Transpose<perm = [0, 0]>(x) }") ==
        "y: expected a permutation of [0, 2), found 0 at 1");
  CHECK(text("g (float[2,3] x) => (float[1] y) { y = Concat<axis = 2>(x, x) }") ==
        "y: expected an axis in [-2, 2), found 2");
  CHECK(text("g (float[2,3] x) => (float[1] y) { y = Squeeze<axes = [0]>(x) }", 11) ==
        "y: expected dim 0 to be 1, found 2");
  CHECK(text("g (float[2,3] x) => (float[1] y) <float[2,3] b> { y = MatMul(x, b) }") ==
        "y: expected 2 columns of the first operand, found f32[2,3]");
  CHECK(text("g (float[2,3] x) => (float[1] y) <float[2] lo = {0, 1}> { y = Clip(x, lo) }") ==
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
  CHECK(graph.value(graph.outputs()[2]).name == "c.copy");
  const Outcome named = import_edited(kConv, [](auto& model) {
    model.mutable_graph()->mutable_node(0)->set_name("first");
    model.mutable_graph()->mutable_node(0)->add_input("missing");
  });
  CHECK(named.text == "first: expected input 'missing' to be defined, found nothing");
}

}  // namespace codl::test
