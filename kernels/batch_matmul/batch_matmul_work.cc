#include <cmath>

#include "kernels/batch_matmul/batch_matmul.h"
#include "kernels/common/work/gemm_tile_choice.h"
#include "kernels/common/work/work_counts.h"

namespace codl::kernels::batch_matmul {
namespace {

uint32_t choose_tile(const StepShape& step, const GpuFacts& gpu, int32_t* out_tile) {
  if (step.kernel->algorithm != Algorithm::Tiled) {
    // Adreno has 192 registers and Mali 64, NVIDIA and Xclipse 255 and more.
    constexpr int32_t kFewRegisters = 192;
    if (gpu.thread_registers == 0 || gpu.thread_registers > kFewRegisters) return 0;
    constexpr int32_t kItems = kClGridItems;
    const int32_t tile[kBatchMatMulTileInts] = {kItems, kItems, kItems, kBatchMatMulFewColumns};
    for (uint32_t i = 0; i < kBatchMatMulTileInts; ++i) out_tile[i] = tile[i];
    return kBatchMatMulTileInts;
  }
  const BatchMatMulWork work = batch_matmul_work(step.params_as<BatchMatMulParams>(),
                                                 step.operands[0], step.operands[1], step.output());
  return write_gemm_tile(fastest_gemm_tile(*step.kernel, batch_matmul_gemm_size(work), gpu),
                         out_tile);
}

// Counts units of rows and columns; a worker packs the columns of its units one after the other.
void count_panel_work(const StepShape& step, const BatchMatMulWork& work,
                      const WorkMachine& machine, StepWork* out) {
  const OperandShape& a = step.operands[0];
  const OperandShape& b = step.operands[1];
  const PanelTileSize size = panel_tile_size_of(machine, *out);
  const BatchMatMulUnits units = batch_matmul_units(work);
  const auto batches = static_cast<double>(work.batch_count);
  const int64_t columns = work.n < kBatchMatMulColumns ? work.n : kBatchMatMulColumns;
  const int64_t panels = ceil_div(work.n, kChannelPanel);
  const int32_t most = size.most_pixels(columns);
  PanelProduct product;
  product.runs = batches * static_cast<double>(units.row_blocks);
  product.pixels = ceil_div(work.m, units.row_blocks);
  product.tile_pixels =
      work.a_depth == 1 ? size.pixels_for(work.a_row * element_bytes(a), most) : most;
  product.panels = panels;
  product.most_panels = size.panels;
  product.lanes = static_cast<double>(panels - 1) * kChannelPanel + size.last_lanes(work.n);
  product.depth = static_cast<double>(work.k);
  product.input_bytes = element_bytes(a);
  product.weight_bytes = element_bytes(b);
  const PanelCounts counts = count_panels(product, size);
  out->macs = counts.macs;
  out->tile_calls = counts.calls;
  fill_tasks(units.count, units.task_count, machine, out);

  // Columns are packed once for all units of a worker that have them; where k goes in blocks, for
  // each unit.
  const auto column_sets = batches * static_cast<double>(units.column_blocks);
  const double workers = smaller(machine.threads, out->tasks);
  const double packs = work.k > kBatchMatMulDepth
                           ? static_cast<double>(units.count)
                           : smaller(static_cast<double>(units.count), column_sets + workers - 1);
  const double b_bytes = traffic_bytes(b);
  const double packed = packs / column_sets * batches * product.depth *
                        static_cast<double>(panels) * kChannelPanel * element_bytes(b);
  if (work.b_column != 1) out->gathers += packed / element_bytes(b);
  if (work.a_depth != 1)
    out->gathers += batches * static_cast<double>(work.m) * product.depth *
                    static_cast<double>(units.column_blocks);
  out->moved_bytes += counts.moved_bytes + 2 * packed;
  const double a_bytes = traffic_bytes(a);
  const double unit_rows = static_cast<double>(product.pixels) * product.depth * element_bytes(a);
  const double packed_bytes = static_cast<double>(packed_b_elements(work)) * element_bytes(b);
  WorkMemory memory(step, machine, out);
  memory.read(a_bytes, smaller(workers, static_cast<double>(units.column_blocks)));
  memory.read(b_bytes, packs / column_sets);
  memory.write(written_bytes(step));
  memory.scratch(packed_bytes);
  // Packed columns are read again for each tile of rows; rows, for the next columns.
  const double tiles_of_unit = counts.tiles / product.runs;
  memory.again(static_cast<double>(units.count) * packed_bytes * tiles_of_unit,
               packed_bytes + product.tile_pixels * product.depth * element_bytes(a));
  memory.again(a_bytes * larger(static_cast<double>(units.column_blocks) - workers, 0),
               unit_rows + packed_bytes);
  memory.finish();
}

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const OperandShape& a = step.operands[0];
  const OperandShape& b = step.operands[1];
  const BatchMatMulWork work =
      batch_matmul_work(step.params_as<BatchMatMulParams>(), a, b, step.output());
  const double a_bytes = traffic_bytes(a);
  const double b_bytes = traffic_bytes(b);
  const auto depth = static_cast<double>(work.k);
  out->needed_macs = static_cast<double>(element_count(step.output())) * depth;
  if (step.kernel->is_reference()) {
    out->macs = out->needed_macs;
    return fill_loops(step, machine, 2 * depth, a_bytes + b_bytes, out);
  }
  out->moved_bytes = written_bytes(step);
  out->run_bytes = static_cast<double>(work.n) * element_bytes(step.output());
  if (is_cpu(step)) return count_panel_work(step, work, machine, out);
  WorkMemory memory(step, machine, out);
  memory.read(a_bytes + b_bytes);
  memory.write(written_bytes(step));
  const double batches = static_cast<double>(work.batch_count);
  if (step.kernel->algorithm == Algorithm::Tiled) {
    fill_gemm(gemm_tile_of(step), batch_matmul_gemm_size(work),
              {a_bytes / batches, element_bytes(a), factor_operations(step)},
              {b_bytes / batches, element_bytes(b), factor_operations(step, 1)}, &memory, out);
    // a and b have steps of their own in rows, columns and depth: of 4 x 4, 23 registers are
    // spilled where there are 64 (compiled by Mesa 25.0.7 for Mali-G610).
    out->address_registers = 24;
  } else {
    const int32_t columns = batch_matmul_item_columns(step);
    const double depths = batch_matmul_depths(work, columns);
    const auto row_tiles = static_cast<double>(ceil_div(work.m, kBatchMatMulItemRows));
    const auto column_tiles = static_cast<double>(ceil_div(work.n, columns));
    const double items = batches * row_tiles * column_tiles;
    const double item_macs = kBatchMatMulItemRows * columns;
    const double item_bytes = kBatchMatMulItemRows * element_bytes(a) + columns * element_bytes(b);
    out->macs = items * item_macs * depth;
    out->moved_bytes += items * depth * item_bytes;
    out->operations +=
        items * depth *
        (kBatchMatMulItemRows * factor_operations(step) + columns * factor_operations(step, 1));
    if (work.b_column != 1 && depths == 1) out->gathers = items * depth * columns;
    // Sums, columns of b at all depths, and a: a depth of all rows or the depths of one.
    out->item_registers = item_macs + columns * depths + kBatchMatMulItemRows;
    out->tile_calls = out->waves * std::ceil(depth / depths);
    // A group has a few items to a side.
    constexpr double kSide = kClGridItems;
    memory.again(a_bytes * larger(column_tiles / kSide - 1, 0), a_bytes / batches);
    memory.again(b_bytes * larger(row_tiles / kSide - 1, 0), b_bytes / batches);
  }
  memory.finish();
}

}  // namespace

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Product, work, choose_tile};

}  // namespace codl::kernels::batch_matmul
