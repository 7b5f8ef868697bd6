#include "compiler/ir/graph.h"

#include "test/support/expected.h"

namespace codl::ir {
namespace {

const TensorType kType = {DType::F32, {2, 3}};

Node unary(std::string name, ValueId input, int32_t kind = kUnaryRelu) {
  return {.op = OpKind::Unary,
          .params = OpParams::of(OpKind::Unary, UnaryParams{.kind = kind, .alpha = 0.25f}),
          .inputs = {input},
          .output = kNoId,
          .name = std::move(name)};
}

std::vector<uint8_t> zeros(const TensorType& type) {
  return std::vector<uint8_t>(type.element_count() * 4, 0);
}

// x -> a -> b -> c, d = relu(a); outputs c, d.
struct Chain {
  Graph graph;
  ValueId x, a, b, c, d;
  Chain() {
    graph.name = "chain";
    x = graph.add_input("x", kType);
    a = graph.add_node(unary("a", x), "va", kType);
    b = graph.add_node(unary("b", a), "vb", kType);
    c = graph.add_node(unary("c", b), "vc", kType);
    d = graph.add_node(unary("d", a), "vd", kType);
    graph.set_outputs({c, d});
  }
};

}  // namespace

TEST_CASE("reordered nodes take their producers with them") {
  Chain chain;
  const ValueId between = chain.graph.add_node(unary("new", chain.b), "vnew", kType);
  chain.graph.reorder_nodes({0, 1, 4, 2, 3});
  CHECK(chain.graph.node(2).name == "new");
  CHECK(chain.graph.value(between).producer == 2);
  CHECK(chain.graph.value(chain.a).producer == 0);
  CHECK(chain.graph.value(chain.b).producer == 1);
  CHECK(chain.graph.value(chain.c).producer == 3);
  CHECK(chain.graph.value(chain.d).producer == 4);
  CHECK(test::error_of(verify(chain.graph, "test")) == "");
}

TEST_CASE("is_output keeps up with the list of outputs") {
  Chain chain;
  const auto outputs = [&] {
    std::string names;
    for (ValueId id = 0; id < chain.graph.values().size(); ++id)
      if (chain.graph.is_output(id)) names += chain.graph.value(id).name + " ";
    return names;
  };
  CHECK(outputs() == "vc vd ");
  chain.graph.replace_output(chain.c, chain.b);
  CHECK(chain.graph.outputs()[0] == chain.b);
  CHECK(outputs() == "vb vd ");
  chain.graph.remove_nodes({false, false, true, false});
  chain.graph.remove_unused_values();  // c goes, d gets its id
  CHECK(outputs() == "vb vd ");
  chain.graph.set_outputs({chain.a});
  CHECK(outputs() == "va ");
}

TEST_CASE("removing nodes and values renumbers both and keeps inputs") {
  Chain chain;
  chain.graph.add_input("unused", kType);
  chain.graph.add_constant("dead", kType, zeros(kType));
  chain.graph.set_outputs({chain.d});
  chain.graph.remove_nodes({false, true, true, false});
  chain.graph.remove_unused_values();
  REQUIRE(chain.graph.nodes().size() == 2);
  CHECK(print(chain.graph) ==
        "graph chain\n"
        "input %x : f32[2,3]\n"
        "input %unused : f32[2,3]\n"
        "%va a = Unary(%x) {kind=Relu, alpha=0.25} : f32[2,3]\n"
        "%vd d = Unary(%va) {kind=Relu, alpha=0.25} : f32[2,3]\n"
        "output %vd : f32[2,3]\n");
  CHECK(chain.graph.value(chain.graph.node(1).output).producer == 1);
  CHECK(test::error_of(verify(chain.graph, "test")) == "");
}

TEST_CASE("growing the graph does not copy weights") {
  Graph graph;
  const ValueId weights = graph.add_constant("w", kType, zeros(kType));
  const uint8_t* bytes = graph.value(weights).bytes.data();
  for (int i = 0; i < 100; ++i) graph.add_input("x" + std::to_string(i), kType);
  CHECK(graph.value(weights).bytes.data() == bytes);
}

TEST_CASE("print shows small constants, layouts and members by name") {
  Graph graph;
  graph.name = "odd \"name\"\n";
  const ValueId x = graph.add_input("x", {DType::F32, {1, 1, 2, 3}});
  const float numbers[] = {1, 0.1f, -2.5e-7f};
  const auto* first = reinterpret_cast<const uint8_t*>(numbers);
  const ValueId c = graph.add_constant("c", {DType::F32, {1, 1, 1, 3}},
                                       std::vector<uint8_t>(first, first + sizeof numbers));
  const TensorType nhwc = {DType::F32, {1, 1, 2, 3}, Layout::Nhwc};
  const ValueId y = graph.add_node(
      {.op = OpKind::Binary,
       .params =
           OpParams::of(OpKind::Binary, BinaryParams{.kind = kBinaryMul, .activation = kUnaryTanh}),
       .inputs = {x, c},
       .output = kNoId,
       .name = "mul"},
      "y", nhwc);
  graph.set_outputs({y});
  CHECK(print(graph) ==
        "graph odd \"name\"\\u000a\n"
        "input %x : f32[1,1,2,3]\n"
        "const %c : f32[1,1,1,3] = {1, 0.100000001, -2.49999999e-07}\n"
        "%y mul = Binary(%x, %c) {kind=Mul, activation=Tanh} : f32[1,1,2,3] nhwc\n"
        "output %y : f32[1,1,2,3] nhwc\n");
}

TEST_CASE("constants of every dtype are printed as numbers") {
  const struct {
    DType dtype;
    std::vector<uint8_t> bytes;
    const char* text;
  } cases[] = {
      {DType::F32, {0, 0, 0xc0, 0x3f}, "f32[1] = {1.5}"},
      {DType::F64, {0, 0, 0, 0, 0, 0, 0xf8, 0x3f}, "f64[1] = {1.5}"},
      {DType::F16, {0, 0x3e}, "f16[1] = {1.5}"},
      {DType::BF16, {0xc0, 0x3f}, "bf16[1] = {1.5}"},
      {DType::Bool, {1}, "bool[1] = {1}"},
      {DType::I8, {0xff}, "i8[1] = {-1}"},
      {DType::U8, {0xff}, "u8[1] = {255}"},
      {DType::I16, {0xff, 0xff}, "i16[1] = {-1}"},
      {DType::U16, {0xff, 0xff}, "u16[1] = {65535}"},
      {DType::I32, {0xff, 0xff, 0xff, 0xff}, "i32[1] = {-1}"},
      {DType::U32, {0xff, 0xff, 0xff, 0xff}, "u32[1] = {4294967295}"},
      {DType::I64, std::vector<uint8_t>(8, 0xff), "i64[1] = {-1}"},
      {DType::U64, std::vector<uint8_t>(8, 0xff), "u64[1] = {18446744073709551615}"},
  };
  for (const auto& constant : cases) {
    Chain chain;
    chain.graph.add_constant("k", {constant.dtype, {1}}, constant.bytes);
    CHECK(print(chain.graph).find(std::string("const %k : ") + constant.text + "\n") !=
          std::string::npos);
  }
}

}  // namespace codl::ir
