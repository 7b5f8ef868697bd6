#include "kernels/common/work/work_counts.h"

#include "kernels/common/activation/activation.h"
#include "kernels/common/contract/texel_factors.h"

namespace codl::kernels {

namespace {

// Calls visit(begin, end, slowness) for each worker that has tasks; slowness: the time that it
// takes for what the first worker does in 1.
template <typename Visit>
void each_share(int64_t task_count, const WorkMachine& machine, Visit visit) {
  if (task_count == 1) return visit(int64_t{0}, int64_t{1}, 1.0);
  const WorkerSpeeds workers = {machine.threads, machine.worker_speeds};
  const int64_t speed_sum = workers.sum();
  int64_t speed_before = 0;
  for (int32_t worker = 0; worker < workers.count; ++worker) {
    const int64_t speed = workers.of(worker);
    const int64_t begin = tasks_before(task_count, speed_before, speed_sum);
    speed_before += speed;
    const int64_t end = tasks_before(task_count, speed_before, speed_sum);
    if (begin < end) visit(begin, end, double{kFullSpeed} / static_cast<double>(speed));
  }
}

}  // namespace

void fill_tasks(int64_t units, int32_t task_count, const WorkMachine& machine, StepWork* out) {
  out->tasks = task_count;
  double most = 0;
  each_share(task_count, machine, [&](int64_t begin, int64_t end, double slowness) {
    const Units share =
        units_of_tasks(units, task_count, static_cast<int32_t>(begin), static_cast<int32_t>(end));
    most = larger(most, static_cast<double>(share.end - share.begin) * slowness);
  });
  if (units > 0) out->busiest_share = most / static_cast<double>(units);
}

PanelSharers fill_panel_tasks(const PanelBlocks& blocks, int64_t images, int64_t pixels,
                              int64_t panels, const WorkMachine& machine, StepWork* out) {
  const int64_t column = images * blocks.pixel_blocks;
  const int64_t task_count = column * blocks.panel_blocks;
  out->tasks = static_cast<double>(task_count);
  // Returns pixels times panels of tasks [0, task).
  const auto before = [&](int64_t task) {
    const int64_t block = task / column;
    const int64_t rest = task % column;
    const int64_t done = block * blocks.panels_per_block;
    const int64_t left =
        panels - done < blocks.panels_per_block ? panels - done : blocks.panels_per_block;
    int64_t of_image = rest % blocks.pixel_blocks * blocks.pixels_per_block;
    if (of_image > pixels) of_image = pixels;
    return (done < panels ? done : panels) * images * pixels +
           (rest == 0 ? 0 : left * (rest / blocks.pixel_blocks * pixels + of_image));
  };
  const auto all = static_cast<double>(images * pixels * panels);
  PanelSharers sharers = {0, 0};
  double most = 0;
  each_share(task_count, machine, [&](int64_t begin, int64_t end, double slowness) {
    most = larger(most, static_cast<double>(before(end) - before(begin)) * slowness);
    sharers.of_pixels += static_cast<double>(end - begin < column ? end - begin : column);
    sharers.of_panels += static_cast<double>((end - 1) / column - begin / column + 1);
  });
  out->busiest_share = most / all;
  sharers.of_pixels /= static_cast<double>(column);
  sharers.of_panels /= static_cast<double>(blocks.panel_blocks);
  return sharers;
}

PanelCounts count_panels(const PanelProduct& product, const PanelTileSize& size) {
  PanelCounts counts;
  if (product.pixels <= 0) return counts;
  // Tiles are about equal in size: `longer` of them have one pixel more than the others.
  const int64_t tiles = ceil_div(product.pixels, product.tile_pixels);
  const auto count = static_cast<int32_t>(product.pixels / tiles);
  const int64_t longer = product.pixels % tiles;
  const auto computed = static_cast<double>(longer * size.size_for(count + 1) +
                                            (tiles - longer) * size.size_for(count));
  const double calls = product.groups * static_cast<double>(product.panels / product.most_panels +
                                                            product.panels % product.most_panels);
  const double lanes = product.groups * product.lanes;
  counts.tiles = product.runs * static_cast<double>(tiles);
  counts.calls = counts.tiles * calls;
  counts.macs = product.runs * computed * lanes * product.depth;
  // A call loads its weights once and each input once, for every multiply-add of its depth.
  counts.moved_bytes = product.depth * (product.weight_bytes * counts.tiles * lanes +
                                        product.input_bytes * product.runs * computed * calls);
  return counts;
}

double factor_operations(const StepShape& step, uint32_t i) {
  const OperandShape& x = step.operands[i];
  if (!is_quantised(x) || (i == 0 && has_texels_of_factors(step))) return 0;
  return x.layout == Layout::Image2d ? 1 : 2;
}

void fill_gemm(const GemmTile& tile, const GemmSize& part, const GemmFactor& rows,
               const GemmFactor& columns, WorkMemory* memory, StepWork* out) {
  const auto products = static_cast<double>(part.products);
  const auto row_tiles = static_cast<double>(ceil_div(part.rows, tile.m));
  const auto column_tiles =
      static_cast<double>(ceil_div(ceil_div(part.columns, kChannelPanel) * kChannelPanel, tile.n));
  const auto steps = static_cast<double>(ceil_div(part.depth, tile.k));
  const double groups = products * row_tiles * column_tiles;
  const double group_rows = steps * tile.m * tile.k * rows.element_bytes;
  const double group_columns = steps * tile.n * tile.k * columns.element_bytes;
  out->macs += groups * steps * tile.k * tile.m * tile.n;
  out->moved_bytes += groups * (group_rows + group_columns);
  out->operations +=
      groups * steps * tile.k * (tile.m * rows.operations + tile.n * columns.operations);
  out->tile_calls += out->waves * steps;
  out->item_registers = static_cast<double>(gemm_item_registers(tile));
  // Groups of all columns follow each other: rows are read again at once, columns by the next rows.
  memory->again(groups * group_rows - products * rows.bytes, group_rows + group_columns);
  memory->again(groups * group_columns - products * columns.bytes, columns.bytes + group_rows);
}

namespace {

// Holds the cost of a function for one element: vector instructions, including those that keep a
// NaN, and quotients and roots.
struct Curve {
  double operations;
  double transcendentals;
};

// Counts the instructions of activation_f32_cpu.cc with Highway's functions; loads, stores,
// branches and constants are left out. With 16 lanes a sigmoid's quotient is an estimate and two
// instructions.
Curve cpu_curve(int32_t kind, const WorkMachine& machine) {
  const auto curve = [](double operations, double transcendentals) {
    return Curve{operations, transcendentals};
  };
  const auto with_sigmoid = [&](double others) {
    return machine.vector_lanes == 16 ? Curve{others + 19, 0} : Curve{others + 16, 1};
  };
  // A vector's calls of libm cost some 40 instructions for each of its lanes.
  const auto libm = [&] { return Curve{40.0 * machine.vector_lanes, 0}; };
  switch (kind) {
#define CODL_ACTIVATION(Name, number, parameters, use, formula, vector, cpu_cost, cl_cost, cl) \
  case number:                                                                                 \
    return cpu_cost;
#include "schema/activations.def"
    default:
      return {1, 0};
  }
}

// The cost of a function in the OpenCL texts: built-in functions that are more than an instruction
// count one each, like quotients and roots; their real cost is the driver's. erf is rational
// functions of four ranges, all of which vectors compute, and an exponential.
Curve cl_curve(int32_t kind) {
  const auto curve = [](double operations, double transcendentals) {
    return Curve{operations, transcendentals};
  };
  switch (kind) {
#define CODL_ACTIVATION(Name, number, parameters, use, formula, vector, cpu_cost, cl_cost, cl) \
  case number:                                                                                 \
    return cl_cost;
#include "schema/activations.def"
    default:
      return {0, 1};
  }
}

}  // namespace

void add_curve(int32_t kind, double elements, const WorkMachine& machine, StepWork* out) {
  const Curve curve = out->launches > 0 ? cl_curve(kind) : cpu_curve(kind, machine);
  out->operations += curve.operations * elements;
  out->transcendentals += curve.transcendentals * elements;
}

void fill_stream(const StepShape& step, const WorkMachine& machine, double read_bytes,
                 int64_t units, int32_t task_count, StepWork* out) {
  if (is_cpu(step))
    fill_tasks(units, task_count, machine, out);
  else
    out->tile_calls = out->waves;
  WorkMemory memory(step, machine, out);
  memory.read_channels(read_bytes);
  memory.write(written_bytes(step));
  memory.finish();
  out->moved_bytes += out->read_bytes + out->written_bytes;
}

void fill_loops(const StepShape& step, const WorkMachine& machine, double uses, double read_bytes,
                StepWork* out) {
  const OperandShape& y = step.output();
  const auto elements = static_cast<double>(part_elements(step));
  out->tasks = 1;
  out->gathers = elements * (uses + 1);
  out->moved_bytes = elements * (uses * element_bytes(step.operands[0]) + element_bytes(y));
  out->tile_calls = y.rank == 0 ? 1 : elements / y.dims[y.rank - 1];
  out->run_bytes = element_bytes(y);
  WorkMemory memory(step, machine, out);
  memory.read(read_bytes);
  memory.write(written_bytes(step));
  memory.finish();
}

double all_read_bytes(const StepShape& step) {
  double bytes = 0;
  for (uint32_t i = 0; i + 1 < step.operand_count; ++i) bytes += traffic_bytes(step.operands[i]);
  return bytes;
}

void fill_pixel_runs(const StepShape& step, StepWork* out) {
  const OperandShape& y = step.output();
  const int32_t channels = channels_of_part(step.part_dim, step.part, y).count();
  const bool is_apart = has_pixels(y) && channels < y.dims[1];
  const double written = written_bytes(step);
  out->run_bytes = is_apart ? channels * element_bytes(y) : written;
  out->tile_calls = is_apart ? written / (channels * element_bytes(y))
                    : has_pixels(y)
                        ? double{1} * y.dims[0] * rows_of_part(step.part_dim, step.part, y).count()
                        : 1;
  // Pad lanes are written one by one, behind each pixel.
  if (!is_cpu(step) || !has_pixels(y) || channels % kChannelPad == 0) return;
  const double pixels = written / element_bytes(y) / round_up(channels, kChannelPad);
  out->gathers = pixels * (round_up(channels, kChannelPad) - channels);
  if (!is_apart) out->tile_calls += pixels;
}

void count_moves(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const auto written = static_cast<double>(part_elements(step));
  double read = smaller(traffic_bytes(step.operands[0]), written * element_bytes(step.operands[0]));
  for (uint32_t i = 1; i + 1 < step.operand_count; ++i) read += traffic_bytes(step.operands[i]);
  fill_loops(step, machine, 1, read, out);
}

void count_loops(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  double elements = 0;  // sum over all inputs
  for (uint32_t i = 0; i + 1 < step.operand_count; ++i)
    elements += static_cast<double>(stored_elements(step.operands[i]));
  const auto written = static_cast<double>(part_elements(step));
  out->operations += larger(elements, written);
  fill_loops(step, machine, elements / larger(written, 1), all_read_bytes(step), out);
}

}  // namespace codl::kernels
