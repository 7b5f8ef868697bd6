#include <cmath>

#include "kernels/common/work/gemm_tile_choice.h"
#include "kernels/common/work/work_counts.h"
#include "kernels/matmul/matmul.h"

namespace codl::kernels::matmul {
namespace {

// An integer of a block becomes a float by a mask, a conversion, a difference and a product.
constexpr double kWidening = 4;

constexpr bool has_blocks(const StepShape& step) { return step.operands[1].dtype == DType::U8; }

// Returns the bytes of a panel in memory.
double stored_panel_bytes(const OperandShape& w) {
  if (w.dtype == DType::U8) return static_cast<double>(block_panel_bytes(blocks_of(w), w.dims[0]));
  return double{1} * w.dims[0] * kChannelPanel * element_bytes(w);
}

uint32_t choose_tile(const StepShape& step, const GpuFacts& gpu, int32_t* out_tile) {
  if (step.kernel->algorithm != Algorithm::Tiled) return 0;
  const OperandShape& x = step.operands[0];
  return write_gemm_tile(
      fastest_gemm_tile(*step.kernel, {x.dims[0], step.output().dims[1], x.dims[1]}, gpu),
      out_tile);
}

// Counts panels of weights that pass over the rows of x, as in Conv2d.
void count_panel_work(const StepShape& step, double weight_bytes, const WorkMachine& machine,
                      StepWork* out) {
  const OperandShape& x = step.operands[0];
  const OperandShape& w = step.operands[1];
  const OperandShape& y = step.output();
  const PanelTileSize size = panel_tile_size_of(machine, *out);
  const MatMulWork work = matmul_work(x, w, y, step.part_dim, step.part);
  const bool has_last = step.part_dim != SplitDim::OutputChannel || step.part.end == y.dims[1];
  PanelProduct product;
  product.pixels = work.rows;
  product.tile_pixels =
      size.pixels_for(int64_t{x.dims[1]} * element_bytes(x), size.most_pixels(y.dims[1]));
  product.panels = work.panels.count();
  product.most_panels = work.rows == 1 ? size.row_panels : size.panels;
  product.lanes = static_cast<double>(product.panels - 1) * kChannelPanel +
                  (has_last ? size.last_lanes(y.dims[1]) : kChannelPanel);
  product.depth = x.dims[1];
  product.input_bytes = element_bytes(x);
  const int64_t panel_bytes = matmul_panel_bytes(x, w);
  product.weight_bytes = static_cast<double>(panel_bytes) / (double{1} * x.dims[1] * kChannelPanel);
  const PanelCounts counts = count_panels(product, size);
  out->macs = counts.macs;
  out->moved_bytes += counts.moved_bytes;
  out->tile_calls = counts.calls;

  const PanelSharers sharers =
      fill_panel_tasks(work.blocks, 1, work.rows, work.panels.count(), machine, out);
  if (has_blocks(step))
    out->operations += kWidening * work.panels.count() * kChannelPanel * x.dims[1] *
                       static_cast<double>(work.blocks.pixel_blocks);
  const double worker_panels = static_cast<double>(work.panels.count()) * sharers.of_panels /
                               smaller(machine.threads, out->tasks);
  const double pass_panels =
      smaller(static_cast<double>(size.pass_panels(panel_bytes, product.most_panels)),
              larger(worker_panels, 1));
  const double pass_bytes = pass_panels * static_cast<double>(panel_bytes);
  const double passes = larger(worker_panels / pass_panels, 1);
  const double row_bytes = product.depth * element_bytes(x);
  const double read_bytes = traffic_bytes(x);
  const double tile_bytes =
      smaller(static_cast<double>(product.tile_pixels), static_cast<double>(work.rows)) * row_bytes;
  WorkMemory memory(step, machine, out);
  memory.read(read_bytes, sharers.of_pixels);
  memory.weights(weight_bytes, sharers.of_panels);
  memory.write(written_bytes(step));
  memory.again(larger(counts.tiles - sharers.of_panels, 0) * weight_bytes, pass_bytes + tile_bytes);
  memory.again(
      read_bytes * sharers.of_pixels * larger(pass_panels / product.most_panels - 1, 0) * passes,
      tile_bytes + smaller(pass_panels, product.most_panels) * static_cast<double>(panel_bytes));
  memory.again(read_bytes * sharers.of_pixels * (passes - 1),
               read_bytes * out->busiest_share + pass_bytes);
  memory.finish();
}

// Counts a row whose groups each take a panel and a block of rows.
void count_group_row(const StepShape& step, double weight_bytes, const WorkMachine& machine,
                     StepWork* out) {
  const double depth = step.operands[0].dims[1];
  const bool is_gemv = step.kernel->algorithm == Algorithm::Gemv;
  const double rows = matmul_group_rows(step.output());
  const double items = is_gemv ? kMatMulGemvItems : kMatMulGroupItems;
  // Lanes of an item; other items have the others of a panel.
  const double lanes = is_gemv ? 4 : kChannelPanel;
  const double groups = out->work_groups;
  out->macs = groups * rows * kChannelPanel * depth;
  out->moved_bytes +=
      groups * depth * kChannelPanel *
      (element_bytes(step.operands[1]) + rows / lanes * element_bytes(step.operands[0]));
  out->operations += groups * depth * kChannelPanel * rows / lanes * factor_operations(step);
  if (has_blocks(step)) out->operations += kWidening * groups * depth * kChannelPanel;
  // Sums, weights, and x: four depths a pass, two passes at once of one row; else one depth.
  const double quads = is_gemv ? (rows == 1 ? 2 : 1) : 0;
  out->item_registers = rows * lanes + (is_gemv ? quads * 4 * (lanes + rows) : lanes);
  // The items share the depth: a depth each, or four depths of a quarter of the lanes.
  out->tile_calls = out->waves * std::ceil(depth / items);
  const double row_blocks = std::ceil(step.output().dims[0] / rows);
  const double read_bytes = traffic_bytes(step.operands[0]);
  WorkMemory memory(step, machine, out);
  memory.read(read_bytes);
  memory.weights(weight_bytes);
  memory.write(written_bytes(step));
  memory.again(read_bytes * (groups / row_blocks - 1), read_bytes / row_blocks);
  memory.again(weight_bytes * (row_blocks - 1), weight_bytes);
  memory.finish();
}

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const auto& params = step.params_as<MatMulParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& w = step.operands[1];
  const OperandShape& y = step.output();
  const double columns = channels_of_part(step.part_dim, step.part, y).count();
  const double elements = y.dims[0] * columns;
  const double weight_bytes =
      static_cast<double>(panel_channels(static_cast<int64_t>(columns))) *
      (stored_panel_bytes(w) / kChannelPanel + element_bytes(step.operands[2]));
  out->needed_macs = elements * x.dims[1];
  out->moved_bytes = written_bytes(step);
  out->run_bytes = columns == y.dims[1] ? written_bytes(step) : columns * element_bytes(y);
  add_curve(params.activation, elements, machine, out);
  if (is_cpu(step)) return count_panel_work(step, weight_bytes, machine, out);
  if (step.kernel->algorithm != Algorithm::Tiled)
    return count_group_row(step, weight_bytes, machine, out);
  WorkMemory memory(step, machine, out);
  memory.read(traffic_bytes(x));
  memory.weights(weight_bytes);
  memory.write(written_bytes(step));
  fill_gemm(gemm_tile_of(step), {y.dims[0], static_cast<int64_t>(columns), x.dims[1]},
            {traffic_bytes(x), element_bytes(x), factor_operations(step)},
            {weight_bytes, element_bytes(w)}, &memory, out);
  if (has_blocks(step))
    out->operations += kWidening * out->work_groups * gemm_tile_of(step).n * x.dims[1];
  memory.finish();
}

}  // namespace

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Product, work, choose_tile, TileKind::Own};

}  // namespace codl::kernels::matmul
