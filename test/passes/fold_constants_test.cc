#include "compiler/interp/interpreter.h"
#include "test/passes/pass_text.h"

namespace codl::test {
namespace {
const compiler::Pass kFoldConstants[] = {{"fold_constants", compiler::fold_constants}};
}

TEST_CASE("nodes over constants become constants, through a row of them") {
  const char* model = R"(
    g (float[3] x) => (float[3] y) <float[3] a = {1, 2, 3}, float[1] b = {10}>
    { sum = Add(a, b)
      scaled = Mul(sum, sum)
      y = Sub(x, scaled) })";
  CHECK(after(model, kFoldConstants) ==
        "input %x : f32[3]\n"
        "%y y = Binary(%x, %scaled) {kind=Sub} : f32[3]\n"
        "output %y : f32[3]\n");
  CHECK(constant_after(model, kFoldConstants, "scaled") ==
        "const %scaled : f32[3] = {121, 144, 169}");
}

TEST_CASE("an output may become a constant") {
  const char* model = "g (float[1] x) => (float[1] y) <float[1] a = {-2}> { y = Relu(a) }";
  CHECK(after(model, kFoldConstants) == "input %x : f32[1]\noutput %y : f32[1]\n");
}

TEST_CASE("a broadcast does not fill the plan") {
  // 2^13 * 2^13 elements are more than the pass stores.
  ir::Graph graph;
  llvm::SmallVector<ir::ValueId, 4> operands;
  for (const ir::Dims& dims : {ir::Dims{1 << 13, 1}, ir::Dims{1, 1 << 13}})
    operands.push_back(graph.add_constant(std::to_string(operands.size()), {DType::F32, dims},
                                          std::vector<uint8_t>(size_t{4} << 13)));
  const auto params = ir::OpParams::of(OpKind::Binary, BinaryParams{.kind = kBinaryAdd});
  graph.set_outputs({graph.add_node({OpKind::Binary, params, operands, ir::kNoId, "add"}, "y",
                                    {DType::F32, {1 << 13, 1 << 13}})});
  REQUIRE(error_of(compiler::fold_constants(graph)) == "");
  CHECK(graph.nodes().size() == 1);
}

TEST_CASE("a few bytes do not become a large plan") {
  // The graph has 64 tables of 4 MiB.
  ir::Graph graph;
  llvm::SmallVector<ir::ValueId, 4> operands;
  for (const ir::Dims& dims : {ir::Dims{1 << 10, 1}, ir::Dims{1, 1 << 10}})
    operands.push_back(graph.add_constant(std::to_string(operands.size()), {DType::F32, dims},
                                          std::vector<uint8_t>(size_t{4} << 10)));
  const auto params = ir::OpParams::of(OpKind::Binary, BinaryParams{.kind = kBinaryAdd});
  llvm::SmallVector<ir::ValueId, 4> tables;
  for (int i = 0; i < 64; ++i)
    tables.push_back(graph.add_node({OpKind::Binary, params, operands, ir::kNoId, "add"},
                                    "table" + std::to_string(i), {DType::F32, {1 << 10, 1 << 10}}));
  graph.set_outputs(tables);
  REQUIRE(error_of(compiler::fold_constants(graph)) == "");
  int64_t bytes = 0;
  for (const ir::Value& value : graph.values()) bytes += static_cast<int64_t>(value.bytes.size());
  CHECK(bytes <= (int64_t{1} << 26) + 3 * (int64_t{4} << 10));
}

TEST_CASE("a product that takes long is left to the run") {
  // 2048^3 multiply-adds, and 2^24 bytes of weights; the result would fit.
  ir::Graph graph;
  const ir::TensorType square = {DType::F32, {2048, 2048}};
  const ir::ValueId a = graph.add_constant("a", square, std::vector<uint8_t>(size_t{4} << 22));
  const ir::ValueId x = graph.add_constant("x", {DType::F32, {2}}, std::vector<uint8_t>(8));
  const auto params = ir::OpParams::of(OpKind::BatchMatMul, BatchMatMulParams{});
  const auto negation = ir::OpParams::of(OpKind::Unary, UnaryParams{.kind = kUnaryNeg});
  graph.set_outputs(
      {graph.add_node({OpKind::BatchMatMul, params, {a, a}, ir::kNoId, "product"}, "y", square),
       graph.add_node({OpKind::Unary, negation, {x}, ir::kNoId, "negation"}, "z",
                      {DType::F32, {2}})});
  REQUIRE(error_of(compiler::fold_constants(graph)) == "");
  REQUIRE(graph.nodes().size() == 1);  // the cheap node after it has been computed
  CHECK(graph.node(0).name == "product");
}

TEST_CASE("a window of a million elements is left to the run") {
  const char* model = R"(
    g (float[1] x) => (float[1] y) <int64[4] dims = {1, 1, 2000, 2000}>
    { a = ConstantOfShape(dims)
      b = MaxPool<kernel_shape = [1000, 1000]>(a)
      c = ReduceMax<axes = [0, 1, 2, 3], keepdims = 0>(b)
      y = Add(x, c) })";
  CHECK(after(model, kFoldConstants).find("Pool2d") != std::string::npos);
}

TEST_CASE("what nobody needs is not computed") {
  ir::Graph graph;
  const ir::TensorType type = {DType::F32, {2}};
  const ir::ValueId x = graph.add_constant("x", type, std::vector<uint8_t>(8));
  const auto negation = ir::OpParams::of(OpKind::Unary, UnaryParams{.kind = kUnaryNeg});
  graph.add_node({OpKind::Unary, negation, {x}, ir::kNoId, "unused"}, "y", type);
  graph.set_outputs({graph.add_node({OpKind::Unary, negation, {x}, ir::kNoId, "used"}, "z", type)});
  REQUIRE(error_of(compiler::fold_constants(graph)) == "");
  REQUIRE(graph.nodes().size() == 1);
  CHECK(graph.node(0).name == "unused");
}

}  // namespace codl::test
