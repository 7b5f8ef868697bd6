#include "compiler/interp/interpreter.h"
#include "test/passes/pass_text.h"

namespace codl::test {
namespace {

const compiler::Pass kFuseOneHot[] = {{"fold_constants", compiler::fold_constants},
                                      {"merge_common", compiler::merge_common},
                                      {"eliminate_dead", compiler::eliminate_dead},
                                      {"fold_batch_norm", compiler::fold_batch_norm},
                                      {"fuse_one_hot", compiler::fuse_one_hot}};

std::string one_hot_model(const std::string& nodes, const std::string& outputs = "float[4,2] y") {
  return "g (int32[4,1] x, int64[4,1] x64) => (" + outputs +
         ") <int32[3] places = {0, 1, 2}, int32[3] odd = {1, 2, 3}, "
         "int64[1,3] places64 = {0, 1, 2}, "
         "float[3,2] w = {1, 2, 3, 4, 5, 6}, float[2] b = {0.5, 0.25}, int64 depth = {3}, "
         "float[2] values = {0, 1}, float[2] others = {0, 2}, int64[1] last = {-1}> { " +
         nodes + " }";
}

}  // namespace

TEST_CASE("one-hot rows times a constant matrix are rows of a table") {
  const std::string text = after(
      one_hot_model("h = Equal(x, places) f = Cast<to = 1>(h) m = MatMul(f, w) y = Add(m, b)"),
      kFuseOneHot);
  CHECK(text ==
        "input %x : i32[4,1]\ninput %x64 : i64[4,1]\n"
        "%y.index y.index = Cast(%x) {to=2} : i64[4,1]\n"
        "%y.index.1 y.index.1 = Unary(%y.index) {kind=Clip, alpha=-1, beta=3} : i64[4,1]\n"
        "%y.index.2 y.index.2 = Reshape(%y.index.1) : i64[4]\n"
        "%y m = Gather(%w.table, %y.index.2) : f32[4,2]\noutput %y : f32[4,2]\n");
}

TEST_CASE("an index beyond the table gives the bias, as it does of one-hot rows") {
  const std::string text =
      one_hot_model("h = Equal(x64, places64) f = Cast<to = 1>(h) m = MatMul(f, w) y = Add(m, b)");
  ir::Graph graph = value_of(compiler::import_onnx(onnx_model(text), "test"));
  const int32_t unused[4] = {};
  const int64_t index[4] = {2, -1, 3, -3};
  const auto bytes = [](const auto& array) {
    const auto* first = reinterpret_cast<const uint8_t*>(array);
    return compiler::Bytes(first, first + sizeof(array));
  };
  const std::vector<compiler::Bytes> inputs = {bytes(unused), bytes(index)};
  const auto expected = value_of(compiler::interpret(graph, inputs));
  REQUIRE(error_of(compiler::run_passes(graph, kFuseOneHot, {})) == "");
  REQUIRE(ir::print(graph).find("Gather") != std::string::npos);
  CHECK(value_of(compiler::interpret(graph, inputs)) == expected);
  const float found[8] = {5.5f, 6.25f, 0.5f, 0.25f, 0.5f, 0.25f, 0.5f, 0.25f};
  CHECK(expected[0] == bytes(found));
}

TEST_CASE("ONNX's OneHot is one-hot, too") {
  CHECK(after(one_hot_model("i = Squeeze(x64, last) h = OneHot(i, depth, values) y = MatMul(h, w)"),
              kFuseOneHot)
            .find("Gather") != std::string::npos);
}

TEST_CASE("rows that are not one-hot, or that somebody else reads, stay") {
  for (const char* nodes : {
           "h = Equal(x, odd) f = Cast<to = 1>(h) y = MatMul(f, w)",
           "h = Greater(x, places) f = Cast<to = 1>(h) y = MatMul(f, w)",
           "i = Squeeze(x64, last) h = OneHot(i, depth, others) y = MatMul(h, w)",
       }) {
    INFO(nodes);
    CHECK(after(one_hot_model(nodes), kFuseOneHot).find("Gather") == std::string::npos);
  }
  CHECK(after(one_hot_model("h = Equal(x, places) f = Cast<to = 1>(h) y = MatMul(f, w)",
                            "float[4,2] y, float[4,3] f"),
              kFuseOneHot)
            .find("Gather") == std::string::npos);
}

}  // namespace codl::test
