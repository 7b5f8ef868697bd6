// Whole branches on different processors at the same time, no node split: what uLayer calls branch
// distribution.
//
// Between two nodes that every path passes lie branches that have nothing to do with each other.
// Those of each such region are shared out, at the least time of the processor that ends last, with
// what is transferred where they begin and where they meet; dynamic programming over the regions,
// by where the node between them is.
#include <algorithm>
#include <array>
#include <limits>

#include "compiler/partition/branch_regions.h"
#include "compiler/partition/strategies/strategy.h"

namespace codl::compiler {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// More branches than that are shared out largest first instead of in every way.
constexpr size_t kMaxTried = 8;

struct Branch {
  std::vector<ir::NodeId> nodes;
  std::array<double, 2> us = {};     // of all of it, by processor; infinite where it cannot be
  std::array<double, 2> moved = {};  // of that, what comes from the other processor at its start
};

// Nodes up to one that every path passes, which is the last, and the branches before it.
struct Region {
  std::vector<Branch> branches;
  ir::NodeId meeting = ir::kNoId;
};

struct SharedOut {
  double us = kNever;
  size_t before = 0;          // where the meeting node of the region before is
  std::vector<size_t> where;  // by branch
};

class BranchSharing {
 public:
  explicit BranchSharing(const CostModel& costs)
      : costs_(costs),
        graph_(costs.graph()),
        node_count_(static_cast<ir::NodeId>(graph_.nodes().size())) {}

  llvm::Expected<PartitionPlan> run() {
    find_regions();
    std::vector<std::array<SharedOut, 2>> states(regions_.size() + 1);
    states[0][index_of(Processor::Cpu)].us = 0;  // the inputs are the application's
    for (size_t i = 0; i < regions_.size(); ++i)
      for (size_t from = 0; from < 2; ++from)
        for (size_t to = 0; to < 2; ++to)
          extend(states[i][from], from, regions_[i], to, states[i + 1][to]);
    const auto& ends = states.back();
    size_t at = ends[0].us <= ends[1].us ? 0 : 1;
    if (ends[at].us == kNever) return prefer_processor(costs_, Processor::Cpu);  // names them
    std::vector<size_t> place(node_count_);
    for (size_t i = regions_.size(); i-- > 0;) {
      const SharedOut& end = states[i + 1][at];
      place[regions_[i].meeting] = at;
      for (size_t k = 0; k < end.where.size(); ++k)
        for (ir::NodeId node : regions_[i].branches[k].nodes) place[node] = end.where[k];
      at = end.before;
    }
    PartitionPlan plan;
    for (ir::NodeId node = 0; node < node_count_; ++node)
      append_segment(plan, *at_place(node, place[node]));
    return plan;
  }

 private:
  // On the processor, or where it can be.
  std::optional<Segment> at_place(ir::NodeId node, size_t place) const {
    auto segment = costs_.whole(node, kProcessors[place]);
    return segment ? segment : costs_.whole(node, kProcessors[1 - place]);
  }

  // Of one node, and what its operands take from the other processor.
  double node_us(ir::NodeId node, size_t place) const {
    const auto segment = at_place(node, place);
    return segment ? segment->compute_us : kNever;
  }
  double move_us(ir::NodeId node, size_t from, size_t to) const {
    const auto segment = at_place(node, to);
    if (!segment || from == to) return 0;
    return costs_.transfer_us(
        from == 0 ? ValuePlace::on_cpu() : ValuePlace::on_gpu(costs_.gpu_maps().front()), *segment);
  }

  void find_regions() {
    ir::NodeId first = 0;
    for (const BranchRegion& found : branch_regions(graph_)) {
      Region& region = regions_.emplace_back();
      region.meeting = found.meeting;
      for (const std::vector<ir::NodeId>& nodes : found.branches) {
        region.branches.emplace_back();
        for (ir::NodeId node : nodes) add_node(region.branches.back(), first, node);
      }
      first = found.meeting + 1;
    }
  }

  void add_node(Branch& branch, ir::NodeId first, ir::NodeId node) const {
    branch.nodes.push_back(node);
    const bool reads_outside = llvm::any_of(graph_.node(node).inputs, [&](ir::ValueId input) {
      const ir::NodeId maker = graph_.value(input).producer;
      return maker != ir::kNoId && maker < first;
    });
    for (size_t place = 0; place < 2; ++place) {
      branch.us[place] += node_us(node, place);
      if (reads_outside) branch.moved[place] += move_us(node, 1 - place, place);
    }
  }

  void extend(const SharedOut& start, size_t from, const Region& region, size_t to,
              SharedOut& end) const {
    if (start.us == kNever) return;
    const auto offer = [&](std::vector<size_t> where) {
      std::array<double, 2> busy_us = {};
      double moved_us = 0;
      bool is_apart = region.branches.empty() && from != to;
      for (size_t k = 0; k < where.size(); ++k) {
        const Branch& branch = region.branches[k];
        busy_us[where[k]] += branch.us[where[k]];
        if (where[k] != from) moved_us += branch.moved[where[k]];
        is_apart = is_apart || where[k] != to;
      }
      if (is_apart) moved_us += move_us(region.meeting, 1 - to, to);
      const double us =
          start.us + std::max(busy_us[0], busy_us[1]) + moved_us + node_us(region.meeting, to);
      if (us < end.us) end = {us, from, std::move(where)};
    };
    const size_t count = region.branches.size();
    if (count <= kMaxTried) {
      for (size_t bits = 0; bits < size_t{1} << count; ++bits) {
        std::vector<size_t> where;
        for (size_t k = 0; k < count; ++k) where.push_back(bits >> k & 1);
        offer(std::move(where));
      }
      return;
    }
    for (size_t place = 0; place < 2; ++place) offer(std::vector<size_t>(count, place));
    offer(largest_first(region.branches));
  }

  // Each where both would end earliest.
  static std::vector<size_t> largest_first(llvm::ArrayRef<Branch> branches) {
    std::vector<size_t> order;
    for (size_t k = 0; k < branches.size(); ++k) order.push_back(k);
    const auto size = [&](size_t k) { return std::min(branches[k].us[0], branches[k].us[1]); };
    llvm::stable_sort(order, [&](size_t a, size_t b) { return size(a) > size(b); });
    std::vector<size_t> where(branches.size());
    std::array<double, 2> busy_us = {};
    for (size_t k : order) {
      where[k] = busy_us[0] + branches[k].us[0] <= busy_us[1] + branches[k].us[1] ? 0 : 1;
      busy_us[where[k]] += branches[k].us[where[k]];
    }
    return where;
  }

  const CostModel& costs_;
  const ir::Graph& graph_;
  const ir::NodeId node_count_;
  std::vector<Region> regions_;
};

}  // namespace

llvm::Expected<PartitionPlan> strategy_branches(const CostModel& costs, const PartitionOptions&) {
  return BranchSharing(costs).run();
}

}  // namespace codl::compiler
