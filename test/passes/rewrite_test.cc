#include "compiler/passes/rewrite.h"

#include <algorithm>
#include <random>

#include "test/support/catch.h"

namespace codl::compiler {
namespace {

const ir::TensorType kType = {DType::F32, {2, 3}};

ir::Node node_of(llvm::SmallVector<ir::ValueId, 4> inputs) {
  ir::Node node;
  node.op = OpKind::Concat;
  node.params = ir::OpParams::of(OpKind::Concat, ConcatParams{});
  node.inputs = std::move(inputs);
  return node;
}

TEST_CASE("a node that reads a value twice is one reader, a graph output is none") {
  ir::Graph graph;
  const ir::ValueId x = graph.add_input("x", kType);
  const ir::ValueId a = graph.add_node(node_of({x, x}), "a", kType);
  const ir::ValueId b = graph.add_node(node_of({a, a, x}), "b", kType);
  graph.set_outputs({b});
  const Readers readers(graph);
  CHECK(readers.count(x) == 2);
  CHECK(readers.count(a) == 1);
  CHECK(readers.count(b) == 0);
  CHECK(readers.sole_producer(a, 1) == 0);
  CHECK(readers.sole_producer(a, 0) == ir::kNoId);  // reads something else
  CHECK(readers.sole_producer(x, 1) == ir::kNoId);  // no node computes it
}

TEST_CASE("a value that the application reads has no sole reader") {
  ir::Graph graph;
  const ir::ValueId x = graph.add_input("x", kType);
  const ir::ValueId a = graph.add_node(node_of({x}), "a", kType);
  const ir::ValueId b = graph.add_node(node_of({a}), "b", kType);
  graph.set_outputs({a, b});
  CHECK(Readers(graph).sole_producer(a, 1) == ir::kNoId);
}

TEST_CASE("whatever nodes are replaced, readers are those of the graph as it is") {
  std::mt19937 random(3);  // fixed seed
  ir::Graph graph;
  graph.add_input("x", kType);
  for (int i = 0; i < 20; ++i)
    graph.add_node(node_of({static_cast<ir::ValueId>(random() % (i + 1))}), "v" + std::to_string(i),
                   kType);
  Readers readers(graph);
  for (int round = 0; round < 200; ++round) {
    const auto id = static_cast<ir::NodeId>(random() % 20);
    ir::Node node = graph.node(id);
    node.inputs.clear();
    for (size_t i = 0; i <= random() % 3; ++i)
      node.inputs.push_back(static_cast<ir::ValueId>(random() % graph.values().size()));
    if (round % 50 == 0)
      node.inputs.push_back(
          graph.add_constant("c" + std::to_string(round), kType, std::vector<uint8_t>(24)));
    readers.replace(id, node);
    for (ir::ValueId value = 0; value < graph.values().size(); ++value) {
      std::vector<ir::NodeId> expected;
      for (ir::NodeId reader = 0; reader < graph.nodes().size(); ++reader)
        if (llvm::is_contained(graph.node(reader).inputs, value)) expected.push_back(reader);
      REQUIRE(readers.count(value) == expected.size());
      for (ir::NodeId reader = 0; reader < graph.nodes().size(); ++reader) {
        const bool is_sole = expected == std::vector<ir::NodeId>{reader};
        REQUIRE(readers.sole_producer(value, reader) ==
                (is_sole ? graph.value(value).producer : ir::kNoId));
      }
    }
  }
}

TEST_CASE("new names count up, and none is given twice") {
  ir::Graph graph;
  graph.add_input("a", kType);
  graph.add_input("b", kType);
  graph.add_input("b.1", kType);
  NewNames names(graph);
  CHECK(names.take("new") == "new");
  CHECK(names.take("new") == "new.1");
  CHECK(names.take("a") == "a.1");
  CHECK(names.take("b") == "b.2");
  CHECK(names.take("a.1") == "a.1.1");
}

}  // namespace
}  // namespace codl::compiler
