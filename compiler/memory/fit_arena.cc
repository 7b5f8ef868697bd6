#include "compiler/memory/fit_arena.h"

#include <algorithm>

#include "compiler/memory/lifetimes.h"
#include "compiler/memory/memory_plan.h"
#include "compiler/partition/split_geometry.h"
#include "compiler/simulate/timing/figures.h"
#include "compiler/support/error.h"
#include "kernels/kernel_table.h"
#include "kernels/work_table.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "schema/step_shape.h"

namespace codl::compiler {
namespace {

// Regions begin and end up to this many steps of a queue before and after the fullest one, and
// these tile counts are tried. More of either gained nothing on the networks of
// docs/results/arena_limits.md.
constexpr size_t kStepsAround = 5;
constexpr int32_t kTileCounts[] = {2, 4, 8};
// Limits the tiled regions in one variant.
constexpr int kMaxRegions = 24;

// Returns the step during which most bytes are live, by the list's order.
StepId fullest_step(const Variant& variant) {
  const Lifetimes lifetimes(variant);
  std::vector<int64_t> change(variant.steps.size() + 1);
  for (TensorId id = 0; id < variant.tensors.size(); ++id) {
    const Tensor& tensor = variant.tensors[id];
    if (!is_planned(tensor.storage) || lifetimes.first_step(id) == ir::kNoId) continue;
    if (lifetimes.home(id) != id) continue;  // its home has its bytes
    const auto bytes = static_cast<int64_t>(kernels::stored_elements(tensor.shape)) *
                       dtype_bytes(tensor.shape.dtype);
    change[lifetimes.first_step(id)] += bytes;
    change[lifetimes.last_step(id) + 1] -= bytes;
  }
  StepId fullest = 0;
  int64_t alive = 0, most = 0;
  for (StepId id = 0; id < variant.steps.size(); ++id) {
    alive += change[id];
    if (alive <= most) continue;
    most = alive;
    fullest = id;
  }
  return fullest;
}

// Holds consecutive kernel steps of one queue, by their index in the list.
using StepRun = std::vector<StepId>;

class Tiler {
 public:
  Tiler(const ir::Graph& graph, const Schedule& schedule, const LatencyPredictor& predictor)
      : graph_(graph), schedule_(schedule), predictor_(predictor) {}

  // Returns the schedule with the region computed in tiles; nothing if that is impossible.
  std::optional<Schedule> tiled(const StepRun& region, int32_t tile_count) const {
    std::vector<ir::NodeId> nodes;
    for (StepId id : region) nodes.push_back(schedule_.nodes[id]);
    const std::vector<bool> is_inside = inside_tensors(region);
    Schedule result = schedule_;
    std::vector<Step> pieces;
    std::vector<ir::NodeId> piece_nodes;
    for (int32_t tile = 0; tile < tile_count; ++tile) {
      std::vector<Range> owned;
      for (StepId id : region)
        owned.push_back(is_inside[schedule_.steps[id].operands.back()]
                            ? Range{}
                            : tile_of(id, tile, tile_count));
      const std::vector<Range> computed = computed_ranges(graph_, nodes, SplitDim::Height, owned);
      llvm::DenseMap<TensorId, TensorId> windows;  // this tile's windows
      for (size_t i = 0; i < region.size(); ++i) {
        if (computed[i].empty()) continue;
        Step piece = schedule_.steps[region[i]];
        if (!rows_of(piece).contains(computed[i])) return std::nullopt;
        piece.part_dim = SplitDim::Height;
        piece.part = computed[i];
        piece.owned = intersection(piece.owned.empty() ? computed[i] : piece.owned, computed[i]);
        if (piece.owned.empty()) piece.owned = {};
        if (!pieces.empty()) piece.waits.clear();
        const TensorId output = piece.operands.back();
        if (is_inside[output]) windows[output] = add_window(result, output, computed[i]);
        for (TensorId& operand : piece.operands)
          if (const auto window = windows.find(operand); window != windows.end())
            operand = window->second;
        if (!finish(result, piece)) return std::nullopt;
        pieces.push_back(std::move(piece));
        piece_nodes.push_back(nodes[i]);
      }
    }
    replace(result, region, pieces, piece_nodes);
    drop_untouched(result);
    return result;
  }

  // Returns true if the steps can be computed in tiles together and that would save memory.
  bool is_region(const StepRun& region) const {
    std::vector<ir::NodeId> nodes;
    for (size_t i = 0; i < region.size(); ++i) {
      const Step& step = schedule_.steps[region[i]];
      const ir::NodeId node = schedule_.nodes[region[i]];
      if (node == ir::kNoId || step.kernel == nullptr ||
          !step.kernel->can_split(SplitDim::Height) || step.part_dim == SplitDim::OutputChannel ||
          (i > 0 && !step.waits.empty()) ||
          !split_rule({graph_, graph_.node(node)}, SplitDim::Height) ||
          llvm::is_contained(nodes, node))
        return false;
      nodes.push_back(node);
    }
    return is_connected(graph_, nodes) && llvm::is_contained(inside_tensors(region), true);
  }

 private:
  Range rows_of(const Step& step) const {
    if (step.part_dim == SplitDim::Height) return step.part;
    return {0, schedule_.tensors[step.operands.back()].shape.dims[2]};
  }

  // Returns the rows of a tile of the step, cut where its node can be.
  Range tile_of(StepId id, int32_t tile, int32_t tile_count) const {
    const Range rows = rows_of(schedule_.steps[id]);
    const int32_t granularity =
        split_rule({graph_, graph_.node(schedule_.nodes[id])}, SplitDim::Height)->granularity;
    const auto cut = [&](int32_t i) {
      if (i == 0 || i == tile_count) return i == 0 ? rows.begin : rows.end;
      const int32_t row = rows.begin + rows.count() * i / tile_count;
      return std::max(row / granularity * granularity, rows.begin);
    };
    return {cut(tile), cut(tile + 1)};
  }

  // Returns for each tensor whether only the region makes and touches it.
  std::vector<bool> inside_tensors(const StepRun& region) const {
    std::vector<bool> is_inside(schedule_.tensors.size());
    for (StepId id : region) {
      const TensorId output = schedule_.steps[id].operands.back();
      const Tensor& tensor = schedule_.tensors[output];
      const bool has_rows =
          tensor.shape.layout == Layout::Nhwc || tensor.shape.layout == Layout::Image2d;
      is_inside[output] =
          has_rows && is_planned(tensor.storage) && tensor.storage != Storage::Shared;
    }
    for (StepId id = 0; id < schedule_.steps.size(); ++id)
      if (!llvm::is_contained(region, id))
        for (TensorId operand : schedule_.steps[id].operands) is_inside[operand] = false;
    return is_inside;
  }

  static TensorId add_window(Schedule& schedule, TensorId of, Range rows) {
    Tensor window = schedule.tensors[of];
    window.shape.row_begin = rows.begin;
    window.shape.row_end = rows.end;
    if (window.shape.layout != Layout::Image2d)
      window.shape.bytes = static_cast<uint64_t>(kernels::stored_elements(window.shape)) *
                           dtype_bytes(window.shape.dtype);
    schedule.tensors.push_back(window);
    const ir::ValueId value = schedule.values[of];
    schedule.values.push_back(value);
    return static_cast<TensorId>(schedule.tensors.size() - 1);
  }

  // Chooses the piece's tile. Returns false if the kernel does not take it.
  bool finish(const Schedule& schedule, Step& piece) const {
    kernels::OperandShape shapes[kernels::kMaxOperands];
    kernels::StepNeeds needs;
    if (piece.queue == Queue::Gpu) {
      int32_t tile[kernels::kMaxTileInts];
      const uint32_t count = kernels::choose_tile(schedule.shape_of(piece, shapes),
                                                  predictor_.profile().gpu_facts, tile);
      piece.tile.assign(tile, tile + count);
    }
    return kernels::check_step(schedule.shape_of(piece, shapes), &needs) == nullptr;
  }

  // Puts all pieces at the region's first step; a step that waited for one of the region's steps
  // waits for the last piece.
  static void replace(Schedule& schedule, const StepRun& region, llvm::ArrayRef<Step> pieces,
                      llvm::ArrayRef<ir::NodeId> piece_nodes) {
    std::vector<Step> steps;
    std::vector<ir::NodeId> nodes;
    std::vector<StepId> new_id(schedule.steps.size());
    for (StepId id = 0; id < schedule.steps.size(); ++id) {
      if (id == region.front()) {
        steps.insert(steps.end(), pieces.begin(), pieces.end());
        nodes.insert(nodes.end(), piece_nodes.begin(), piece_nodes.end());
        const auto last = static_cast<StepId>(steps.size() - 1);
        for (StepId inside : region) new_id[inside] = last;
      } else if (!llvm::is_contained(region, id)) {
        new_id[id] = static_cast<StepId>(steps.size());
        steps.push_back(schedule.steps[id]);
        nodes.push_back(schedule.nodes[id]);
      }
    }
    for (Step& step : steps) {
      for (StepId& wait : step.waits) wait = new_id[wait];
      llvm::sort(step.waits);
      step.waits.erase(std::unique(step.waits.begin(), step.waits.end()), step.waits.end());
    }
    schedule.steps = std::move(steps);
    schedule.nodes = std::move(nodes);
  }

  // Drops the tensors that only the untiled steps used.
  static void drop_untouched(Schedule& schedule) {
    std::vector<bool> is_touched(schedule.tensors.size());
    for (const Step& step : schedule.steps)
      for (TensorId operand : step.operands) is_touched[operand] = true;
    std::vector<TensorId> new_id(schedule.tensors.size());
    std::vector<Tensor> tensors;
    std::vector<ir::ValueId> values;
    for (TensorId id = 0; id < schedule.tensors.size(); ++id) {
      new_id[id] = static_cast<TensorId>(tensors.size());
      if (!is_touched[id]) continue;
      tensors.push_back(schedule.tensors[id]);
      values.push_back(schedule.values[id]);
    }
    schedule.tensors = std::move(tensors);
    schedule.values = std::move(values);
    for (Step& step : schedule.steps)
      for (TensorId& operand : step.operands) operand = new_id[operand];
  }

  const ir::Graph& graph_;
  const Schedule& schedule_;
  const LatencyPredictor& predictor_;
};

// Returns regions of a queue's consecutive steps around step `at` of the list.
std::vector<StepRun> regions_around(const Schedule& schedule, StepId at) {
  std::vector<StepRun> regions;
  for (const Queue queue : {Queue::Cpu, Queue::Gpu}) {
    std::vector<StepId> of_queue;
    for (StepId id = 0; id < schedule.steps.size(); ++id)
      if (schedule.steps[id].queue == queue) of_queue.push_back(id);
    const auto middle = static_cast<size_t>(llvm::lower_bound(of_queue, at) - of_queue.begin());
    const size_t begin = middle < kStepsAround ? 0 : middle - kStepsAround;
    const size_t end = std::min(middle + kStepsAround + 1, of_queue.size());
    for (size_t first = begin; first + 1 < end; ++first)
      for (size_t last = first + 1; last < end; ++last)
        regions.emplace_back(of_queue.begin() + static_cast<ptrdiff_t>(first),
                             of_queue.begin() + static_cast<ptrdiff_t>(last) + 1);
  }
  return regions;
}

double steps_us(const Schedule& schedule, const LatencyPredictor& predictor) {
  double us = 0;
  for (const Step& step : schedule.steps)
    us += predictor.step_us(schedule, step) + predictor.launch_us(schedule, step);
  return us;
}

struct Tiled {
  Schedule schedule;
  bool fits = false;
  uint64_t bytes = 0;
  double us = 0;

  bool is_better_than(const Tiled& other) const {
    if (fits != other.fits) return fits;
    if (!fits && bytes != other.bytes) return bytes < other.bytes;
    return us < other.us;
  }
};

// Tiles the best one further region; returns nothing if none saves memory.
llvm::Expected<std::optional<Tiled>> tile_once(const ir::Graph& graph, const Schedule& schedule,
                                               const LatencyPredictor& predictor,
                                               uint64_t max_bytes) {
  const DeviceProfile& profile = predictor.profile();
  const Tiler tiler(graph, schedule, predictor);
  const uint64_t bytes_before = arena_bytes_of(schedule, profile);
  std::optional<Tiled> best;
  for (const StepRun& region : regions_around(schedule, fullest_step(schedule))) {
    if (!tiler.is_region(region)) continue;
    for (const int32_t tile_count : kTileCounts) {
      std::optional<Schedule> tiled = tiler.tiled(region, tile_count);
      if (!tiled) continue;
      if (llvm::Error error = plan_memory(*tiled, profile)) return error;
      const uint64_t bytes = arena_bytes_of(*tiled, profile);
      if (bytes >= bytes_before) continue;
      Tiled found{std::move(*tiled), false, bytes, 0};
      found.fits = bytes <= max_bytes;
      found.us = steps_us(found.schedule, predictor);
      if (!best || found.is_better_than(*best)) best = std::move(found);
    }
  }
  return best;
}

}  // namespace

llvm::Error fit_arena(const ir::Graph& graph, Schedule& schedule, const LatencyPredictor& predictor,
                      uint64_t max_bytes) {
  if (llvm::Error error = plan_memory(schedule, predictor.profile())) return error;
  for (int i = 0; i < kMaxRegions; ++i) {
    if (arena_bytes_of(schedule, predictor.profile()) <= max_bytes) break;
    CODL_ASSIGN_OR_RETURN(tiled, tile_once(graph, schedule, predictor, max_bytes));
    if (!tiled) break;
    schedule = std::move(tiled->schedule);
  }
  return llvm::Error::success();
}

}  // namespace codl::compiler
