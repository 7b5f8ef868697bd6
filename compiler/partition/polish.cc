// Longer than 500 lines: each way to change a plan is a function, and all of them need the plan,
// its runs and its judge at hand.
#include "compiler/partition/polish.h"

#include <algorithm>
#include <random>

#include "compiler/partition/branch_regions.h"
#include "compiler/partition/runs.h"
#include "compiler/partition/split_geometry.h"
#include "compiler/partition/work_beside.h"

namespace codl::compiler {
namespace {

// A change is not judged where costs of segments say that it takes so many times as long and a
// synchronisation more: they are right about the half of all changes that cannot pay.
constexpr double kHopeless = 1.05;

// Of what is left of the budget when no single change helps, what is annealed with. How much slower
// a change may make the plan then, at first. Changes that are tried for each that is judged.
constexpr double kAnnealed = 0.8;
constexpr double kWarmth = 0.02;
constexpr uint32_t kTriesOfOne = 16;

// Nodes before and behind those that were moved, in which the plan is improved again.
constexpr ir::NodeId kAround = 1;

class Polisher {
 public:
  Polisher(const CostModel& costs, const PartitionOptions& options, uint32_t budget,
           JudgePlan judge)
      : costs_(costs),
        node_count_(static_cast<ir::NodeId>(costs.graph().nodes().size())),
        budget_(budget),
        judge_(judge),
        maker_(costs, options),
        judges_time_alone_(options.objective == Objective::Latency &&
                           !options.limits.limit_plans()),
        beside_us_(work_beside_us(costs)),
        regions_(branch_regions(costs.graph())) {}

  llvm::Expected<Polished> run(const PartitionPlan& seed) {
    runs_ = runs_of(seed);
    plan_.node_partitions.resize(node_count_);
    plan_.chains.resize(node_count_);
    for (const RunPtr& run : runs_) write(*run);
    ++evaluations_;
    llvm::Expected<int64_t> ns = judge_(plan_);
    if (!ns) return ns.takeError();
    now_ns_ = below_ns_ = *ns;
    improve(0, node_count_ - 1);
    if (const auto left =
            static_cast<uint32_t>(kAnnealed * (budget_ - std::min(evaluations_, budget_)))) {
      anneal(left);
      improve(0, node_count_ - 1);
    }
    // Counted: one whose nodes cannot be placed so judges nothing.
    for (uint32_t kicks = 0; kicks < budget_ && !is_over(); ++kicks) kick();
    if (error_) return std::move(*error_);
    return Polished{plan_of(runs_), now_ns_, evaluations_};
  }

 private:
  bool is_over() const { return error_.has_value() || evaluations_ >= budget_; }

  // ---- runs and plans

  // Puts the run into plan_, where a chain has the number of its first node.
  void write(const Run& run) {
    for (ir::NodeId node = run.first; node <= run.last; ++node) {
      plan_.chains[node].nodes.clear();
      NodePartition& node_partition = plan_.node_partitions[node];
      node_partition = run.segment.node_partitions[node - run.first];
      node_partition.chain = run.count() > 1 ? static_cast<int32_t>(run.first) : -1;
      if (run.count() > 1) plan_.chains[run.first].nodes.push_back(node);
    }
  }

  // ---- the search

  // Changes at nodes [first, last] until none helps.
  void improve(ir::NodeId first, ir::NodeId last) {
    bool has_improved = true;
    while (has_improved && !is_over()) {
      has_improved = false;
      // Positions are nodes, as runs come and go.
      for (ir::NodeId node = first; node <= last && !is_over(); ++node)
        has_improved |= improve_at(node);
      has_improved |= improve_branches(first, last);
    }
  }

  // Some nodes somewhere else, and what is best around them then; all as it was if that is no
  // better.
  void kick() {
    const Runs runs = runs_;
    const int64_t ns = now_ns_;
    const ir::NodeId first = draw(node_count_);
    const ir::NodeId last = std::min(first + draw(3), node_count_ - 1);
    below_ns_ = INT64_MAX;  // whatever comes is kept
    if (try_apart(first, last, random_how()))
      improve(first < kAround ? 0 : first - kAround, std::min(last + kAround, node_count_ - 1));
    if (now_ns_ < ns)
      below_ns_ = now_ns_;
    else
      go_back_to(runs, ns);
  }

  How random_how() {
    constexpr Placement kPlacements[] = {Placement::Cpu, Placement::Gpu, Placement::Height,
                                         Placement::OutputChannel};
    const Placement placement = kPlacements[draw(4)];
    const double gpu_share = (1 + draw(7)) / 8.0;
    const llvm::ArrayRef<Layout> layouts = costs_.gpu_maps();
    return {placement, gpu_share, layouts[layouts.size() > 1 ? draw(2) : 0]};
  }

  // Random changes, so many of them judged; of those that make the plan slower some are kept, less
  // and less slow ones; then the best of all.
  void anneal(uint32_t evaluations) {
    Runs best = runs_;
    int64_t best_ns = now_ns_;
    const uint32_t begin = evaluations_;
    // Counted: one whose nodes cannot be placed so judges nothing.
    for (uint32_t tries = 0; tries / kTriesOfOne < evaluations && !is_over(); ++tries) {
      const double done = static_cast<double>(evaluations_ - begin) / evaluations;
      if (done >= 1) break;
      const double chance = draw_share();
      below_ns_ = now_ns_ + 1 +
                  static_cast<int64_t>(static_cast<double>(now_ns_) * kWarmth * (1 - done) *
                                       chance * chance * chance);
      change_somewhere();
      if (now_ns_ >= best_ns) continue;
      best = runs_;
      best_ns = now_ns_;
    }
    go_back_to(best, best_ns);
  }

  void change_somewhere() {
    const ir::NodeId node = draw(node_count_);
    const RunPtr run_held = held_at(node);
    const Run& run = *run_held;
    How how = run.how;
    const auto count = static_cast<ir::NodeId>(run.count());
    switch (draw(6)) {
      case 0:
      case 1:  // another cut
        if (!how.is_split()) return;
        how.gpu_share = std::clamp(how.gpu_share + 0.16 * (draw_share() - 0.5), 0.01, 0.99);
        try_place(run.first, run.last, how);
        return;
      case 2:  // nodes of the next run, or all of it
        if (run.last + 1 >= node_count_) return;
        if (!how.is_split()) how = run_at(run.last + 1).how;
        how.placement = Placement::Height;
        try_place(run.first,
                  draw(2) == 0 ? run_at(run.last + 1).last
                               : std::min(run.last + 1 + draw(3), node_count_ - 1),
                  how);
        return;
      case 3:  // two runs of one
        if (count < 2) return;
        try_place(run.first, run.first + draw(count - 1), how);
        return;
      case 4:  // the last nodes to the next
        if (run.last + 1 >= node_count_ || !run_at(run.last + 1).how.is_split()) return;
        how = run_at(run.last + 1).how;
        how.placement = Placement::Height;
        try_place(run.last - std::min(draw(3), count - 1), run_at(run.last + 1).last, how);
        return;
      default:
        try_apart(node, std::min(node + draw(3), node_count_ - 1), random_how());
    }
  }

  void go_back_to(const Runs& runs, int64_t ns) {
    now_ns_ = below_ns_ = ns;
    auto now = runs_.begin();
    for (const RunPtr& run : runs) {
      while (now != runs_.end() && (*now)->first < run->first) ++now;
      if (now == runs_.end() || *now != run) write(*run);
    }
    runs_ = runs;
  }

  // Below `count`. The engine's numbers are the standard's, those of its distributions are not.
  ir::NodeId draw(ir::NodeId count) { return static_cast<ir::NodeId>(random_() % count); }
  // In [0, 1).
  double draw_share() { return static_cast<double>(random_() >> 8) / 16777216.0; }

  // ---- changes

  // Puts nodes [first, last] into one run, or, on one processor, runs of one node. True if the plan
  // is kept.
  bool try_place(ir::NodeId first, ir::NodeId last, const How& how) {
    return try_runs(first, last, [&](Runs& runs) { return maker_.add(runs, first, last, how); });
  }

  // The same with a run for each node; those that cannot be split so stay on the CPU.
  bool try_apart(ir::NodeId first, ir::NodeId last, const How& how) {
    return try_runs(first, last, [&](Runs& runs) {
      const How on_cpu{Placement::Cpu, 0, how.maps};
      for (ir::NodeId node = first; node <= last; ++node)
        if (!maker_.add(runs, node, node, how) && !maker_.add(runs, node, node, on_cpu))
          return false;
      return true;
    });
  }

  // Nodes [first, last] in the runs that `add` appends; other nodes of their old runs stay as they
  // are placed.
  bool try_runs(ir::NodeId first, ir::NodeId last, llvm::function_ref<bool(Runs& runs)> add) {
    if (is_over() || last >= node_count_ || first > last) return false;
    const size_t begin = index_at(first);
    const size_t end = index_at(last) + 1;
    Runs runs;
    const Run& head = *runs_[begin];
    const Run& tail = *runs_[end - 1];
    if (head.first < first && !maker_.add(runs, head.first, first - 1, head.how)) return false;
    if (!add(runs)) return false;
    if (tail.last > last && !maker_.add(runs, last + 1, tail.last, tail.how)) return false;
    return try_stretch(begin, end, std::move(runs));
  }

  // Nodes [first, last], of which `how_of` says how: null leaves them as they are. Neighbours of
  // one run that go to one place are one run there, too.
  bool try_places(ir::NodeId first, ir::NodeId last,
                  llvm::function_ref<const How*(ir::NodeId node)> how_of) {
    if (is_over()) return false;
    const size_t begin = index_at(first);
    const size_t end = index_at(last) + 1;
    Runs runs;
    for (size_t i = begin; i < end; ++i) {
      const RunPtr& run = runs_[i];
      for (ir::NodeId node = run->first; node <= run->last;) {
        const How* how = how_of(node);
        ir::NodeId until = node;
        while (until < run->last && how_of(until + 1) == how) ++until;
        if (how == nullptr && node == run->first && until == run->last)
          runs.push_back(run);
        else if (!maker_.add(runs, node, until, how == nullptr ? run->how : *how))
          return false;
        node = until + 1;
      }
    }
    return try_stretch(begin, end, std::move(runs));
  }

  // Runs [begin, end) replaced by others of the same nodes. True if the plan is kept.
  bool try_stretch(size_t begin, size_t end, Runs runs) {
    const llvm::ArrayRef<RunPtr> old = llvm::makeArrayRef(runs_).slice(begin, end - begin);
    if (is_alike(old, runs)) return false;
    if (judges_time_alone_ && below_ns_ != INT64_MAX && is_hopeless(begin, end, runs)) return false;
    for (const RunPtr& run : runs) write(*run);
    ++evaluations_;
    llvm::Expected<int64_t> ns = judge_(plan_);
    if (!ns) error_.emplace(ns.takeError());
    if (error_ || *ns >= below_ns_) {
      for (const RunPtr& run : old) write(*run);
      return false;
    }
    now_ns_ = below_ns_ = *ns;
    const size_t kept = std::min(runs.size(), end - begin);
    std::move(runs.begin(), runs.begin() + static_cast<ptrdiff_t>(kept),
              runs_.begin() + static_cast<ptrdiff_t>(begin));
    const auto at = runs_.begin() + static_cast<ptrdiff_t>(begin + kept);
    if (kept < end - begin)
      runs_.erase(at, runs_.begin() + static_cast<ptrdiff_t>(end));
    else
      runs_.insert(at, runs.begin() + static_cast<ptrdiff_t>(kept), runs.end());
    return true;
  }

  // Whether `runs` take much longer by costs of segments than runs [begin, end), with what else
  // could be done meanwhile: that costs of segments leave out.
  bool is_hopeless(size_t begin, size_t end, llvm::ArrayRef<RunPtr> runs) const {
    const ir::NodeId first = runs_[begin]->first;
    const ir::NodeId last = runs_[end - 1]->last;
    const double hidden_us =
        *std::max_element(beside_us_.begin() + first, beside_us_.begin() + last + 1);
    const llvm::ArrayRef<RunPtr> old = llvm::makeArrayRef(runs_).slice(begin, end - begin);
    return segments_us(begin, end, runs) >
           kHopeless * segments_us(begin, end, old) + costs_.synchronisation_us() + hidden_us;
  }

  // Of `runs` in the place of runs [begin, end), with what is transferred before them and behind.
  double segments_us(size_t begin, size_t end, llvm::ArrayRef<RunPtr> runs) const {
    double us = 0;
    ValuePlace before;
    if (begin > 0) before = place_of(*runs_[begin - 1]);
    const auto transfer_us = [&](const Run& run) {
      return costs_.transfer_us(run.first, run.last, before, run.segment);
    };
    for (const RunPtr& run : runs) {
      us += transfer_us(*run) + compute_us(*run);
      before = place_of(*run);
    }
    return end < runs_.size() ? us + transfer_us(*runs_[end]) : us;
  }

  size_t index_at(ir::NodeId node) const {
    const auto at = std::partition_point(runs_.begin(), runs_.end(),
                                         [&](const RunPtr& run) { return run->last < node; });
    return static_cast<size_t>(at - runs_.begin());
  }
  const Run& run_at(ir::NodeId node) const { return *runs_[index_at(node)]; }
  // For longer than the next change.
  RunPtr held_at(ir::NodeId node) const { return runs_[index_at(node)]; }

  bool improve_at(ir::NodeId node) {
    if (run_at(node).first != node) return false;
    bool has_improved = false;
    has_improved |= improve_share(node);
    has_improved |= improve_ends(node);
    has_improved |= improve_placement(node);
    has_improved |= improve_window(node);
    return has_improved;
  }

  // Moves the cut, by less and less.
  bool improve_share(ir::NodeId node) {
    bool has_improved = false;
    for (double step : {0.08, 0.04, 0.02, 0.01}) {
      for (double sign : {1.0, -1.0}) {
        while (!is_over()) {
          const RunPtr run_held = held_at(node);
          const Run& run = *run_held;
          if (!run.how.is_split()) return has_improved;
          How how = run.how;
          how.gpu_share += sign * step;
          if (how.gpu_share <= 0 || how.gpu_share >= 1 || is_same_cut(run, how.gpu_share)) break;
          if (!try_place(run.first, run.last, how)) break;
          has_improved = true;
        }
      }
    }
    return has_improved;
  }

  bool is_same_cut(const Run& run, double share) const {
    const SplitDim dim =
        run.how.placement == Placement::Height ? SplitDim::Height : SplitDim::OutputChannel;
    for (ir::NodeId node = run.first; node <= run.last; ++node) {
      const std::optional<SplitRule> rule =
          split_rule({costs_.graph(), costs_.graph().node(node)}, dim);
      if (!rule || cut_at(*rule, share) != cut_at(*rule, run.how.gpu_share)) return false;
    }
    return true;
  }

  // Joins the run with the next, takes a node from that, cuts the run in the middle, lets its last
  // node go.
  bool improve_ends(ir::NodeId node) {
    bool has_improved = false;
    while (!is_over()) {
      const RunPtr run_held = held_at(node);
      const Run& run = *run_held;
      if (run.last + 1 >= node_count_) break;
      const RunPtr next_held = held_at(run.last + 1);
      const Run& next = *next_held;
      How joined = run.how.is_split() ? run.how : next.how;
      joined.placement = Placement::Height;
      const bool is_chain = run.how.placement == Placement::Height;
      const bool is_chain_next = next.how.placement == Placement::Height;
      if ((is_chain || is_chain_next) && try_place(run.first, next.last, joined)) {
        has_improved = true;
        continue;
      }
      if (is_chain && is_chain_next && next.count() > 1 &&
          try_place(run.first, run.last + 1, joined)) {
        has_improved = true;
        continue;
      }
      break;
    }
    const RunPtr run_held = held_at(node);
    const Run& run = *run_held;
    if (run.count() > 1) {
      const ir::NodeId middle = run.first + (run.last - run.first) / 2;
      has_improved |= try_place(run.first, middle, run.how);
      const RunPtr now_held = held_at(node);
      const Run& now = *now_held;
      if (now.count() > 1) has_improved |= try_place(now.last, now.last, now.how);
    }
    return has_improved;
  }

  // The places on one processor.
  llvm::SmallVector<How, 3> whole_places() const {
    llvm::SmallVector<How, 3> places = {How{}};
    for (Layout maps : costs_.gpu_maps()) places.push_back({Placement::Gpu, 0, maps});
    return places;
  }

  bool improve_placement(ir::NodeId node) {
    bool has_improved = false;
    for (const How& how : whole_places()) {
      const RunPtr run_held = held_at(node);
      const Run& run = *run_held;
      if (!is_placed(run.first, run.first, how))
        has_improved |= try_place(run.first, run.last, how);
    }
    for (Placement placement : {Placement::Height, Placement::OutputChannel}) {
      const RunPtr run_held = held_at(node);
      const Run& run = *run_held;
      const ir::NodeId last = placement == Placement::Height ? run.last : run.first;
      const std::optional<BestSplit> best = best_split(run.first, last);
      if (!best) continue;
      if (run.how.placement == placement) {
        for (Layout maps : costs_.gpu_maps())
          if (maps != run.how.maps)
            has_improved |= try_place(run.first, last, {placement, run.how.gpu_share, maps});
        continue;
      }
      for (double share : {best->gpu_share, 0.25, 0.5, 0.75})
        has_improved |= try_place(run.first, last, {placement, share, best->maps});
    }
    return has_improved;
  }

  // Nodes from here on, more and more of them: on one processor, in one chain, each split.
  bool improve_window(ir::NodeId node) {
    bool has_improved = false;
    for (ir::NodeId length : {2, 4, 8, 16}) {
      const ir::NodeId last = node + length - 1;
      if (last >= node_count_) break;
      for (const How& how : whole_places())
        if (!is_placed(node, last, how)) has_improved |= try_place(node, last, how);
      const std::optional<BestSplit> best = best_split(node, last);
      if (!best) continue;
      const How split{Placement::Height, best->gpu_share, best->maps};
      if (!is_placed(node, last, split)) has_improved |= try_place(node, last, split);
      has_improved |= try_apart(node, last, split);
      // Elsewhere, too: to cut one of a chain apart ends it, and may only pay for both.
      if (length == 2)
        for (double share : {0.25, 0.5, 0.75})
          has_improved |= try_apart(node, last, {Placement::Height, share, best->maps});
    }
    return has_improved;
  }

  // Of regions between nodes [first, last], each branch whole on one processor, alone or with all
  // others on the other one.
  bool improve_branches(ir::NodeId first, ir::NodeId last) {
    bool has_improved = false;
    for (const BranchRegion& region : regions_) {
      if (region.branches.size() < 2 || region.branches.front().front() < first ||
          region.meeting > last)
        continue;
      for (const std::vector<ir::NodeId>& branch : region.branches)
        for (const How& how : whole_places()) {
          const auto is_in = [&](ir::NodeId node) {
            return std::binary_search(branch.begin(), branch.end(), node);
          };
          has_improved |= try_places(branch.front(), branch.back(),
                                     [&](ir::NodeId node) { return is_in(node) ? &how : nullptr; });
          How others;
          if (how.placement == Placement::Cpu) others = {Placement::Gpu, 0, costs_.gpu_maps()[0]};
          has_improved |= try_places(region.branches.front().front(), region.meeting - 1,
                                     [&](ir::NodeId node) { return is_in(node) ? &how : &others; });
        }
    }
    return has_improved;
  }

  // The GPU's share at which both processors would end together, and the layout in which that is
  // most. Nothing if the nodes cannot be split.
  struct BestSplit {
    double gpu_share = 0;
    Layout maps = Layout::Nhwc;
  };
  std::optional<BestSplit> best_split(ir::NodeId first, ir::NodeId last) const {
    std::optional<BestSplit> best;
    for (Layout maps : costs_.gpu_maps()) {
      const std::optional<double> balanced = costs_.balanced_ratio(first, last, maps);
      if (balanced && (!best || *balanced > best->gpu_share)) best = BestSplit{*balanced, maps};
    }
    return best;
  }

  bool is_placed(ir::NodeId first, ir::NodeId last, const How& how) const {
    const auto is_so = [&](const Run& run) {
      if (run.how.placement != how.placement || how.placement == Placement::Cpu)
        return run.how.placement == how.placement;
      if (how.is_split()) return run.how.maps == how.maps;
      return costs_.gpu_maps_of(run.first, how.maps) == place_of(run).maps;
    };
    if (how.is_split()) return is_so(run_at(first)) && run_at(first).last >= last;
    for (ir::NodeId node = first; node <= last; ++node)
      if (!is_so(run_at(node))) return false;
    return true;
  }

  const CostModel& costs_;
  const ir::NodeId node_count_;
  const uint32_t budget_;
  JudgePlan judge_;
  const RunMaker maker_;
  // Costs of segments say nothing of limits, and of other objectives.
  const bool judges_time_alone_;
  const std::vector<double> beside_us_;  // by node
  const std::vector<BranchRegion> regions_;
  Runs runs_;             // of the best plan
  PartitionPlan plan_;    // the same, or what is being judged
  int64_t now_ns_ = 0;    // of it
  int64_t below_ns_ = 0;  // a change is kept where it takes less; INT64_MAX: always
  uint32_t evaluations_ = 0;
  std::optional<llvm::Error> error_;
  std::mt19937 random_;  // of a fixed seed
};

}  // namespace

llvm::Expected<Polished> polish(const CostModel& costs, const PartitionOptions& options,
                                const PartitionPlan& seed, uint32_t budget, JudgePlan judge) {
  return Polisher(costs, options, budget, judge).run(seed);
}

}  // namespace codl::compiler
