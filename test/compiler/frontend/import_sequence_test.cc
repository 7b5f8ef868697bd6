// Tests what remains of sequences and optionals in a graph, and what is refused.
#include "test/compiler/frontend/import_text.h"

namespace codl::test {
namespace {

// Runs a body whose output is y, one float vector.
std::vector<float> of_body(const std::string& body, const std::vector<float>& x) {
  return computed("g (float[" + std::to_string(x.size()) + "] x) => (float[] y) " + body, x, 18);
}

std::string error_of_body(const std::string& body) {
  return import_error("g (float[4] x) => (float[] y) " + body, 18);
}

std::string constants(const std::string& text) { return "<" + text + "> "; }

}  // namespace

TEST_CASE("SplitToSequence: one element each, equal pieces, listed pieces") {
  const std::string joined = "y = ConcatFromSequence<axis = 0>(r) }";
  const std::string reversed =
      "p = SequenceAt(s, last) q = SequenceAt(s, first) "
      "r = SequenceConstruct(p, q) " +
      joined;
  const std::string ends = "int64 last = {-1}, int64 first = {0}";
  CHECK(of_body(constants(ends) + "{ s = SplitToSequence(x) " + reversed, {1, 2, 3, 4, 5}) ==
        std::vector<float>{5, 1});
  // The last piece is the rest: 2, 2, 1.
  CHECK(of_body(constants(ends + ", int64 n = {2}") + "{ s = SplitToSequence(x, n) " + reversed,
                {1, 2, 3, 4, 5}) == std::vector<float>{5, 1, 2});
  CHECK(
      of_body(constants(ends + ", int64[2] n = {1, 4}") + "{ s = SplitToSequence(x, n) " + reversed,
              {1, 2, 3, 4, 5}) == std::vector<float>{2, 3, 4, 5, 1});
  // keepdims 0 removes the dim, unless lengths are given.
  const std::string stacked = "y = ConcatFromSequence<axis = -1, new_axis = 1>(s) }";
  CHECK(nodes_of("g (float[2,3] x) => (float[2,3] y) "
                 "{ s = SplitToSequence<axis = 1, keepdims = 0>(x) " +
                     stacked,
                 18)
            .find("f32[2,3]") != std::string::npos);
  CHECK(nodes_of("g (float[2,3] x) => (float[2,1,3] y) <int64 n = {1}> "
                 "{ s = SplitToSequence<axis = 1, keepdims = 0>(x, n) " +
                     stacked,
                 18)
            .find("f32[2,1,3]") != std::string::npos);
}

TEST_CASE("SplitToSequence: lengths that do not fit") {
  const auto split = [](const std::string& n) {
    return error_of_body("<" + n +
                         "> { s = SplitToSequence(x, n) "
                         "y = ConcatFromSequence<axis = 0>(s) }");
  };
  CHECK(split("int64 n = {0}").find("expected a length of 1 or more, found 0") !=
        std::string::npos);
  CHECK(split("int64[2] n = {1, 2}").find("that sum to 4, found 3") != std::string::npos);
  CHECK(split("int64[2] n = {5, -1}").find("in [0, 4], found 5") != std::string::npos);
  CHECK(error_of_body("{ s = SplitToSequence<axis = 1>(x) y = ConcatFromSequence<axis = 0>(s) }")
            .find("expected an axis in [-1, 1), found 1") != std::string::npos);
  CHECK(import_error("g (float[4] x, int64 n) => (float[] y) { s = SplitToSequence(x, n) "
                     "y = ConcatFromSequence<axis = 0>(s) }",
                     18)
            .find("expected the lengths of SplitToSequence to be constant") != std::string::npos);
  CHECK(error_of_body("<int64 i = {0}> { e = Expand(x, i) y = Relu(x) }").empty());
}

TEST_CASE("SequenceInsert, SequenceErase: positions from the front, the back, and without") {
  const std::string head =
      "{ a = Add(x, x) s = SequenceConstruct(x, a) n = Neg(x) t = SequenceInsert(s, n";
  const std::string tail = ") y = ConcatFromSequence<axis = 0>(t) }";
  const auto inserted = [&](const std::string& position) {
    if (position.empty()) return of_body(head + tail, {1});
    return of_body(constants("int64 i = {" + position + "}") + head + ", i" + tail, {1});
  };
  CHECK(inserted("") == std::vector<float>{1, 2, -1});
  CHECK(inserted("2") == std::vector<float>{1, 2, -1});
  CHECK(inserted("0") == std::vector<float>{-1, 1, 2});
  CHECK(inserted("-1") == std::vector<float>{1, -1, 2});
  CHECK(inserted("-2") == std::vector<float>{-1, 1, 2});
  CHECK(error_of_body(constants("int64 i = {3}") + head + ", i" + tail)
            .find("expected a position in [-2, 2], found 3") != std::string::npos);
  CHECK(error_of_body(constants("int64 i = {-3}") + head + ", i" + tail)
            .find("expected a position in [-2, 2], found -3") != std::string::npos);

  const std::string erase = "{ a = Add(x, x) s = SequenceConstruct(x, a) t = SequenceErase(s";
  CHECK(of_body(erase + tail, {1}) == std::vector<float>{1});
  CHECK(of_body(constants("int64 i = {-2}") + erase + ", i" + tail, {1}) == std::vector<float>{2});
  CHECK(error_of_body(constants("int64 i = {2}") + erase + ", i" + tail)
            .find("expected a position in [-2, 1], found 2") != std::string::npos);
  CHECK(error_of_body("{ e = SequenceEmpty() t = SequenceErase(e) " + tail.substr(2))
            .find("expected a sequence of tensors, found none in it") != std::string::npos);
}

TEST_CASE("sequences hold one type; tensors are no sequences") {
  CHECK(error_of_body("{ i = Cast<to = 7>(x) s = SequenceConstruct(x, i) "
                      "y = ConcatFromSequence<axis = 0>(s) }")
            .find("expected tensors of one type, found f32 and i64") != std::string::npos);
  CHECK(error_of_body("{ e = SequenceEmpty<dtype = 7>() s = SequenceInsert(e, x) "
                      "y = ConcatFromSequence<axis = 0>(s) }")
            .find("expected a tensor of i64 for this sequence, found f32") != std::string::npos);
  CHECK(error_of_body("{ s = SequenceConstruct(x) y = Relu(s) }")
            .find("expected a tensor as input 0 ('s'), found a sequence") != std::string::npos);
  CHECK(error_of_body("{ y = ConcatFromSequence<axis = 0>(x) }")
            .find("expected a sequence as input 0 ('x'), found a tensor") != std::string::npos);
}

TEST_CASE("SequenceLength and SequenceAt are known when compiling") {
  CHECK(of_body("{ s = SplitToSequence(x) n = SequenceLength(s) one = Constant<value_int = 1>() "
                "i = Sub(n, one) y = SequenceAt(s, i) }",
                {1, 2, 3}) == std::vector<float>{3});
  CHECK(import_error("g (float[4] x, int64 i) => (float[] y) { s = SplitToSequence(x) "
                     "y = SequenceAt(s, i) }",
                     18)
            .find("expected the position of SequenceAt to be constant") != std::string::npos);
}

TEST_CASE("SequenceMap: the body for each element") {
  CHECK(of_body("{ s = SplitToSequence(x) t = SequenceMap<body = b (float[1] e, float[] all) => "
                "(float[] m) { m = Add(e, all) }>(s, x) y = ConcatFromSequence<axis = 0>(t) }",
                {1, 10}) == std::vector<float>{2, 11, 11, 20});
}

TEST_CASE("sequences go through If, Loop and functions") {
  // A constant chooses a branch; a condition at run time chooses tensor by tensor.
  const std::string branches =
      "s = If<then_branch = a () => (float[] p) { n = Neg(x) p = SequenceConstruct(x, n) }, "
      "else_branch = b () => (float[] q) { r = Add(x, x) q = SequenceConstruct(r, x) }>(c) "
      "y = ConcatFromSequence<axis = 0>(s) }";
  CHECK(of_body(constants("bool c = {0}") + "{ " + branches, {1, 2}) ==
        std::vector<float>{2, 4, 1, 2});
  const ir::Graph graph = import_text("g (float[1] x, bool c) => (float[2] y) { " + branches, 18);
  const float one = 1;
  const auto* bytes = reinterpret_cast<const uint8_t*>(&one);
  const auto outputs =
      value_of(compiler::interpret(graph, {compiler::Bytes(bytes, bytes + sizeof one), {1}}));
  CHECK(reinterpret_cast<const float*>(outputs[0].data())[1] == -1);

  // A loop makes a list: x, 2x, 4x.
  CHECK(of_body(constants("int64 n = {3}, bool go = {1}") +
                    "{ e = SequenceEmpty() v, l = Loop<body = b (int64 i, bool c, float[1] v, "
                    "float[] s) => (bool d, float[1] w, float[] t) "
                    "{ d = Identity(c) t = SequenceInsert(s, v) w = Add(v, v) }>(n, go, x, e) "
                    "y = ConcatFromSequence<axis = 0>(l) }",
                {1}) == std::vector<float>{1, 2, 4});
}

TEST_CASE("sequences do not enter or leave a network") {
  auto model = parse_onnx_text(
      "<ir_version: 8, opset_import: [\"\": 18]>\n"
      "g (float[2] s, float[N] x) => (float[] y) <int64 i = {0}> "
      "{ a = SequenceAt(s, i) y = Add(a, x) }");
  auto* type = model.mutable_graph()->mutable_input(0)->mutable_type();
  type->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(1);
  const std::string error = error_of(compiler::import_onnx(model.SerializeAsString(), "m.onnx"));
  CHECK(error ==
        "m.onnx: expected a model of operators that codl imports (codlc --list-ops), found input "
        "[s]: a sequence, not a tensor");
  CHECK(import_error("g (float[2] x) => (float[] s) { s = SequenceConstruct(x) }", 18) ==
        "output 's': expected a tensor, found a sequence");
  CHECK(import_error("g (float[2] x) => (float[] o) { o = Optional() }", 18) ==
        "output 'o': expected a tensor, found an optional without an element");
}

TEST_CASE("optionals are their element, or absent") {
  CHECK(of_body("{ o = Optional(x) y = OptionalGetElement(o) }", {1}) == std::vector<float>{1});
  const std::string chosen =
      "h = OptionalHasElement(o) y = If<then_branch = a () => (float[1] p) "
      "{ p = OptionalGetElement(o) }, else_branch = b () => (float[1] q) { q = Neg(x) }>(h) }";
  CHECK(of_body("{ o = Optional(x) " + chosen, {1}) == std::vector<float>{1});
  CHECK(of_body("{ o = Optional() " + chosen, {1}) == std::vector<float>{-1});
  CHECK(error_of_body("{ o = Optional() y = OptionalGetElement(o) }")
            .find("expected an optional with an element, found one without") != std::string::npos);
}

}  // namespace codl::test
