// Tests the lists of forms, and that bytes and keys follow from the form.
#include "compiler/partition/forms.h"

#include "compiler/partition/kernel_choice.h"
#include "compiler/partition/options.h"
#include "compiler/partition/partition_plan.h"
#include "kernels/kernel_table.h"
#include "llvm/ADT/STLExtras.h"
#include "test/support/catch.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

TEST_CASE("every processor may have maps in buffers, and that is its last form") {
  const Layout layout = GENERATE(Layout::Nhwc, Layout::Image2d);
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm, layout);
  for (Processor processor : kProcessors) {
    const FormList forms = map_forms(processor, profile, ir::Precision::Fp32, false);
    CHECK(forms.back() == kBuffers);
    for (const FormPair& pair : map_form_pairs(profile, ir::Precision::Fp32, false))
      CHECK(llvm::is_contained(forms, pair[index_of(processor)]));
  }
}

TEST_CASE("only maps are in images") {
  test::GraphBuilder builder(16, 16, 16);
  const ir::Graph graph = builder.finish(builder.conv("a", builder.input(), 32));
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm, Layout::Image2d);
  for (const ir::Node& node : graph.nodes()) {
    const bool is_conv = node.op == OpKind::Conv2d;
    const FormList forms = map_forms({graph, node}, Processor::Gpu, profile);
    if (is_conv) CHECK(llvm::is_contained(forms, kImages));
    CHECK(is_image(form_with(graph.value(node.output), kImages)) ==
          is_map(graph.value(node.output).type));
  }
}

TEST_CASE("a value's bytes follow from its form") {
  ir::Value value;
  value.type = {DType::F32, {1, 6, 5, 7}, Layout::Nhwc};
  value.grid = {0.5f, -3};
  CHECK(value_shape(value, kBuffers, {}).bytes == 8 * 5 * 7 * 4);
  CHECK(value_shape(value, {Layout::Nhwc, DType::F16}, {}).bytes == 8 * 5 * 7 * 2);
  CHECK(value_shape(value, {Layout::Nhwc, DType::F16}, {1, 3}).bytes == 8 * 2 * 7 * 2);
  CHECK(value_shape(value, kImages, {}).bytes == 0);
  CHECK(value_shape(value, kBuffers, {}).scale == 0);
  const kernels::OperandShape bytes = value_shape(value, kByteBuffers, {1, 3});
  CHECK(bytes.bytes == 8 * 2 * 7);
  CHECK(bytes.scale == 0.5f);
  CHECK(bytes.zero_point == -3);
}

TEST_CASE("bytes are a form of nodes whose values lie on grids, in every precision") {
  ir::Graph graph = test::three_convs();
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm, Layout::Nhwc);
  const auto has_bytes = [&](ir::NodeId node, Processor processor) {
    return llvm::is_contained(map_forms({graph, graph.node(node)}, processor, profile),
                              kByteBuffers);
  };
  const auto precision = GENERATE(Precision::Fp32, Precision::Fp16, Precision::Auto);
  graph.set_precision(precision);
  ir::NodeId node = 1;  // reads the result of node 0, which is no output
  graph.value(graph.node(node).output).grid = {0.5f, 0};
  for (Processor processor : kProcessors) {
    CHECK(has_bytes(node, processor));
    CHECK_FALSE(has_bytes(0, processor));
  }
  // A value on no grid is floats beside bytes.
  CHECK(form_with(graph.value(graph.node(node).output), kByteBuffers).dtype == DType::I8);
  CHECK(form_with(graph.value(graph.node(node).inputs[0]), kByteBuffers).dtype == DType::F32);
  CHECK(has_grids(graph));
  const std::vector<FormPair> pairs = map_form_pairs(profile, precision, has_grids(graph));
  CHECK(llvm::is_contained(pairs, FormPair{kByteBuffers, kByteBuffers}));
}

TEST_CASE("parts in different forms are not alike, and their keys differ") {
  NodePartition buffers;
  buffers.node = 1;
  buffers.parts.push_back({Processor::Gpu, &kKernelInfos[0], kBuffers, {0, 1}, {0, 1}});
  for (Form form : {kImages, Form{Layout::Nhwc, DType::F16}}) {
    NodePartition other = buffers;
    other.parts[0].form = form;
    CHECK_FALSE(is_alike(buffers, other));
    CHECK(key_of(buffers) != key_of(other));
  }
}

}  // namespace
}  // namespace codl::compiler
