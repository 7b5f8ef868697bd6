// Holds what the functions that fill StepWork share.
#pragma once

#include "kernels/common/contract/check_step_shape.h"
#include "kernels/common/contract/tasks.h"
#include "kernels/common/gemm/gemm_tile.h"
#include "kernels/common/gemm/panel_tile.h"
#include "kernels/common/work/step_work.h"

namespace codl::kernels {

constexpr double larger(double a, double b) { return a > b ? a : b; }
constexpr double smaller(double a, double b) { return a < b ? a : b; }

constexpr double map_bytes(const OperandShape& map, int32_t rows, double channels) {
  return static_cast<double>(map.dims[0]) * rows * map.dims[3] * channels * element_bytes(map);
}
// Returns the bytes that the part writes, pad lanes included.
constexpr double written_bytes(const StepShape& step) {
  return static_cast<double>(part_elements(step)) * element_bytes(step.output());
}
// Channels, of a multiple of 4, as vectors that each count whole: those of four that end a pixel
// are instructions as those of `lanes` are.
constexpr double vector_channels(double channels, double lanes) {
  const double wide = static_cast<double>(static_cast<int64_t>(channels / lanes));
  return (wide + (channels - wide * lanes) / kChannelPad) * lanes;
}
constexpr bool is_cpu(const StepShape& step) { return step.kernel->processor == Processor::Cpu; }
// Return the numbers in a CPU's vector of multiply-adds, and the tiles of a product of panels.
constexpr int32_t mac_lanes(const WorkMachine& machine, const StepWork& work) {
  return work.mac_type == DType::F16 ? 2 * machine.vector_lanes : machine.vector_lanes;
}
constexpr PanelTileSize panel_tile_size_of(const WorkMachine& machine, const StepWork& work) {
  return work.mac_type == DType::F16 ? kHalfTileSize : panel_tile_size(machine.vector_lanes);
}

// ---- tiles --------------------------------------------------------------------------------------

// For OpWork::choose_tile of a kernel with check_cl_lanes_tile(), whose work-items on 16 channels
// have so many registers. It takes 4 channels, in groups of `local`, where there are fewer.
constexpr uint32_t choose_cl_lanes(const StepShape& step, const GpuFacts& gpu, int32_t registers,
                                   const int32_t (&local)[3], int32_t* out_tile) {
  const bool has_room = gpu.thread_registers == 0 || gpu.thread_registers >= registers;
  if (!has_cl_lanes(*step.kernel) || has_room) return 0;
  for (int32_t i = 0; i < 3; ++i) out_tile[i] = local[i];
  out_tile[3] = kChannelPad;
  return kClLanesTileInts;
}

// Chooses for a kernel on chunks. A chunk's result, what it is made of, and the pieces in which
// load_lanes() loads that are at most five chunks. (Two of a pool spill 64 registers, compiled by
// Mesa 25.0.7 for Mali G610.)
constexpr uint32_t choose_chunk_lanes(const StepShape& step, const GpuFacts& gpu,
                                      int32_t* out_tile) {
  return choose_cl_lanes(step, gpu, 5 * kClLanes, {kClLineItems, 1, 1}, out_tile);
}

// ---- memory -------------------------------------------------------------------------------------

// Counts the bytes of one step, as they are found going through its loops.
class WorkMemory {
 public:
  WorkMemory(const StepShape& step, const WorkMachine& machine, StepWork* out)
      : machine_(machine), out_(*out), is_cpu_(is_cpu(step)), l1_bytes_(machine.l1_bytes) {
    const OperandShape& y = step.output();
    const double channels = channels_of_part(step.part_dim, step.part, y).count();
    if (has_pixels(y) && channels < y.dims[1])
      lines_ = line_bytes(y, channels) / (channels * element_bytes(y));
    for (uint32_t i = 0; i < step.operand_count; ++i)
      if (step.operands[i].layout == Layout::Image2d && machine.texture_bytes > 0)
        l1_bytes_ = machine.texture_bytes;
  }

  // Counts the reading of `bytes`, each byte once. `sharers`: workers, or groups, that read it;
  // 1.5: one half of it is read by two.
  void read(double bytes, double sharers = 1) {
    out_.read_bytes += bytes;
    used_ += bytes * sharers;
  }
  void weights(double bytes, double sharers = 1) {
    out_.weight_bytes += bytes;
    used_ += bytes * sharers;
  }
  // Does the same for an input that is read by the channels of the part.
  void read_channels(double bytes) {
    read(bytes);
    lines_read_ += bytes * (lines_ - 1);
  }
  void write(double bytes) { out_.written_bytes += bytes; }
  // Bytes of memory that a kernel writes and reads again for itself.
  void scratch(double bytes) { scratch_ += bytes; }

  // Counts bytes that a worker reads again when it has touched `distance` others, each counted
  // once. On a GPU a group reads what others have read, after all in between have touched
  // `distance`.
  void again(double bytes, double distance) {
    if (bytes <= 0) return;
    const double all = is_cpu_ ? distance * workers() : distance;
    out_.beyond_l1_bytes += is_cpu_ ? beyond(bytes, distance, l1_bytes_) : bytes;
    out_.beyond_l2_bytes += beyond(bytes, distance, machine_.l2_bytes);
    out_.beyond_last_bytes += beyond(bytes, all, machine_.last_level_bytes);
  }

  // Counts the bytes that are used for the first time in a run. Must be called last, once
  // busiest_share is known.
  void finish() {
    const double once = out_.read_bytes + out_.weight_bytes + lines_read_;
    const double written = out_.written_bytes * lines_;
    const double all = once + written + scratch_ * workers();
    used_ += lines_read_;
    // One worker or compute unit has this share.
    const double share = is_cpu_ ? out_.busiest_share : 1.0 / machine_.units;
    const double own = (used_ + written) * share + scratch_;
    out_.beyond_l1_bytes += beyond(used_, own, l1_bytes_);
    out_.beyond_l2_bytes +=
        is_cpu_ ? beyond(used_, own, machine_.l2_bytes) : beyond(once, all, machine_.l2_bytes);
    out_.beyond_last_bytes += beyond(once + written, all, machine_.last_level_bytes);
  }

 private:
  double workers() const { return is_cpu_ ? smaller(machine_.threads, larger(out_.tasks, 1)) : 1; }
  // Returns how many of `bytes`, used again after `distance` other bytes, a cache no longer holds.
  static double beyond(double bytes, double distance, double cache_bytes) {
    if (cache_bytes <= 0) return bytes;
    return bytes * smaller(larger(distance / cache_bytes - 1, 0), 1);
  }

  // Returns the bytes of the cache lines of `channels` of a pixel, which begin at any four.
  static double line_bytes(const OperandShape& map, double channels) {
    constexpr double kLine = 64;
    return smaller((channels - kChannelPad) * element_bytes(map) + kLine,
                   double{1} * padded_channels(map) * element_bytes(map));
  }

  const WorkMachine& machine_;
  StepWork& out_;
  bool is_cpu_;
  double l1_bytes_;        // size of the cache that serves the operands
  double used_ = 0;        // first uses, by each that reads
  double lines_read_ = 0;  // bytes of cache lines around the pieces that are read
  double lines_ = 1;       // bytes of lines per byte of the part's pieces of pixels
  double scratch_ = 0;
};

// ---- CPU: tasks ---------------------------------------------------------------------------------

// Fills in tasks of `units` equal units, by units_of_tasks().
void fill_tasks(int64_t units, int32_t task_count, const WorkMachine& machine, StepWork* out);

// Says how many workers read each pixel and each panel, if tasks are blocks of pixels times blocks
// of panels, by take_rectangle().
struct PanelSharers {
  double of_pixels = 1;
  double of_panels = 1;
};
PanelSharers fill_panel_tasks(const PanelBlocks& blocks, int64_t images, int64_t pixels,
                              int64_t panels, const WorkMachine& machine, StepWork* out);

// ---- CPU: tiles of pixels and panels ------------------------------------------------------------

// Describes a product by the micro-kernel of panel_tile-inl.h.
struct PanelProduct {
  double runs = 1;          // runs of pixels, each cut into tiles
  int64_t pixels = 1;       // pixels in a run
  int32_t tile_pixels = 1;  // most of a tile
  double groups = 1;
  int64_t panels = 1;       // panels in a group
  int32_t most_panels = 1;  // most panels in a call
  double lanes = 16;        // lanes computed of a group's panels, all together: each but the last
                            // has 16
  double depth = 1;         // multiply-adds of an element
  double input_bytes = 0;   // bytes of an input
  double weight_bytes = 0;  // bytes of a weight
};

struct PanelCounts {
  double tiles = 0;  // tiles of pixels
  double calls = 0;
  double macs = 0;
  double moved_bytes = 0;  // weights and inputs that are loaded

  void add(const PanelCounts& other) {
    tiles += other.tiles;
    calls += other.calls;
    macs += other.macs;
    moved_bytes += other.moved_bytes;
  }
};
PanelCounts count_panels(const PanelProduct& product, const PanelTileSize& size);

// ---- GPU ----------------------------------------------------------------------------------------

// Describes what the rows or columns of a product are made of.
struct GemmFactor {
  double bytes;  // all rows or columns of one product, each byte once
  int32_t element_bytes;
  double operations = 0;  // factor_operations()
};

// Returns the instructions that make a factor of an element of input `i` (products.cl): texels of
// bytes arrive as fractions, other bytes are converted.
double factor_operations(const StepShape& step, uint32_t i = 0);

// Fills in a part's product by gemm_tile.cl.
void fill_gemm(const GemmTile& tile, const GemmSize& part, const GemmFactor& rows,
               const GemmFactor& columns, WorkMemory* memory, StepWork* out);

// ---- functions of values ------------------------------------------------------------------------

// Adds what a member of Unary takes, applied to so many elements, by a CPU's vectors or, where
// `out` has launches, a GPU.
void add_curve(int32_t kind, double elements, const WorkMachine& machine, StepWork* out);

// ---- whole steps --------------------------------------------------------------------------------

// Fills in a step that reads and writes in order and touches each byte of its operands once; it
// reads `read_bytes` of the inputs. On a CPU it has tasks, too.
void fill_stream(const StepShape& step, const WorkMachine& machine, double read_bytes,
                 int64_t units, int32_t task_count, StepWork* out);

// Fills in plain loops, the reference kernels: one task, which finds each element by its indices.
// `uses`: inputs loaded per element of the output.
void fill_loops(const StepShape& step, const WorkMachine& machine, double uses, double read_bytes,
                StepWork* out);

// Returns the bytes of all inputs.
double all_read_bytes(const StepShape& step);

// Fills in the runs of an output that is read and written in its order: all of it, or the channels
// of a part in each pixel.
void fill_pixel_runs(const StepShape& step, StepWork* out);

// This is OpWork::work of reference kernels, which read as much of the inputs as they write:
void count_moves(const StepShape& step, const WorkMachine& machine, StepWork* out);
// Counts all of all operands, and one operation per element:
void count_loops(const StepShape& step, const WorkMachine& machine, StepWork* out);

}  // namespace codl::kernels
