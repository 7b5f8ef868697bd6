#include "compiler/partition/search/plan_changes.h"

#include <algorithm>

#include "compiler/partition/split_geometry.h"

namespace codl::compiler {

std::optional<Change> PlanChanges::in_runs(ir::NodeId first, ir::NodeId last,
                                           llvm::function_ref<bool(Runs& runs)> add) const {
  if (last >= list_.node_count() || first > last) return std::nullopt;
  Change change{list_.index_at(first), list_.index_at(last) + 1, {}};
  const Run& head = *list_.runs()[change.begin];
  const Run& tail = *list_.runs()[change.end - 1];
  if (head.first < first && !maker_.add(change.runs, head.first, first - 1, head.spec))
    return std::nullopt;
  if (!add(change.runs)) return std::nullopt;
  if (tail.last > last && !maker_.add(change.runs, last + 1, tail.last, tail.spec))
    return std::nullopt;
  return change;
}

std::optional<Change> PlanChanges::placed(ir::NodeId first, ir::NodeId last,
                                          const RunSpec& spec) const {
  return in_runs(first, last, [&](Runs& runs) { return maker_.add(runs, first, last, spec); });
}

std::optional<Change> PlanChanges::apart(ir::NodeId first, ir::NodeId last,
                                         const RunSpec& spec) const {
  return in_runs(first, last, [&](Runs& runs) {
    const RunSpec on_cpu{Assignment::Cpu, 0, spec.forms};
    for (ir::NodeId node = first; node <= last; ++node)
      if (!maker_.add(runs, node, node, spec) && !maker_.add(runs, node, node, on_cpu))
        return false;
    return true;
  });
}

std::optional<Change> PlanChanges::each_placed(
    ir::NodeId first, ir::NodeId last,
    llvm::function_ref<const RunSpec*(ir::NodeId node)> spec_of) const {
  Change change{list_.index_at(first), list_.index_at(last) + 1, {}};
  for (const RunPtr& run : list_.stretch(change.begin, change.end)) {
    for (ir::NodeId node = run->first; node <= run->last;) {
      const RunSpec* spec = spec_of(node);
      ir::NodeId until = node;
      while (until < run->last && spec_of(until + 1) == spec) ++until;
      if (spec == nullptr && node == run->first && until == run->last)
        change.runs.push_back(run);
      else if (!maker_.add(change.runs, node, until, spec == nullptr ? run->spec : *spec))
        return std::nullopt;
      node = until + 1;
    }
  }
  return change;
}

std::optional<double> PlanChanges::moved_share(const Run& run, double by) const {
  const double share = run.spec.gpu_share + by;
  std::optional<double> nearest;  // at which a cut is another
  for (ir::NodeId node = run.first; node <= run.last; ++node) {
    const std::optional<SplitRule>& rule = costs_.split_rule(node, run.spec.dim());
    const std::optional<int32_t> now = rule ? cut_at(*rule, run.spec.gpu_share) : std::nullopt;
    if (!now) return std::nullopt;
    const double next =
        static_cast<double>(*now + (by > 0 ? rule->granularity : -rule->granularity)) /
        rule->extent;
    if (cut_at(*rule, next) == now) continue;  // at its end
    if (!nearest || (by > 0 ? next < *nearest : next > *nearest)) nearest = next;
    if (share > 0 && share < 1 && cut_at(*rule, share) != now) return share;
  }
  return nearest;
}

bool ChangesInTurn::at(ir::NodeId node) {
  if (list_.at(node).first != node) return false;
  bool has_improved = boundaries(node);
  has_improved |= shares(node);
  has_improved |= ends(node);
  has_improved |= assignments(node);
  has_improved |= windows(node);
  return has_improved;
}

// Returns the GPU's shares at which the run takes least by costs of segments, from the best on.
// CPUs compute rows in tiles and GPUs groups in waves, so that many a cut is better than its
// neighbours. If there are more than kMaxCuts cuts, only some at equal distances are looked at.
llvm::SmallVector<double, ChangesInTurn::kBestCuts> ChangesInTurn::best_shares(
    const Run& run) const {
  const std::optional<SplitRule>& rule = costs_.split_rule(run.last, run.spec.dim());
  llvm::SmallVector<std::pair<double, double>, kMaxCuts> shares;  // with microseconds
  const auto granules = static_cast<int32_t>(ceil_div(rule->extent, rule->granularity));
  const int32_t stride = std::max(1, static_cast<int32_t>(ceil_div(granules, kMaxCuts)));
  for (int32_t cut = stride; cut < granules; cut += stride) {
    const double share = static_cast<double>(cut) * rule->granularity / rule->extent;
    if (const auto segment =
            costs_.split(run.first, run.last, run.spec.dim(), share, run.spec.forms))
      shares.emplace_back(segment->compute_us, share);
  }
  llvm::stable_sort(shares, llvm::less_first());
  llvm::SmallVector<double, kBestCuts> best;
  for (const auto& [us, share] : shares)
    if (best.size() < kBestCuts) best.push_back(share);
  return best;
}

// Lets other processors, or none, compute the rows at the cut first.
bool ChangesInTurn::boundaries(ir::NodeId node) {
  bool has_improved = false;
  for (const bool gpu : {true, false})
    for (const bool cpu : {true, false}) {
      const RunPtr run = list_.held_at(node);
      if (run->spec.assignment != Assignment::Height) return has_improved;
      RunSpec spec = run->spec;
      spec.boundary_first[index_of(Processor::Gpu)] = gpu;
      spec.boundary_first[index_of(Processor::Cpu)] = cpu;
      has_improved |= try_placed(run->first, run->last, spec);
    }
  return has_improved;
}

// Moves the cut: to where the run takes least by itself, then by less and less.
bool ChangesInTurn::shares(ir::NodeId node) {
  bool has_improved = false;
  if (const RunPtr run = list_.held_at(node); run->spec.is_split())
    for (double share : best_shares(*run)) {
      RunSpec spec = run->spec;
      spec.gpu_share = share;
      has_improved |= try_placed(run->first, run->last, spec);
    }
  for (double step : {0.08, 0.04, 0.02, 0.01}) {
    for (double sign : {1.0, -1.0}) {
      while (true) {
        const RunPtr run = list_.held_at(node);
        if (!run->spec.is_split()) return has_improved;
        const std::optional<double> share = changes_.moved_share(*run, sign * step);
        if (!share) break;
        RunSpec spec = run->spec;
        spec.gpu_share = *share;
        if (!try_placed(run->first, run->last, spec)) break;
        has_improved = true;
      }
    }
  }
  return has_improved;
}

// Joins the run with the next, takes a node from that, cuts the run in the middle, lets its last
// node go.
bool ChangesInTurn::ends(ir::NodeId node) {
  bool has_improved = false;
  while (true) {
    const RunPtr run = list_.held_at(node);
    if (run->last + 1 >= node_count_) break;
    const RunPtr next = list_.held_at(run->last + 1);
    RunSpec joined = run->spec.is_split() ? run->spec : next->spec;
    const auto try_joined = [&](Assignment assignment) {
      joined.assignment = assignment;
      const bool is_so = run->spec.assignment == assignment;
      const bool is_next_so = next->spec.assignment == assignment;
      return ((is_so || is_next_so) && try_placed(run->first, next->last, joined)) ||
             (is_so && is_next_so && next->count() > 1 &&
              try_placed(run->first, run->last + 1, joined));
    };
    if (!try_joined(Assignment::Height) && !try_joined(Assignment::OutputChannel)) break;
    has_improved = true;
  }
  const RunPtr run = list_.held_at(node);
  if (run->count() > 1) {
    const ir::NodeId middle = run->first + (run->last - run->first) / 2;
    has_improved |= try_placed(run->first, middle, run->spec);
    const RunPtr now = list_.held_at(node);
    if (now->count() > 1) has_improved |= try_placed(now->last, now->last, now->spec);
  }
  return has_improved;
}

llvm::SmallVector<RunSpec, 3> ChangesInTurn::whole_places() const {
  llvm::SmallVector<RunSpec, 3> places;
  for (Form form : costs_.forms_on(Processor::Cpu))
    places.push_back({Assignment::Cpu, 0, {form, kBuffers}});
  for (Form form : costs_.forms_on(Processor::Gpu))
    places.push_back({Assignment::Gpu, 0, {kBuffers, form}});
  return places;
}

bool ChangesInTurn::assignments(ir::NodeId node) {
  bool has_improved = false;
  for (const RunSpec& spec : whole_places()) {
    const RunPtr run = list_.held_at(node);
    if (!is_placed(run->first, run->first, spec))
      has_improved |= try_placed(run->first, run->last, spec);
  }
  for (Assignment assignment : {Assignment::Height, Assignment::OutputChannel}) {
    const RunPtr run = list_.held_at(node);
    if (run->spec.assignment == assignment) {
      for (const FormPair& forms : costs_.form_pairs())
        if (forms != run->spec.forms)
          has_improved |=
              try_placed(run->first, run->last, {assignment, run->spec.gpu_share, forms});
      continue;
    }
    // Nodes of a chain of rows are hardly ever one of channels.
    const ir::NodeId last = assignment == Assignment::Height ? run->last : run->first;
    const std::optional<BestSplit> best = best_split(run->first, last);
    if (!best) continue;
    for (double share : {best->gpu_share, 0.25, 0.5, 0.75})
      has_improved |= try_placed(run->first, last, {assignment, share, best->forms});
  }
  return has_improved;
}

// Tries more and more nodes from here on: on one processor, in one chain, or each split.
bool ChangesInTurn::windows(ir::NodeId node) {
  bool has_improved = false;
  for (ir::NodeId length : {2, 4, 8, 16}) {
    ir::NodeId last = node + length - 1;
    if (last >= node_count_) {  // to the end, without what is the CPU's anyway
      last = node_count_ - 1;
      while (last > node && !best_split(last, last)) --last;
      if (last < node + length / 2) break;  // no longer than the window before
    }
    for (const RunSpec& spec : whole_places())
      if (!is_placed(node, last, spec)) has_improved |= try_placed(node, last, spec);
    const std::optional<BestSplit> best = best_split(node, last);
    if (!best) continue;
    const RunSpec by_channels{Assignment::OutputChannel, best->gpu_share, best->forms};
    if (!is_placed(node, last, by_channels)) has_improved |= try_placed(node, last, by_channels);
    const RunSpec split{Assignment::Height, best->gpu_share, best->forms};
    if (!is_placed(node, last, split)) has_improved |= try_placed(node, last, split);
    has_improved |= try_apart(node, last, split);
    // Cuts are tried at other places, too: cutting one node of a chain apart ends the chain, and
    // may only pay for both.
    if (length == 2)
      for (double share : {0.25, 0.5, 0.75})
        has_improved |= try_apart(node, last, {Assignment::Height, share, best->forms});
  }
  return has_improved;
}

bool ChangesInTurn::mixes(ir::NodeId first, ir::NodeId last) {
  const llvm::SmallVector<RunSpec, 3> places = whole_places();
  llvm::SmallVector<size_t, 8> choices(last - first + 1, 0);  // choices of places, indexed by node
  const auto spec_of = [&](ir::NodeId node) {
    return node < first || node > last ? nullptr : &places[choices[node - first]];
  };
  bool has_improved = false;
  while (!judge_.is_over()) {
    has_improved |= judge_.try_change(changes_.each_placed(first, last, spec_of));
    // Goes to the next combination. The last nodes change first, because plans that differ at their
    // ends are timed soon.
    size_t i = choices.size();
    while (i > 0 && ++choices[i - 1] == places.size()) choices[--i] = 0;
    if (i == 0) break;
  }
  return has_improved;
}

// Tries each branch whole on one processor, alone or with all others on the other one.
bool ChangesInTurn::of_branches(ir::NodeId first, ir::NodeId last) {
  bool has_improved = false;
  for (const BranchRegion& region : regions_) {
    if (region.branches.size() < 2 || region.branches.front().front() < first ||
        region.meeting > last)
      continue;
    for (const std::vector<ir::NodeId>& branch : region.branches)
      for (const RunSpec& spec : whole_places()) {
        if (judge_.is_over()) return has_improved;
        const auto is_in = [&](ir::NodeId node) {
          return std::binary_search(branch.begin(), branch.end(), node);
        };
        has_improved |= judge_.try_change(
            changes_.each_placed(branch.front(), branch.back(),
                                 [&](ir::NodeId node) { return is_in(node) ? &spec : nullptr; }));
        RunSpec others;
        if (spec.assignment == Assignment::Cpu)
          others = {Assignment::Gpu, 0, costs_.form_pairs().front()};
        has_improved |= judge_.try_change(
            changes_.each_placed(region.branches.front().front(), region.meeting - 1,
                                 [&](ir::NodeId node) { return is_in(node) ? &spec : &others; }));
      }
  }
  return has_improved;
}

std::optional<ChangesInTurn::BestSplit> ChangesInTurn::best_split(ir::NodeId first,
                                                                  ir::NodeId last) const {
  std::optional<BestSplit> best;
  for (const FormPair& forms : costs_.form_pairs()) {
    const std::optional<double> balanced = costs_.balanced_ratio(first, last, forms);
    if (balanced && (!best || *balanced > best->gpu_share)) best = BestSplit{*balanced, forms};
  }
  return best;
}

bool ChangesInTurn::is_placed(ir::NodeId first, ir::NodeId last, const RunSpec& spec) const {
  const auto is_so = [&](const Run& run) {
    if (run.spec.assignment != spec.assignment) return false;
    if (spec.is_split()) return run.spec.forms == spec.forms;
    const Processor processor = processor_of(spec.assignment);
    const size_t at = index_of(processor);
    return costs_.form_of(run.first, processor, spec.forms[at]) == run.segment.output.forms[at];
  };
  if (spec.is_split()) return is_so(list_.at(first)) && list_.at(first).last >= last;
  for (ir::NodeId node = first; node <= last; ++node)
    if (!is_so(list_.at(node))) return false;
  return true;
}

}  // namespace codl::compiler
