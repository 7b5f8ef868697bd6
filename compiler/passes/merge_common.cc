// Computes a value once where several nodes compute the same.
//
// Needs:   nodes of one operator with the same parameters and operands; constants count as the same
//          if their types and bytes are equal.
// Gives:   the first of them, which all readers of the others read. A node whose result leaves the
//          network stays, because each output has memory of its own. Numerics are unchanged.
// Order:   after fold_constants, which leaves fewer nodes to compare; before eliminate_dead and the
//          fusions, which count the readers of a value.
#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace codl::compiler {
namespace {

// Returns for each value the first that holds the same; constants are compared by their contents.
std::vector<ir::ValueId> first_alike(const ir::Graph& graph) {
  std::vector<ir::ValueId> alike(graph.values().size());
  std::iota(alike.begin(), alike.end(), 0);
  std::multimap<std::pair<std::string, size_t>, ir::ValueId> seen;
  for (ir::ValueId id = 0; id < graph.values().size(); ++id) {
    const ir::Value& value = graph.value(id);
    if (!value.is_constant || value.bytes.size() == 0) continue;
    const llvm::ArrayRef<uint8_t> bytes = value.as<uint8_t>();
    // A few bytes tell most constants apart.
    const std::string key = ir::to_string(value.type) +
                            std::string(bytes.take_front(64).begin(), bytes.take_front(64).end());
    const auto [begin, end] = seen.equal_range({key, bytes.size()});
    const auto found = std::find_if(begin, end, [&](const auto& entry) {
      return graph.value(entry.second).template as<uint8_t>() == bytes;
    });
    if (found != end)
      alike[id] = found->second;
    else
      seen.insert({{key, bytes.size()}, id});
  }
  return alike;
}

// Tells nodes apart: operator, parameters, operands, result's type.
using Key = std::tuple<OpKind, std::vector<uint32_t>, std::vector<ir::ValueId>, std::string>;

}  // namespace

llvm::Error merge_common(ir::Graph& graph) {
  std::vector<bool> dead(graph.nodes().size(), false);
  std::vector<ir::ValueId> alike = first_alike(graph);
  std::map<Key, ir::ValueId> computed;
  for (ir::NodeId id = 0; id < graph.nodes().size(); ++id) {
    ir::Node& node = graph.node(id);
    std::vector<ir::ValueId> operands;
    for (ir::ValueId& input : node.inputs) {
      // Constants keep their own names where nothing is merged.
      if (!graph.value(input).is_constant) input = alike[input];
      operands.push_back(alike[input]);
    }
    Key key{node.op, node.params.words(), std::move(operands),
            ir::to_string(graph.value(node.output).type)};
    const auto [entry, is_first] = computed.try_emplace(std::move(key), node.output);
    if (is_first || graph.is_output(node.output)) continue;
    alike[node.output] = entry->second;
    dead[id] = true;
  }
  remove_dead(graph, dead);
  return llvm::Error::success();
}

}  // namespace codl::compiler
