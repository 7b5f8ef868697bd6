#include "compiler/schedule/bound_slices.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "compiler/partition/split_geometry.h"
#include "kernels/kernel_table.h"
#include "kernels/work_table.h"
#include "llvm/ADT/STLExtras.h"
#include "schema/ahead_window.h"

namespace codl::compiler {
namespace {

// Two launches fill the time that may be enqueued ahead, so that one runs while the host enqueues
// the next.
constexpr double kLaunchesAhead = 2;

// CPU steps of these lengths, in slices, are tried. The shorter they are, the sooner the host
// returns to the queue, and the more overhead they have.
constexpr double kCpuLengths[] = {std::numeric_limits<double>::infinity(), 4, 1, 0.5};

constexpr size_t index_of_queue(const Step& step) { return static_cast<size_t>(step.queue); }

class SliceBound {
 public:
  SliceBound(const ir::Graph& graph, Schedule& schedule, const LatencyPredictor& predictor,
             double max_slice_us)
      : graph_(graph),
        schedule_(schedule),
        predictor_(predictor),
        max_us_(max_slice_us / crowded_factor(predictor.profile())),
        sync_us_(predictor.transfer().sync_us.value) {
    most_us_[static_cast<size_t>(Queue::Gpu)] = max_us_ / kLaunchesAhead;
  }

  // Returns the predicted time of the list with the CPU's steps cut to `most_cpu_us`.
  double run(double most_cpu_us) {
    most_us_[static_cast<size_t>(Queue::Cpu)] = most_cpu_us;
    cut_steps();
    schedule_.gate = Gate::HostEnqueue;
    // Steps that wait for flags, or are recorded, are enqueued ahead, which is to be bounded.
    for (Step& step : schedule_.steps) step.wait_kinds.clear();
    schedule_.is_recorded = false;
    // A bound of 0 would mean no bound.
    schedule_.max_ahead_us = std::max(max_us_, 1e-3);
    return order_steps();
  }

 private:
  double us_of(const Step& step) const {
    return predictor_.step_us(schedule_, step) + predictor_.launch_us(schedule_, step);
  }

  // ---- cuts

  // Cuts every step that takes too long; whoever waits for it waits for the last of the pieces.
  void cut_steps() {
    std::vector<Step> steps;
    std::vector<ir::NodeId> nodes;
    std::vector<StepId> last(schedule_.steps.size());  // indexed by old step: its last piece
    for (StepId id = 0; id < schedule_.steps.size(); ++id) {
      for (StepId& wait : schedule_.steps[id].waits) wait = last[wait];
      std::vector<Step> pieces = pieces_of(schedule_.steps[id], schedule_.nodes[id]);
      for (Step& piece : pieces) {
        steps.push_back(piece);
        nodes.push_back(schedule_.nodes[id]);
      }
      last[id] = static_cast<StepId>(steps.size() - 1);
    }
    schedule_.steps = std::move(steps);
    schedule_.nodes = std::move(nodes);
  }

  std::vector<Step> pieces_of(const Step& step, ir::NodeId node) const {
    const double most_us = most_us_[index_of_queue(step)];
    const double us = step.kind == StepKind::Kernel ? us_of(step) : 0;
    std::vector<Step> best = {step};
    if (us <= most_us) return best;
    double least_us = us;  // time of the longest piece
    for (SplitDim dim : {SplitDim::Height, SplitDim::OutputChannel}) {
      const std::optional<SplitRule> rule = cut_rule(step, node, dim);
      if (!rule) continue;
      const Range whole = step.part_dim == dim ? step.part : Range{0, rule->extent};
      const auto granules = static_cast<int32_t>(ceil_div(whole.count(), rule->granularity));
      for (int32_t count = std::max(2, static_cast<int32_t>(std::min(us / most_us, 1e6)));
           least_us > most_us; count += (count + 3) / 4) {
        std::vector<Step> pieces =
            cut(step, dim, whole, rule->granularity, std::min(count, granules));
        double longest_us = 0;
        for (const Step& piece : pieces) longest_us = std::max(longest_us, us_of(piece));
        if (pieces.size() > 1 && longest_us < least_us) {
          least_us = longest_us;
          best = std::move(pieces);
        }
        if (count >= granules) break;
      }
    }
    return best;
  }

  // Returns how the step can be cut along `dim`: a node by its rule, a transfer at any row.
  std::optional<SplitRule> cut_rule(const Step& step, ir::NodeId node, SplitDim dim) const {
    if (step.part_dim != SplitDim::None && step.part_dim != dim) return std::nullopt;
    if (node != ir::kNoId) {
      if (!step.kernel->can_split(dim)) return std::nullopt;
      return split_rule({graph_, graph_.node(node)}, dim);
    }
    const kernels::OperandShape& shape = schedule_.tensors[step.operands.back()].shape;
    if (dim != SplitDim::Height || shape.rank != 4) return std::nullopt;
    SplitRule rule;
    rule.dim = dim;
    rule.extent = shape.dims[2];
    rule.granularity = 1;
    return rule;
  }

  // Returns `count` pieces of about equally many granules; empty if the kernel does not take them.
  std::vector<Step> cut(const Step& step, SplitDim dim, Range whole, int32_t granularity,
                        int32_t count) const {
    std::vector<Step> pieces;
    int32_t begin = whole.begin;
    for (int32_t i = 1; i <= count; ++i) {
      const int64_t share = int64_t{whole.count()} * i / count;
      auto end = static_cast<int32_t>((whole.begin + share) / granularity * granularity);
      if (i == count) end = whole.end;
      if (end <= begin) continue;
      Step piece = step;
      piece.part_dim = dim;
      piece.part = {begin, end};
      const Range owned = intersection(step.owned.empty() ? whole : step.owned, piece.part);
      piece.owned = owned.empty() ? Range{} : owned;
      if (!pieces.empty()) piece.waits.clear();  // the order of its queue is enough
      kernels::OperandShape shapes[kernels::kMaxOperands];
      kernels::StepNeeds needs;
      if (kernels::check_step(schedule_.shape_of(piece, shapes), &needs) != nullptr) return {};
      if (piece.queue == Queue::Gpu) {
        int32_t tile[kernels::kMaxTileInts];
        const uint32_t tiles = kernels::choose_tile(schedule_.shape_of(piece, shapes),
                                                    predictor_.profile().gpu_facts, tile);
        piece.tile.assign(tile, tile + tiles);
        if (kernels::check_step(schedule_.shape_of(piece, shapes), &needs) != nullptr) return {};
      }
      pieces.push_back(std::move(piece));
      begin = end;
    }
    return pieces;
  }

  // ---- order

  // Sorts the list so that the host gets through it soonest by predicted times. The host enqueues a
  // GPU step if there is room for it; else it computes or waits, whichever can begin first. Each
  // queue keeps its own order, so that all waits stay right. Returns the predicted time.
  double order_steps() {
    const auto count = static_cast<StepId>(schedule_.steps.size());
    std::vector<StepId> queues[kQueueCount];
    std::vector<double> us;
    for (StepId id = 0; id < count; ++id) {
      queues[index_of_queue(schedule_.steps[id])].push_back(id);
      us.push_back(us_of(schedule_.steps[id]));
    }
    size_t next[kQueueCount] = {};
    std::vector<StepId> new_id(count, kNotThere);
    std::vector<double> end_us(count, 0);
    // Holds, by queue, when its last step is done; the CPU's is the host's.
    double free_us[kQueueCount] = {};
    std::vector<StepId> order;
    AheadWindow window(static_cast<float>(schedule_.max_ahead_us));
    const auto predicted = [&](uint32_t position) {
      const Step& step = schedule_.steps[order[position]];
      return step.queue == Queue::Gpu ? static_cast<float>(us[order[position]]) : -1.0F;
    };
    const auto head = [&](Queue queue) {
      const auto at = static_cast<size_t>(queue);
      if (next[at] == queues[at].size()) return kNotThere;
      const StepId id = queues[at][next[at]];
      const bool is_ready = llvm::all_of(schedule_.steps[id].waits,
                                         [&](StepId wait) { return new_id[wait] != kNotThere; });
      return is_ready ? id : kNotThere;
    };
    const auto begin_us = [&](StepId id) {
      double begin = free_us[index_of_queue(schedule_.steps[id])];
      for (StepId wait : schedule_.steps[id].waits)
        begin = std::max(begin, end_us[wait] + sync_us_);
      return begin;
    };
    const auto push = [&](StepId id) {
      const size_t queue = index_of_queue(schedule_.steps[id]);
      const double begin = std::max(begin_us(id), free_us[static_cast<size_t>(Queue::Cpu)]);
      end_us[id] = free_us[queue] = begin + us[id];
      new_id[id] = static_cast<StepId>(order.size());
      order.push_back(id);
      ++next[queue];
    };
    while (order.size() < count) {
      if (const StepId id = head(Queue::Transfer); id != kNotThere) {
        push(id);
        continue;
      }
      const StepId gpu = head(Queue::Gpu);
      const StepId cpu = head(Queue::Cpu);
      if (gpu != kNotThere) {
        order.push_back(gpu);  // asked for as if it came next
        AheadWindow asked = window;
        const uint32_t wait = asked.add(static_cast<uint32_t>(order.size() - 1), predicted);
        order.pop_back();
        double& host_us = free_us[static_cast<size_t>(Queue::Cpu)];
        const double room_us = wait == AheadWindow::kNoWait
                                   ? host_us
                                   : std::max(host_us, end_us[order[wait]] + sync_us_);
        if (cpu == kNotThere || room_us <= begin_us(cpu)) {
          host_us = room_us;
          window = asked;
          push(gpu);
          continue;
        }
      }
      push(cpu);
    }
    std::vector<Step> steps;
    std::vector<ir::NodeId> nodes;
    for (StepId id : order) {
      steps.push_back(schedule_.steps[id]);
      nodes.push_back(schedule_.nodes[id]);
      for (StepId& wait : steps.back().waits) wait = new_id[wait];
      llvm::sort(steps.back().waits);
    }
    schedule_.steps = std::move(steps);
    schedule_.nodes = std::move(nodes);
    return *std::max_element(free_us, free_us + kQueueCount);
  }

  static constexpr StepId kNotThere = UINT32_MAX;

  const ir::Graph& graph_;
  Schedule& schedule_;
  const LatencyPredictor& predictor_;
  const double max_us_;               // limit of the work enqueued ahead, counting only steps
  double most_us_[kQueueCount] = {};  // limit of a kernel, likewise, indexed by queue
  const double sync_us_;
};

}  // namespace

void bound_gpu_slices(const ir::Graph& graph, Schedule& schedule, const LatencyPredictor& predictor,
                      double max_slice_us) {
  if (llvm::none_of(schedule.steps, [](const Step& step) { return step.queue == Queue::Gpu; }))
    return;
  const Schedule whole = schedule;
  double least_us = std::numeric_limits<double>::infinity();
  for (const double length : kCpuLengths) {
    Schedule tried = whole;
    const double most_cpu_us = length * max_slice_us / crowded_factor(predictor.profile());
    const double us = SliceBound(graph, tried, predictor, max_slice_us).run(most_cpu_us);
    if (us >= least_us) continue;
    least_us = us;
    schedule = std::move(tried);
  }
}

}  // namespace codl::compiler
