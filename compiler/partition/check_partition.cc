// Checks a partition plan independently; partition_plan.h says what must hold.
#include <algorithm>

#include "compiler/ops/op_spec.h"
#include "compiler/partition/partition_plan.h"
#include "compiler/partition/split_geometry.h"
#include "compiler/support/error.h"
#include "llvm/ADT/STLExtras.h"

namespace codl::compiler {
namespace {

class Checker {
 public:
  Checker(const ir::Graph& graph, const PartitionPlan& plan) : graph_(graph), plan_(plan) {}

  llvm::Error run() {
    if (plan_.node_partitions.size() != graph_.nodes().size())
      return internal_error("partition", "expected one node_partition per node ({0}), found {1}",
                            graph_.nodes().size(), plan_.node_partitions.size());
    for (ir::NodeId id = 0; id < plan_.node_partitions.size(); ++id)
      if (llvm::Error error = check_node_partition(id)) return error;
    for (size_t i = 0; i < plan_.chains.size(); ++i)
      if (llvm::Error error = check_chain(static_cast<int32_t>(i))) return error;
    return llvm::Error::success();
  }

 private:
  llvm::Error check_node_partition(ir::NodeId id) {
    const NodePartition& node_partition = plan_.node_partitions[id];
    const ir::NodeView view{graph_, graph_.node(id)};
    const std::string& name = view.node.name;
    if (node_partition.node != id)
      return internal_error(name, "expected node_partition {0} to be of node {0}, found {1}", id,
                            node_partition.node);
    if (node_partition.parts.empty() || node_partition.parts.size() > 2)
      return internal_error(name, "expected one or two parts, found {0}",
                            node_partition.parts.size());
    if (node_partition.is_split() != (node_partition.dim != SplitDim::None))
      return internal_error(name, "expected a split dim if and only if there are two parts");
    if (node_partition.is_split() &&
        node_partition.parts[0].processor == node_partition.parts[1].processor)
      return internal_error(name, "expected the parts on different processors");

    int32_t extent = 1;
    int32_t granularity = 1;
    if (node_partition.is_split()) {
      const std::optional<SplitRule> rule = split_rule(view, node_partition.dim);
      if (!rule) return internal_error(name, "expected a dim the node can be cut along");
      extent = rule->extent;
      granularity = rule->granularity;
    }
    for (const Part& part : node_partition.parts) {
      if (part.kernel == nullptr || part.kernel->op != view.node.op ||
          part.kernel->processor != part.processor)
        return internal_error(name,
                              "expected a kernel of the node's operator on the part's processor");
      if (!llvm::is_contained(map_forms(part.processor), part.form))
        return internal_error(name, "expected a form that maps may have on the processor");
      if (part.form.dtype == DType::F16 &&
          (precision_of(view) == ir::Precision::Fp32 || !part.kernel->takes_halves()))
        return internal_error(name,
                              "expected values, and a kernel, that may have halves, found {0}",
                              part.kernel->symbol);
      if (part.form.dtype == DType::I8 && (!has_grids(view) || !part.kernel->takes_quantised()))
        return internal_error(name, "expected values, and a kernel, that may be bytes, found {0}",
                              part.kernel->symbol);
      if (is_map(view.output()) && (part.kernel->layout == Layout::Image2d) != is_image(part.form))
        return internal_error(name,
                              "expected a kernel that writes maps in the part's form, found {0}",
                              part.kernel->symbol);
      if (!part.kernel->can_split(node_partition.dim))
        return internal_error(name, "expected a kernel that computes parts, found {0}",
                              part.kernel->symbol);
      if (part.owned.empty() || !part.computed.contains(part.owned) ||
          !Range{0, extent}.contains(part.computed))
        return internal_error(
            name, "expected owned in computed in [0,{0}), found [{1},{2}) in [{3},{4})", extent,
            part.owned.begin, part.owned.end, part.computed.begin, part.computed.end);
      if (part.owned.begin % granularity != 0 ||
          (part.owned.end % granularity != 0 && part.owned.end != extent))
        return internal_error(name, "expected cuts at multiples of {0}, found [{1},{2})",
                              granularity, part.owned.begin, part.owned.end);
      if (part.boundary_first && node_partition.dim != SplitDim::Height)
        return internal_error(name, "expected rows at a cut that are computed first, found none");
      if (node_partition.chain < 0 && !(part.computed == part.owned))
        return internal_error(name, "expected computed to be owned outside a chain");
    }
    return check_tiling(name, node_partition, extent);
  }

  llvm::Error check_tiling(const std::string& name, const NodePartition& node_partition,
                           int32_t extent) {
    llvm::SmallVector<Range, 2> owned;
    for (const Part& part : node_partition.parts) owned.push_back(part.owned);
    std::sort(owned.begin(), owned.end(), [](Range a, Range b) { return a.begin < b.begin; });
    int32_t next = 0;
    for (Range range : owned) {
      if (range.begin != next)
        return internal_error(
            name, "expected owned ranges to tile [0,{0}), found a gap or overlap at {1}", extent,
            next);
      next = range.end;
    }
    if (next != extent)
      return internal_error(name, "expected owned ranges to tile [0,{0}), found an end at {1}",
                            extent, next);
    return llvm::Error::success();
  }

  llvm::Error check_chain(int32_t index) {
    const std::vector<ir::NodeId>& nodes = plan_.chains[static_cast<size_t>(index)].nodes;
    const std::string where = llvm::formatv("chain {0}", index).str();
    if (nodes.size() < 2)
      return internal_error(where, "expected two nodes or more, found {0}", nodes.size());
    if (!is_connected(graph_, nodes)) return internal_error(where, "expected connected nodes");
    if (!is_convex(nodes))
      return internal_error(where,
                            "expected a convex region, found a path that leaves and returns");
    for (ir::NodeId id : nodes) {
      const NodePartition& node_partition = plan_.node_partitions[id];
      if (node_partition.chain != index || node_partition.dim == SplitDim::None ||
          node_partition.dim != plan_.node_partitions[nodes.front()].dim)
        return internal_error(graph_.node(id).name,
                              "expected a member of chain {0} split along its dim", index);
      if (llvm::Error error = check_demand(id, index)) return error;
    }
    return llvm::Error::success();
  }

  // Every row, or channel, a processor's part of this node reads from inside the chain is computed
  // on that processor.
  llvm::Error check_demand(ir::NodeId user, int32_t chain) {
    const ir::NodeView view{graph_, graph_.node(user)};
    for (uint32_t operand = 0; operand < view.input_count(); ++operand) {
      const ir::NodeId producer = view.input_value(operand).producer;
      if (producer == ir::kNoId || plan_.node_partitions[producer].chain != chain) continue;
      const SplitDim dim = plan_.node_partitions[user].dim;
      for (const Part& part : plan_.node_partitions[user].parts) {
        const Range reads = range_along(read_region(view, operand, dim, part.computed), dim);
        const Part* source = plan_.node_partitions[producer].part_on(part.processor);
        if (source == nullptr || !source->computed.contains(reads))
          return internal_error(view.node.name,
                                "expected {0} [{1},{2}) of {3} computed on the same processor",
                                dim == SplitDim::Height ? "rows" : "channels", reads.begin,
                                reads.end, graph_.node(producer).name);
      }
    }
    return llvm::Error::success();
  }

  // No path from a chain's node to another leaves the chain in between.
  bool is_convex(llvm::ArrayRef<ir::NodeId> nodes) const {
    // Such a path lies between the first and the last of them.
    const auto [first, last] = std::minmax_element(nodes.begin(), nodes.end());
    std::vector<bool> is_inside(*last - *first + 1, false);
    for (ir::NodeId id : nodes) is_inside[id - *first] = true;
    std::vector<bool> left_chain(is_inside.size(), false);  // outside, and reached from inside
    for (ir::NodeId id = *first; id <= *last; ++id) {
      const size_t at = id - *first;
      for (ir::ValueId input : graph_.node(id).inputs) {
        const ir::NodeId producer = graph_.value(input).producer;
        if (producer == ir::kNoId || producer < *first) continue;
        const size_t source = producer - *first;
        if (left_chain[source] && is_inside[at]) return false;
        if (!is_inside[at] && (is_inside[source] || left_chain[source])) left_chain[at] = true;
      }
    }
    return true;
  }

  const ir::Graph& graph_;
  const PartitionPlan& plan_;
};

}  // namespace

llvm::Error check_partition(const ir::Graph& graph, const PartitionPlan& plan) {
  return Checker(graph, plan).run();
}

}  // namespace codl::compiler
