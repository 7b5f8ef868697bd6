// Asks an operator's kernels how much work a step is, and which tile to take, while a plan or a
// profile is made, never while a plan runs. The runtime does not link this.
#pragma once

#include "kernels/common/contract/check_step_shape.h"
#include "kernels/common/work/gpu_facts.h"

namespace codl::kernels {

// ---- what a step costs --------------------------------------------------------------------------

// Holds the facts of the processor of a step's kernel that its counts depend on: how kernels are
// cut for it, and what its caches hold.
struct WorkMachine {
  // CPU
  int32_t threads = 1;  // workers
  // Gives the speed of each worker, as in WorkerSpeeds; null: all are alike.
  const uint16_t* worker_speeds = nullptr;
  int32_t vector_lanes = 4;  // floats in a vector of the kernels: 4, 8 or 16
  // GPU
  int32_t units = 1;       // compute units, each with work-groups of its own
  int32_t wave_width = 1;  // work-items that run in step; 1 where a processor runs OpenCL
  // Bytes of the caches; 0: there is none.
  //   l1          of a core or compute unit
  //   texture     of a compute unit, for images; 0: l1 serves them, too
  //   l2          of a core; of a GPU, for all units
  //   last_level  of all cores, or of the system for a GPU
  double l1_bytes = 0;
  double texture_bytes = 0;
  double l2_bytes = 0;
  double last_level_bytes = 0;
  // Kernels with half arithmetic multiply and add halves there; else floats, whatever they load.
  bool has_half_arithmetic = false;
};

// Counts the work that a step gives a processor. A number is for the whole step, all workers or
// units together, unless it says otherwise. Each can be checked by hand from the shapes, the part,
// and how the kernel goes through it. None is weighed or fitted, and none is below 0.
struct StepWork {
  // -- arithmetic, in elements: a vector of 8 lanes counts 8
  // Multiply-adds that are executed, including those of surplus pixels, channels and lanes of
  // tiles, panels and vectors. For Winograd, these are those of the products.
  double macs = 0;
  DType mac_type = DType::F32;  // F16 if these multiply and add halves, I8 if they multiply bytes
  // Multiply-adds of the operator's definition: output elements of the part times the depth of
  // each, taps in the padding included.
  double needed_macs = 0;
  // Other arithmetic instructions, one for each element that a vector of them has room for:
  // additions, comparisons, limits, conversions, those of transforms, of polynomials. Moves are
  // none.
  double operations = 0;
  // Quotients and roots, which wait for a unit of their own; on a GPU also calls of the driver's
  // functions: exponentials, logarithms, sines.
  double transcendentals = 0;

  // -- memory, in bytes
  // Each byte once, however often it is used: of inputs that are no weights (with the halo of a
  // part), of the output (pad lanes included), of packed weights and bias.
  double read_bytes = 0;
  double written_bytes = 0;
  double weight_bytes = 0;
  // Bytes that loads and stores ask of the first-level cache: each use counts. On a GPU, the bytes
  // that arrive in the registers of work-items, counted for each item; local memory is not counted.
  double moved_bytes = 0;
  // Bytes that loads bring from beyond the first level, the second and the last, in a step that
  // runs again and again by itself. A byte that is used again after d other bytes comes from beyond
  // a cache of c bytes by the share d / c - 1, limited to 0 to 1. The first use of a byte in a run
  // is counted as if it followed the last use in the run before. A GPU's groups share no first
  // level: a byte that another group has read comes from beyond it. A piece of a pixel counts with
  // all its cache lines. Stores are counted beyond the last level only, where a line is fetched for
  // them.
  double beyond_l1_bytes = 0;
  double beyond_l2_bytes = 0;
  double beyond_last_bytes = 0;
  // Length of the pieces, one behind the other in memory, that are read or written at a time, of
  // the operand in the shortest ones.
  double run_bytes = 0;
  // Loads and stores of single elements, or of less than a vector, each at an address of its own.
  double gathers = 0;

  // -- loops
  // On a CPU this counts calls of the innermost function: for a tile of the micro-kernel, a run, a
  // row. On a GPU it counts steps of loops, summed over waves; a step's loads are issued at once,
  // and the next step waits for them.
  double tile_calls = 0;
  // How often all tasks run, each time after all are done; 1 on a GPU.
  double phases = 1;

  // -- a CPU step
  // Pieces, of a phase, that any worker may run.
  double tasks = 0;
  // The time of the worker that is done last, in units of the time that the first worker, the
  // fastest, would take for the whole step: its part of the work over its speed, by the shares that
  // workers begin with. 1 if there is one task. If workers are alike it is the largest part, 1 /
  // threads at least.
  double busiest_share = 1;

  // -- a GPU step
  double launches = 0;    // OpenCL kernels launched
  double work_items = 0;  // includes items that only fill up groups
  double work_groups = 0;
  double waves = 0;  // sum over groups of work-items / wave_width, rounded up
  // A work-item has so many 32-bit registers for sums, factors and what is on its way to local
  // memory; 0: so few that they do not decide how many waves a unit holds.
  double item_registers = 0;
  // It has so many for addresses, more than kOtherItemRegisters. They matter where a work-item has
  // few; how many waves a unit holds is counted without them.
  double address_registers = 0;
  double group_local_bytes = 0;  // ClLaunch::local_bytes
};

// ---- what an operator says while planning -------------------------------------------------------

// Kernels that use a machine alike: what one reaches of its rates, another of the family is assumed
// to reach. Loops are the reference kernels of all operators.
enum class KernelFamily : uint8_t {
  Convolution,
  Product,
  Depthwise,
  Window,     // pools and resizes do few operations for each of the elements in reach
  Reduction,  // softmax, normalisation, sums
  Elementwise,
  Move,  // elements change place
  // Work-items keep sums of products while their group waits, at each piece of the depth, for the
  // operands it shares in local memory. The cost depends on the device: a processor that runs
  // OpenCL puts all sums of a group away at each wait.
  Tiled,
  Loops,
};
inline constexpr const char* kFamilyNames[] = {"convolution", "product",   "depthwise",
                                               "window",      "reduction", "elementwise",
                                               "move",        "tiled",     "loops"};
inline constexpr int kFamilyCount = 9;

// Says how a profile may choose a kernel's tile.
//   Own    not at all: the numbers have a meaning of their own, or work-groups share local memory
//   Local  it chooses the local size: the first three numbers, which change no result
//   Gemm   it chooses among the tiles of gemm_tile.cl
enum class TileKind { Own, Local, Gemm };

// Each kernels/<op>/ has one constant, k<Op>Work, in <op>_work.cc. All steps have passed
// check_step().
struct OpWork {
  KernelFamily family;  // for all kernels but the reference one and those that are tiled
  // Adds the counts of the step to `out`, which has those of a GPU's launch. A GPU step has its
  // tile.
  void (*work)(const StepShape& step, const WorkMachine& machine, StepWork* out) = nullptr;
  // Writes at most kMaxTileInts numbers for a step without a tile and returns how many; 0: the
  // defaults. The step passes check_step() with them. Only GPU kernels have it; it is null for most
  // operators. For a Local kernel the first three are the local size, which kernels::choose_tile()
  // replaces by the profile's. Numbers that decide the order of additions must not depend on the
  // part.
  uint32_t (*choose_tile)(const StepShape& step, const GpuFacts& gpu, int32_t* out_tile) = nullptr;
  // The kind of tile of GPU kernels whose algorithm does not imply it (tile_kind_of()).
  TileKind tile_kind = TileKind::Local;
};

}  // namespace codl::kernels
