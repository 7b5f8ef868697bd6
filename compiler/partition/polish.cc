#include "compiler/partition/polish.h"

#include <algorithm>
#include <random>

#include "compiler/partition/split_geometry.h"
#include "compiler/partition/strategies/strategy.h"
#include "compiler/partition/work_beside.h"

namespace codl::compiler {
namespace {

// How nodes are placed, before kernels are chosen.
struct How {
  Placement placement = Placement::Cpu;
  double gpu_share = 0;        // of a split
  Layout maps = Layout::Nhwc;  // that the GPU prefers

  bool is_split() const {
    return placement == Placement::Height || placement == Placement::OutputChannel;
  }
};

// Consecutive nodes of the graph that are placed alike.
struct Run {
  ir::NodeId first = 0;
  ir::NodeId last = 0;
  How how;
  Segment segment;  // what it comes to

  size_t count() const { return last - first + 1; }
};
using Runs = std::vector<Run>;

// A change is not judged where costs of segments say that it takes so many times as long and a
// hand-off more: they are right about the half of all changes that cannot pay.
constexpr double kHopeless = 1.05;

// Nodes before and behind those that were moved, in which the plan is improved again.
constexpr ir::NodeId kAround = 1;

class Polisher {
 public:
  Polisher(const CostModel& costs, const PartitionOptions& options, uint32_t budget,
           JudgePlan judge)
      : costs_(costs),
        options_(options),
        node_count_(static_cast<ir::NodeId>(costs.graph().nodes().size())),
        budget_(budget),
        judge_(judge),
        beside_us_(work_beside_us(costs)) {}

  llvm::Expected<Polished> run(const PartitionPlan& seed) {
    runs_ = runs_of(seed);
    if (llvm::Error error = judge_first(seed)) return error;
    improve(0, node_count_ - 1);
    // Counted: one whose nodes cannot be placed so judges nothing.
    for (uint32_t kicks = 0; kicks < budget_ && !is_over(); ++kicks) kick();
    if (error_) return std::move(*error_);
    return Polished{std::move(best_plan_), best_ns_, evaluations_};
  }

 private:
  bool is_over() const { return error_.has_value() || evaluations_ >= budget_; }

  llvm::Error judge_first(const PartitionPlan& seed) {
    ++evaluations_;
    llvm::Expected<int64_t> ns = judge_(seed);
    if (!ns) return ns.takeError();
    best_ns_ = *ns;
    best_plan_ = seed;
    return llvm::Error::success();
  }

  // ---- runs and plans

  Runs runs_of(const PartitionPlan& plan) const {
    Runs runs;
    for (const Division& division : plan.divisions) {
      if (division.chain >= 0 && !runs.empty() &&
          plan.divisions[runs.back().last].chain == division.chain) {
        runs.back().last = division.node;
      } else {
        Run& run = runs.emplace_back();
        run.first = run.last = division.node;
        if (division.is_split()) {
          run.how.placement =
              division.dim == SplitDim::Height ? Placement::Height : Placement::OutputChannel;
          const double gpu = division.part_on(Processor::Gpu)->owned.count();
          run.how.gpu_share = gpu / (gpu + division.part_on(Processor::Cpu)->owned.count());
        } else {
          run.how.placement = division.part_on(Processor::Gpu) ? Placement::Gpu : Placement::Cpu;
        }
      }
      // Of a chain the nodes that have no kernel for the preferred layout are in another.
      const Part* gpu = division.part_on(Processor::Gpu);
      if (gpu != nullptr && gpu->maps == Layout::Image2d) runs.back().how.maps = gpu->maps;
      runs.back().segment.divisions.push_back(division);
    }
    return runs;
  }

  static PartitionPlan plan_of(const Runs& runs) {
    PartitionPlan plan;
    for (const Run& run : runs) append_segment(plan, run.segment);
    return plan;
  }

  // Nothing if the nodes cannot be placed so.
  std::optional<Run> make_run(ir::NodeId first, ir::NodeId last, const How& how) const {
    Run run{first, last, how, {}};
    std::optional<Segment> segment;
    if (how.is_split()) {
      const bool is_height = how.placement == Placement::Height;
      if (run.count() > static_cast<size_t>(is_height ? options_.max_chain : 1))
        return std::nullopt;
      segment = costs_.split(first, last, is_height ? SplitDim::Height : SplitDim::OutputChannel,
                             how.gpu_share, how.maps);
    } else if (first == last) {
      segment = costs_.whole(
          first, how.placement == Placement::Cpu ? Processor::Cpu : Processor::Gpu, how.maps);
    }
    if (!segment) return std::nullopt;
    run.segment = std::move(*segment);
    return run;
  }

  // Runs of one node each; a node that cannot be there stays where it can.
  bool add_whole(Runs& runs, ir::NodeId first, ir::NodeId last, const How& how) const {
    How other = how;
    other.placement = how.placement == Placement::Cpu ? Placement::Gpu : Placement::Cpu;
    for (ir::NodeId node = first; node <= last; ++node) {
      std::optional<Run> run = make_run(node, node, how);
      if (!run) run = make_run(node, node, other);
      if (!run) return false;
      runs.push_back(std::move(*run));
    }
    return true;
  }

  bool add_run(Runs& runs, ir::NodeId first, ir::NodeId last, const How& how) const {
    if (!how.is_split()) return add_whole(runs, first, last, how);
    std::optional<Run> run = make_run(first, last, how);
    if (!run) return false;
    runs.push_back(std::move(*run));
    return true;
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
    }
  }

  // Some nodes somewhere else, and what is best around them then; all as it was if that is no
  // better.
  void kick() {
    const Runs runs = runs_;
    const PartitionPlan plan = best_plan_;
    const int64_t ns = best_ns_;
    const ir::NodeId first = draw(node_count_);
    const ir::NodeId last = std::min(first + draw(3), node_count_ - 1);
    constexpr Placement kPlacements[] = {Placement::Cpu, Placement::Gpu, Placement::Height,
                                         Placement::OutputChannel};
    const Placement placement = kPlacements[draw(4)];
    const double gpu_share = (1 + draw(7)) / 8.0;
    const llvm::ArrayRef<Layout> layouts = costs_.gpu_maps();
    const Layout maps = layouts[layouts.size() > 1 ? draw(2) : 0];
    best_ns_ = INT64_MAX;  // whatever comes is kept
    try_apart(first, last, {placement, gpu_share, maps});
    if (best_ns_ != INT64_MAX)
      improve(first < kAround ? 0 : first - kAround, std::min(last + kAround, node_count_ - 1));
    if (best_ns_ < ns) return;
    runs_ = runs;
    best_plan_ = plan;
    best_ns_ = ns;
  }

  // Below `count`. The engine's numbers are the standard's, those of its distributions are not.
  ir::NodeId draw(ir::NodeId count) { return static_cast<ir::NodeId>(random_() % count); }

  // ---- changes

  // Puts nodes [first, last] into one run, or, on one processor, runs of one node. True if the plan
  // is kept.
  bool try_place(ir::NodeId first, ir::NodeId last, const How& how) {
    return try_runs(first, last, [&](Runs& runs) { return add_run(runs, first, last, how); });
  }

  // The same with a run for each node; those that cannot be split so stay on the CPU.
  bool try_apart(ir::NodeId first, ir::NodeId last, const How& how) {
    return try_runs(first, last, [&](Runs& runs) {
      const How on_cpu{Placement::Cpu, 0, how.maps};
      for (ir::NodeId node = first; node <= last; ++node)
        if (!add_run(runs, node, node, how) && !add_whole(runs, node, node, on_cpu)) return false;
      return true;
    });
  }

  // Nodes [first, last] in the runs that `add` appends; other nodes of their old runs stay as they
  // are placed.
  bool try_runs(ir::NodeId first, ir::NodeId last, llvm::function_ref<bool(Runs& runs)> add) {
    if (is_over() || last >= node_count_ || first > last) return false;
    Runs runs;
    const auto add_rest = [&](const Run& run, ir::NodeId from, ir::NodeId to) {
      return from > to || add_run(runs, from, to, run.how);
    };
    for (const Run& run : runs_) {
      if (run.last < first || run.first > last) {
        runs.push_back(run);
        continue;
      }
      if (run.first < first && !add_rest(run, run.first, first - 1)) return false;
      if (run.first <= first && !add(runs)) return false;
      if (run.last > last && !add_rest(run, last + 1, run.last)) return false;
    }
    if (judges_time_alone_ && best_ns_ != INT64_MAX &&
        is_hopeless(runs, run_at(first).first, run_at(last).last))
      return false;
    return keep_if_faster(std::move(runs));
  }

  // Whether nodes [first, last], where runs of both begin and end, take much longer in `runs` by
  // costs of segments, with what else could be done meanwhile: that costs of segments leave out.
  bool is_hopeless(const Runs& runs, ir::NodeId first, ir::NodeId last) const {
    const double hidden_us =
        *std::max_element(beside_us_.begin() + first, beside_us_.begin() + last + 1);
    return segments_us(runs, first, last) >
           kHopeless * segments_us(runs_, first, last) + costs_.hand_off_us() + hidden_us;
  }

  // Of the runs of nodes [first, last], with what is exchanged before them and behind.
  double segments_us(const Runs& runs, ir::NodeId first, ir::NodeId last) const {
    double us = 0;
    ValuePlace before;
    auto run = std::partition_point(runs.begin(), runs.end(),
                                    [&](const Run& other) { return other.last < first; });
    if (run != runs.begin()) before = place_of(*std::prev(run));
    for (; run != runs.end(); ++run) {
      us += costs_.exchange_us(run->first, run->last, before, run->segment);
      if (run->first > last) break;
      us += compute_us(*run);
      before = place_of(*run);
    }
    return us;
  }

  static ValuePlace place_of(const Run& run) {
    const Part* gpu = run.segment.divisions.back().part_on(Processor::Gpu);
    return {run.how.placement, gpu != nullptr ? gpu->maps : Layout::Nhwc};
  }

  // Of the slower lane.
  static double compute_us(const Run& run) {
    double lane_us[2] = {};
    for (const Division& division : run.segment.divisions)
      for (const Part& part : division.parts)
        lane_us[static_cast<size_t>(part.processor)] += part.predicted_us;
    return std::max(lane_us[0], lane_us[1]);
  }

  bool keep_if_faster(Runs runs) {
    PartitionPlan plan = plan_of(runs);
    ++evaluations_;
    llvm::Expected<int64_t> ns = judge_(plan);
    if (!ns) {
      error_.emplace(ns.takeError());
      return false;
    }
    if (*ns >= best_ns_) return false;
    best_ns_ = *ns;
    best_plan_ = std::move(plan);
    runs_ = std::move(runs);
    return true;
  }

  const Run& run_at(ir::NodeId node) const {
    return *std::partition_point(runs_.begin(), runs_.end(),
                                 [&](const Run& run) { return run.last < node; });
  }

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
          const Run run = run_at(node);
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
      const Run run = run_at(node);
      if (run.last + 1 >= node_count_) break;
      const Run next = run_at(run.last + 1);
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
    const Run run = run_at(node);
    if (run.count() > 1) {
      const ir::NodeId middle = run.first + (run.last - run.first) / 2;
      has_improved |= try_place(run.first, middle, run.how);
      const Run now = run_at(node);
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
      const Run run = run_at(node);
      if (!is_placed(run.first, run.first, how))
        has_improved |= try_place(run.first, run.last, how);
    }
    for (Placement placement : {Placement::Height, Placement::OutputChannel}) {
      const Run run = run_at(node);
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
      return costs_.gpu_maps_of(run.first, how.maps) == run.segment.place.maps;
    };
    if (how.is_split()) return is_so(run_at(first)) && run_at(first).last >= last;
    for (ir::NodeId node = first; node <= last; ++node)
      if (!is_so(run_at(node))) return false;
    return true;
  }

  const CostModel& costs_;
  const PartitionOptions& options_;
  const ir::NodeId node_count_;
  const uint32_t budget_;
  JudgePlan judge_;
  // Costs of segments say nothing of limits, and of other objectives.
  const bool judges_time_alone_ =
      options_.objective == Objective::Latency && !options_.limits.limit_plans();
  const std::vector<double> beside_us_;  // by node
  Runs runs_;                            // of best_plan_
  PartitionPlan best_plan_;
  int64_t best_ns_ = 0;
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
