#include <cmath>

#include "kernels/attention/attention.h"
#include "kernels/common/work/work_counts.h"

namespace codl::kernels::attention {
namespace {

// Scores are multiplied or added to, compared, and added up.
constexpr double kScoreOperations = 4;

uint32_t choose_tile(const StepShape&, const GpuFacts& gpu, int32_t* out_tile) {
  // Adreno has 192 registers, with room for 4 rows of two quads; Mali has 64.
  constexpr int32_t kFewRegisters = 128;
  const bool has_few = gpu.thread_registers != 0 && gpu.thread_registers < kFewRegisters;
  out_tile[0] = has_few ? kAttentionFewRows : kAttentionManyRows;
  return kAttentionTileInts;
}

// Counts the product of the lines of all units with `columns` columns.
PanelCounts count_product(const AttentionWork& work, const PanelTileSize& size, double blocks,
                          int64_t columns, int64_t depth) {
  const AttentionUnits units = attention_units(work);
  PanelProduct product;
  product.runs = static_cast<double>(units.count) * blocks;
  product.pixels = ceil_div(work.lines(), units.line_blocks);
  product.tile_pixels = size.most_pixels(columns);
  product.panels = ceil_div(columns, kChannelPanel);
  product.most_panels = size.panels;
  product.lanes =
      static_cast<double>(product.panels - 1) * kChannelPanel + size.last_lanes(columns);
  product.depth = static_cast<double>(depth);
  product.input_bytes = sizeof(float);
  product.weight_bytes = sizeof(float);
  return count_panels(product, size);
}

void count_cpu(const StepShape& step, const AttentionWork& work, const WorkMachine& machine,
               StepWork* out) {
  const AttentionUnits units = attention_units(work);
  const AttentionScratch scratch = attention_scratch(work);
  const OperandShape& k = step.operands[1];
  const double lines = static_cast<double>(work.key_heads * work.lines());
  const auto keys = static_cast<double>(work.keys);
  const double bytes = traffic_bytes(k) + traffic_bytes(step.operands[2]);
  fill_tasks(units.count, units.task_count, machine, out);
  WorkMemory memory(step, machine, out);
  const double scored = lines * keys * sizeof(float);
  if (has_few_lines(work)) {
    out->macs = out->needed_macs;
    out->moved_bytes += static_cast<double>(work.lines()) * bytes + 4 * scored;
    // A score's sum over the lanes of a vector.
    out->operations += lines * keys * machine.vector_lanes;
    out->tile_calls = lines * keys;
    memory.read(bytes);
    memory.again(bytes * static_cast<double>(work.lines() - 1),
                 static_cast<double>(attention_key_block(work) * (work.depth + work.columns)) *
                     element_bytes(k));
  } else {
    const PanelTileSize size = panel_tile_size(machine.vector_lanes);
    const int64_t block = attention_key_block(work);
    const auto blocks = static_cast<double>(ceil_div(work.keys, block));
    PanelCounts counts =
        count_product(work, size, blocks, block < work.keys ? block : work.keys, work.depth);
    counts.add(
        count_product(work, size, blocks, work.columns, block < work.keys ? block : work.keys));
    out->macs = counts.macs;
    out->tile_calls = counts.calls + lines * blocks;
    // A worker packs the panels of a head once if they are one block, else for each unit.
    const double workers = smaller(machine.threads, out->tasks);
    const double packs = blocks > 1 ? static_cast<double>(units.count)
                                    : smaller(static_cast<double>(units.count),
                                              static_cast<double>(work.key_heads) + workers - 1);
    const double packed =
        packs * keys * static_cast<double>(work.depth + scratch.sum_stride) * sizeof(float);
    out->moved_bytes +=
        counts.moved_bytes + 4 * scored + 2 * packed +
        2 * lines * blocks * static_cast<double>(scratch.sum_stride) * sizeof(float);
    const double panels = static_cast<double>(scratch.end - scratch.keys) * sizeof(float);
    memory.read(bytes, packs / static_cast<double>(work.key_heads));
    memory.scratch(static_cast<double>(scratch.end) * sizeof(float));
    memory.again(counts.tiles / 2 * panels, panels);
  }
  memory.read(lines * static_cast<double>(work.depth) * element_bytes(step.operands[0]));
  if (step.operand_count == 5) memory.read(traffic_bytes(step.operands[3]));
  memory.write(written_bytes(step));
  memory.finish();
}

void count_gpu(const StepShape& step, const AttentionWork& work, const WorkMachine& machine,
               StepWork* out) {
  const AttentionGroup group = attention_group(step);
  const OperandShape& q = step.operands[0];
  const OperandShape& k = step.operands[1];
  const OperandShape& v = step.operands[2];
  const double groups = static_cast<double>(work.key_heads) *
                        static_cast<double>(ceil_div(work.lines(), group.lines()));
  const auto steps = static_cast<double>(ceil_div(work.keys, group.keys()));
  const auto depth = static_cast<double>(work.depth);
  const double quads = static_cast<double>(ceil_div(work.columns / 4, group.items));
  const double items = groups * group.group_items();
  const double item_scores = double{1} * group.item_keys * group.rows;
  out->macs = items * (steps * item_scores * depth +
                       static_cast<double>(work.keys) * quads * 4 * group.rows);
  // Each maximum is looked at by all that share the line.
  out->operations = items * steps * (item_scores * kScoreOperations + group.items * group.rows);
  out->transcendentals = static_cast<double>(work.key_heads * work.lines() * work.keys);
  const double of_keys = groups * static_cast<double>(work.keys) * depth * element_bytes(k);
  const double of_values =
      groups * static_cast<double>(work.keys * work.columns) * element_bytes(v);
  out->moved_bytes +=
      items * steps *
          (group.item_keys * depth * element_bytes(k) + group.rows * depth * element_bytes(q)) +
      items * static_cast<double>(work.keys) * quads * 4 * element_bytes(v);
  out->tile_calls = out->waves * (steps * depth / 4 + static_cast<double>(work.keys));
  // Sums, scores, what a line has besides, and quads of queries and of a key.
  out->item_registers = group.rows * (4 * quads + group.item_keys + 3 + 4) + 4;
  const double head_bytes = traffic_bytes(k) / static_cast<double>(work.key_heads) +
                            traffic_bytes(v) / static_cast<double>(work.key_heads);
  WorkMemory memory(step, machine, out);
  memory.read(traffic_bytes(k) + traffic_bytes(v));
  memory.read(static_cast<double>(work.key_heads * work.lines()) * depth * element_bytes(q));
  if (step.operand_count == 5) memory.read(traffic_bytes(step.operands[3]));
  memory.write(written_bytes(step));
  memory.again(larger(of_keys + of_values - traffic_bytes(k) - traffic_bytes(v), 0), head_bytes);
  memory.finish();
}

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const AttentionWork work = attention_work(step);
  const OperandShape& y = step.output();
  const double scores = static_cast<double>(work.key_heads * work.lines() * work.keys);
  out->needed_macs = scores * static_cast<double>(work.depth + work.columns);
  if (step.kernel->is_reference()) {
    out->macs = out->needed_macs;
    return fill_loops(step, machine,
                      static_cast<double>(work.keys * (2 * work.depth + work.columns)) /
                          static_cast<double>(work.columns),
                      all_read_bytes(step), out);
  }
  out->run_bytes = static_cast<double>(work.columns) * element_bytes(y);
  out->moved_bytes = written_bytes(step);
  if (!is_cpu(step)) return count_gpu(step, work, machine, out);
  out->operations = scores * kScoreOperations;
  out->transcendentals = scores;
  count_cpu(step, work, machine, out);
}

}  // namespace

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Product, work, choose_tile, TileKind::Own};

}  // namespace codl::kernels::attention
