// Says what a kernel's steps cost and which tiles they take. Expands ops.def.
#pragma once

#include "kernels/common/work/step_work.h"

namespace codl::kernels {

const OpWork& work_of(OpKind op);

// Counts the work of a step that has passed check_step(), on such a processor. A GPU step has its
// tile.
void count_work(const StepShape& step, const WorkMachine& machine, StepWork* out);

KernelFamily family_of(const KernelInfo& kernel);

// The tile of a GPU step on such a GPU: writes at most kMaxTileInts numbers and returns how many;
// 0: the step needs none. The step has no tile and has passed check_step().
uint32_t choose_tile(const StepShape& step, const GpuFacts& gpu, int32_t* out_tile);

// Returns whether a work-group of the GPU step, with its tile or the one that is chosen, has room
// on such a GPU: for its work-items and its local memory, and, of kernels that spill registers with
// every tile, for those. The step has passed check_step().
bool has_room_for_group(const StepShape& step, const GpuFacts& gpu);

// Returns whether a work-item of the GPU step, with its tile or the one that is chosen, keeps its
// sums and factors in registers on such a GPU. The step has passed check_step().
bool fits_registers(const StepShape& step, const GpuFacts& gpu);

// A CPU kernel has Own.
TileKind tile_kind_of(const KernelInfo& kernel);

// Returns whether the kernel is for an OpenCL device made of CPU cores only. There a work-item has
// kilobytes of private memory, which the cores keep in their caches, and for which a GPU would take
// memory for every item that may run. Or each work-item reads vectors of 16 lanes of its own, where
// neighbours on a GPU should read neighbouring bytes, as MatMul's other kernels do.
bool is_for_processors(const KernelInfo& kernel);

}  // namespace codl::kernels
