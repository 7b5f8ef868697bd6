#include "llvm/Support/raw_ostream.h"
#include "test/passes/pass_text.h"

namespace codl::compiler {
namespace {

llvm::Error keep(ir::Graph&) { return llvm::Error::success(); }
llvm::Error rename_output(ir::Graph& graph) {
  graph.value(graph.outputs()[0]).name = "renamed";
  return llvm::Error::success();
}
llvm::Error break_types(ir::Graph& graph) {
  graph.value(graph.outputs()[0]).type.dims[0] = 7;
  return llvm::Error::success();
}

ir::Graph relu() {
  return test::value_of(
      import_onnx(test::onnx_model("g (float[2] x) => (float[2] y) { y = Relu(x) }"), "test"));
}

}  // namespace

TEST_CASE("the graph is dumped after the pass that was asked for") {
  ir::Graph graph = relu();
  std::string dump;
  llvm::raw_string_ostream os(dump);
  const Pass passes[] = {{"keep", keep}, {"rename_output", rename_output}};
  REQUIRE(test::error_of(run_passes(graph, passes, {"keep", &os})) == "");
  CHECK(os.str() ==
        "graph g\n"
        "input %x : f32[2]\n"
        "%y y = Unary(%x) {kind=Relu} : f32[2]\n"
        "output %y : f32[2]\n");
  CHECK(graph.value(graph.outputs()[0]).name == "renamed");
}

TEST_CASE("a pass that breaks the graph is named") {
  ir::Graph graph = relu();
  const Pass passes[] = {{"keep", keep}, {"break_types", break_types}};
  CHECK(test::error_of(run_passes(graph, passes, {})) ==
        "break_types: expected f32[2] as output of node 'y', found f32[7]");
}

}  // namespace codl::compiler
