#include "compiler/partition/user_places.h"

#include "compiler/partition/strategies/strategy.h"
#include "compiler/support/error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "tools/nearest.h"

namespace codl::compiler {
namespace {

std::optional<Segment> segment_of(const CostModel& costs, ir::NodeId node, const UserPlace& asked) {
  if (asked.processor) return costs.whole(node, *asked.processor);
  return costs.split(node, node, asked.split_dim, asked.gpu_share);
}

// Says where the node can be, such as "cpu, split:h".
std::string possible_places(const CostModel& costs, ir::NodeId node) {
  std::vector<std::string> names;
  if (costs.whole(node, Processor::Cpu)) names.emplace_back("cpu");
  if (costs.whole(node, Processor::Gpu)) names.emplace_back("gpu");
  if (costs.split(node, node, SplitDim::Height, 0.5)) names.emplace_back("split:h");
  if (costs.split(node, node, SplitDim::OutputChannel, 0.5)) names.emplace_back("split:oc");
  return llvm::join(names, ", ");
}

}  // namespace

llvm::Expected<UserPlaces> UserPlaces::create(const CostModel& costs,
                                              llvm::ArrayRef<UserPlace> asked) {
  UserPlaces places(costs);
  std::vector<std::string> names;
  for (const ir::Node& node : costs.graph().nodes()) names.push_back(node.name);
  for (const UserPlace& one : asked) {
    const auto found = llvm::find(names, one.node);
    if (found == names.end())
      return input_error("--place", "expected a node of the graph (--dump=graph), found \"{0}\"{1}",
                         one.node, tools::suggestion(one.node, names));
    const auto node = static_cast<ir::NodeId>(found - names.begin());
    for (const Place& known : places.places_)
      if (known.node == node)
        return input_error("--place", "expected each node once, found \"{0}\" again", one.node);
    std::optional<Segment> segment = segment_of(costs, node, one);
    if (!segment)
      return make_error(ExitCode::Limit, costs.profile().name,
                        llvm::formatv("expected a kernel for node \"{0}\" where --place puts it, "
                                      "found that it can be: {1}",
                                      one.node, possible_places(costs, node))
                            .str());
    places.places_.push_back({node, std::move(*segment)});
  }
  llvm::sort(places.places_, [](const Place& a, const Place& b) { return a.node < b.node; });
  return places;
}

bool UserPlaces::is_kept(const Place& place, const NodePartition& node_partition) {
  const NodePartition& asked = place.segment.node_partitions.front();
  if (asked.dim != node_partition.dim || asked.parts.size() != node_partition.parts.size())
    return false;
  return llvm::all_of(asked.parts, [&](const Part& part) {
    const Part* found = node_partition.part_on(part.processor);
    return found != nullptr && found->owned == part.owned;
  });
}

bool UserPlaces::are_kept(const PartitionPlan& plan) const {
  return llvm::all_of(places_, [&](const Place& place) {
    return is_kept(place, plan.node_partitions[place.node]);
  });
}

llvm::Error UserPlaces::apply(PartitionPlan& plan) const {
  if (are_kept(plan)) return llvm::Error::success();
  PartitionPlan placed;
  placed.not_split_as_forced = plan.not_split_as_forced;
  // Appends the nodes [first, end) of a segment, cut as they were, by the share of the first.
  const auto append = [&](ir::NodeId first, ir::NodeId end) -> llvm::Error {
    if (first == end) return llvm::Error::success();
    const NodePartition& head = plan.node_partitions[first];
    if (!head.is_split() || head.chain < 0) {
      append_segment(placed, {{head}, {}, 0});
      placed.node_partitions.back().chain = -1;
      return llvm::Error::success();
    }
    const Part* gpu = head.part_on(Processor::Gpu);
    const double rows = gpu->owned.count() + head.part_on(Processor::Cpu)->owned.count();
    // Without its last nodes a chain needs a smaller halo; without those in the middle it may not
    // be connected: then each node is placed by itself.
    if (auto chain =
            costs_->split(first, end - 1, head.dim, gpu->owned.count() / rows, forms_of(head))) {
      append_segment(placed, std::move(*chain));
      return llvm::Error::success();
    }
    for (ir::NodeId node = first; node < end; ++node) {
      auto alone = costs_->split(node, node, head.dim, gpu->owned.count() / rows, forms_of(head));
      if (!alone) alone = costs_->whole(node, Processor::Cpu);
      if (!alone)
        return internal_error(costs_->graph().node(node).name,
                              "expected a place for a node that has left its chain");
      append_segment(placed, std::move(*alone));
    }
    return llvm::Error::success();
  };
  for (ir::NodeId first = 0; first < plan.node_partitions.size();) {
    const ir::NodeId end = last_of_segment(plan, first) + 1;
    std::vector<const Place*> inside;
    bool is_segment_kept = true;
    for (const Place& place : places_) {
      if (place.node < first || place.node >= end) continue;
      inside.push_back(&place);
      is_segment_kept &= is_kept(place, plan.node_partitions[place.node]);
    }
    if (is_segment_kept) {
      Segment kept;
      for (ir::NodeId node = first; node < end; ++node)
        kept.node_partitions.push_back(plan.node_partitions[node]);
      append_segment(placed, std::move(kept));
      first = end;
      continue;
    }
    for (const Place* place : inside) {
      if (llvm::Error error = append(first, place->node)) return error;
      append_segment(placed, place->segment);
      first = place->node + 1;
    }
    if (llvm::Error error = append(first, end)) return error;
    first = end;
  }
  plan = std::move(placed);
  return llvm::Error::success();
}

}  // namespace codl::compiler
