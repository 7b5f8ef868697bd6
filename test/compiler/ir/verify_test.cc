// Has one bad graph per rule of ir::verify.
#include "compiler/ir/graph.h"
#include "test/support/expected.h"

namespace codl::ir {
namespace {

const TensorType kMap = {DType::F32, {1, 8, 4, 4}};

Node relu(std::string name, ValueId input) {
  return {.op = OpKind::Unary,
          .params = OpParams::of(OpKind::Unary, UnaryParams{.kind = kUnaryRelu}),
          .inputs = {input},
          .output = kNoId,
          .name = std::move(name)};
}

// Has x -> first -> second, and a constant that nothing reads.
struct Good {
  Graph graph;
  ValueId x = graph.add_input("x", kMap);
  ValueId constant = graph.add_constant("c", {DType::F32, {2}}, std::vector<uint8_t>(8));
  ValueId first = graph.add_node(relu("first", x), "a", kMap);
  ValueId second = graph.add_node(relu("second", first), "b", kMap);
  Good() { graph.set_outputs({second}); }
};

template <typename Break>
std::string error_after(Break break_graph) {
  Good good;
  break_graph(good);
  return test::error_of(verify(good.graph, "pass"));
}

}  // namespace

TEST_CASE("verify accepts a good graph") {
  CHECK(error_after([](Good&) {}) == "");
}

TEST_CASE("verify finds values that break the rules") {
  CHECK(error_after([](Good& g) { g.graph.value(g.first).name = "x"; }) ==
        "pass: expected unique value names, found two of 'x'");
  CHECK(error_after([](Good& g) { g.graph.value(g.first).is_constant = true; }) ==
        "pass: expected one producer of value 'a', found input=false constant=true node=true");
  CHECK(error_after([](Good& g) { g.graph.value(g.first).producer = 1; }) ==
        "pass: expected the producer of value 'a' to have it as its output");
  CHECK(error_after([](Good& g) {
          Value& value = g.graph.value(g.constant);
          value.is_constant = false;
          value.is_input = true;
        }) == "pass: expected value 'c' among the graph's inputs");
  CHECK(error_after([](Good& g) {
          Value& value = g.graph.value(g.x);
          value.is_input = false;
          value.is_constant = true;
          value.bytes = std::vector<uint8_t>(1 * 8 * 4 * 4 * 4);
        }) == "pass: expected 1 input values, found 0");
  CHECK(error_after([](Good& g) { g.graph.value(g.constant).bytes = std::vector<uint8_t>(7); }) ==
        "pass: expected the bytes of constant 'c' to fit f32[2], found 7");
}

TEST_CASE("verify finds types that break the rules") {
  CHECK(error_after([](Good& g) { g.graph.value(g.first).type.dims[1] = 0; }) ==
        "pass: expected positive dims of value 'a', found f32[1,0,4,4]");
  CHECK(error_after([](Good& g) { g.graph.value(g.x).type.dims[1] = -1; }) ==
        "pass: expected positive dims of value 'x', found f32[1,-1,4,4]");
  CHECK(error_after([](Good& g) { g.graph.value(g.x).type.dims[1] = 0; }) ==
        "pass: expected operands with elements of node 'first', found 'x' f32[1,0,4,4]");
  CHECK(error_after([](Good& g) { g.graph.value(g.x).type.dtype = DType::Any; }) ==
        "pass: expected a dtype of types.h of value 'x', found 255");
  CHECK(error_after([](Good& g) {
          g.graph.value(g.first).type = {DType::U8, {1, 8, 4, 4}, Layout::Nhwc};
        }) == "pass: expected f32 of nhwc value 'a', found u8[1,8,4,4] nhwc");
  CHECK(error_after([](Good& g) { g.graph.value(g.x).type.dims.assign(9, 1); }) ==
        "pass: expected rank <= 8 of value 'x', found 9");
  CHECK(error_after([](Good& g) { g.graph.value(g.first).type.layout = Layout::Image2d; }) ==
        "pass: expected layout plain or nhwc of value 'a', found f32[1,8,4,4] image2d");
  CHECK(error_after([](Good& g) { g.graph.value(g.constant).type.layout = Layout::Nhwc; }) ==
        "pass: expected rank 4 of nhwc value 'c', found f32[2] nhwc");
  CHECK(error_after([](Good& g) { g.graph.value(g.x).type.layout = Layout::Nhwc; }) ==
        "pass: expected plain layout of input or constant 'x', found f32[1,8,4,4] nhwc");
  CHECK(error_after([](Good& g) { g.graph.value(g.second).type.layout = Layout::Nhwc; }) ==
        "pass: expected one layout in node 'second', found f32[1,8,4,4] 'a' and output "
        "f32[1,8,4,4] nhwc");
  CHECK(error_after([](Good& g) { g.graph.value(g.second).type.dims[3] = 5; }) ==
        "pass: expected f32[1,8,4,4] as output of node 'second', found f32[1,8,4,5]");
}

TEST_CASE("verify finds nodes that break the rules") {
  CHECK(error_after([](Good& g) { g.graph.node(1).output = g.first; }) ==
        "pass: expected the producer of value 'b' to have it as its output");
  CHECK(error_after([](Good& g) { g.graph.node(0).params = {}; }) ==
        "pass: expected 12 bytes of parameters of node 'first', found 0");
  CHECK(error_after([](Good& g) { g.graph.node(0).inputs.clear(); }) ==
        "pass: expected 1 to 15 operands of node 'first', found 0");
  CHECK(error_after([](Good& g) { g.graph.node(0).inputs[0] = 77; }) ==
        "pass: expected operands of node 'first' to exist, found id 77");
  CHECK(error_after([](Good& g) { g.graph.node(0).inputs[0] = g.second; }) ==
        "pass: expected operand 'b' of node 'first' from an earlier node");
  CHECK(error_after([](Good& g) { g.graph.node(0).inputs.push_back(g.x); }) ==
        "pass: expected operands that fit, found first: expected 1 operands, found 2");
}

TEST_CASE("verify finds outputs that break the rules") {
  CHECK(error_after([](Good& g) { g.graph.set_outputs({}); }) ==
        "pass: expected a graph output, found none");
  CHECK(error_after([](Good& g) { g.graph.set_outputs({77}); }) ==
        "pass: expected graph outputs to exist, found id 77");
}

TEST_CASE("verify finds extents that break the rules") {
  const auto error_of_extent = [](OutputExtent extent) {
    return error_after([&](Good& g) {
      const ValueId count = g.graph.add_constant("n", {DType::I64, {}}, std::vector<uint8_t>(8));
      g.graph.set_outputs({g.second, count});
      g.graph.set_extents({extent});
    });
  };
  CHECK(error_of_extent({.output = 0, .dim = 3, .count_output = 1}) == "");
  CHECK(error_of_extent({.output = 2, .dim = 0, .count_output = 1}) ==
        "pass: expected extents of graph outputs, found outputs 2 and 1");
  CHECK(error_of_extent({.output = 0, .dim = 0, .count_output = 2}) ==
        "pass: expected extents of graph outputs, found outputs 0 and 2");
  CHECK(error_of_extent({.output = 0, .dim = 4, .count_output = 1}) ==
        "pass: expected a dim of output 'b' in its extent, found 4");
  CHECK(error_of_extent({.output = 0, .dim = 0, .count_output = 0}) ==
        "pass: expected an i64 scalar as the extent of output 'b', found f32[1,8,4,4]");
}

TEST_CASE("verify finds states that break the rules") {
  const auto error_of_state = [](KeptState state) {
    return error_after([&](Good& g) {
      const ValueId other = g.graph.add_input("other", {DType::F32, {2}});
      g.graph.set_outputs({g.second, other});
      g.graph.set_states({state});
    });
  };
  CHECK(error_of_state({.input = 1, .output = 1}) == "");
  CHECK(error_of_state({.input = 2, .output = 1}) ==
        "pass: expected states of graph inputs and outputs, found input 2 and output 1");
  CHECK(error_of_state({.input = 1, .output = 2}) ==
        "pass: expected states of graph inputs and outputs, found input 1 and output 2");
  CHECK(error_of_state({.input = 1, .output = 0}) ==
        "pass: expected output 'b' of the type of input 'other', whose state it is, found "
        "f32[1,8,4,4]");
}

TEST_CASE("what has no elements may come in and go out") {
  Good good;
  const ValueId empty = good.graph.add_input("empty", {DType::I64, {0, 3}});
  const ValueId none = good.graph.add_constant("none", {DType::F32, {2, 0}}, {});
  good.graph.set_outputs({good.second, empty, none});
  CHECK(test::error_of(verify(good.graph, "pass")) == "");
}

}  // namespace codl::ir
