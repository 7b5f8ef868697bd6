#include "kernels/work_table.h"

#include "kernels/common/work/work_counts.h"
#include "kernels/conv2d/winograd.h"
#include "kernels/kernel_table.h"

namespace codl::kernels {

// Each (conv2d::kWork, ...) is in kernels/<folder>/<folder>_work.cc. An operator without one fails
// to link.
#define CODL_OP_BEGIN(Op, id, folder) \
  namespace folder {                  \
  extern const OpWork kWork;          \
  }
#include "schema/ops.def"

const OpWork& work_of(OpKind op) {
  switch (op) {
#define CODL_OP_BEGIN(Op, id, folder) \
  case OpKind::Op:                    \
    return folder::kWork;
#include "schema/ops.def"
  }
  __builtin_unreachable();
}

namespace {

// Counts work-items, groups and waves. A local size that the driver chooses is a wave.
void count_launch(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  ClLaunch launch;
  launch_of(step, &launch);
  double items = 1;
  double group_items = 1;
  for (int i = 0; i < 3; ++i) {
    items *= static_cast<double>(launch.global[i]);
    group_items *= static_cast<double>(launch.local[i]);
  }
  if (group_items == 0) group_items = machine.wave_width;
  out->launches = 1;
  out->work_items = items;
  out->work_groups = items / group_items;
  const auto waves =
      static_cast<double>(ceil_div(static_cast<int64_t>(group_items), int64_t{machine.wave_width}));
  out->waves = out->work_groups * waves;
  out->group_local_bytes = launch.local_bytes;
}

// Returns the instructions that a GPU takes to make numbers of bytes and bytes of numbers: each
// converts, adds and multiplies, and storing rounds. What factors of products take is counted by
// their operators.
double byte_operations(const StepShape& step, const StepWork& work) {
  constexpr double kLoad = 3;
  constexpr double kStore = 4;
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  const double stored = is_quantised(y) ? work.written_bytes / element_bytes(y) : 0;
  const bool loads_numbers = is_quantised(x) && work.macs == 0;
  const double loaded =
      loads_numbers ? (work.moved_bytes - work.written_bytes) / element_bytes(x) : 0;
  return kLoad * larger(loaded, 0) + kStore * stored;
}

// Returns the halves or bytes that a CPU kernel converts because it computes floats: those that it
// loads and stores, by Winograd's method once, to floats that it keeps. A GPU's loads convert on
// their way, and kernels that move elements leave them as they are.
double converted_elements(const StepShape& step, const StepWork& work) {
  const KernelFamily family = family_of(*step.kernel);
  const OperandShape& x = step.operands[0];
  if (step.kernel->processor != Processor::Cpu) return byte_operations(step, work);
  if ((x.dtype != DType::F16 && !is_quantised(x)) || work.mac_type != DType::F32 ||
      family == KernelFamily::Move || family == KernelFamily::Loops)
    return 0;
  const double bytes = winograd_outputs(step.kernel->packing) > 0
                           ? work.read_bytes + work.written_bytes
                           : work.moved_bytes;
  return bytes / element_bytes(x);
}

}  // namespace

void count_work(const StepShape& rounding, const WorkMachine& machine, StepWork* out) {
  *out = {};
  const WithoutRounding without(rounding);
  const StepShape& windows = without.step();
  // A window of channels is passed over like a map of its own; a Concat does not copy those in it.
  OperandShape shapes[kMaxOperands];
  StepShape step = windows;
  if (step.kernel->op != OpKind::Concat) {
    step.operands = shapes;
    for (uint32_t i = 0; i < step.operand_count; ++i) {
      shapes[i] = windows.operands[i];
      shapes[i].pixel_stride = shapes[i].first_channel = 0;
    }
  }
  if (step.kernel->processor == Processor::Gpu) count_launch(step, machine, out);
  if (machine.has_half_arithmetic && half_arithmetic_of(step) != HalfArithmetic::None)
    out->mac_type = DType::F16;
  // Depthwise kernels interleave rows for their dot products and round each sum, which takes what
  // these save.
  if (step.kernel->has(Signature::Q8) && step.kernel->op != OpKind::DepthwiseConv2d)
    out->mac_type = DType::I8;
  work_of(step.kernel->op).work(step, machine, out);
  out->operations += converted_elements(step, *out);
}

KernelFamily family_of(const KernelInfo& kernel) {
  if (kernel.is_reference()) return KernelFamily::Loops;
  const bool shares_powers = kernel.op == OpKind::Attention && kernel.processor == Processor::Gpu;
  if (kernel.algorithm == Algorithm::Tiled || kernel.algorithm == Algorithm::WinogradGroup ||
      shares_powers)
    return KernelFamily::Tiled;
  return work_of(kernel.op).family;
}

uint32_t choose_tile(const StepShape& step, const GpuFacts& gpu, int32_t* out_tile) {
  const OpWork& work = work_of(step.kernel->op);
  const uint32_t count = work.choose_tile == nullptr ? 0 : work.choose_tile(step, gpu, out_tile);
  const uint16_t* local_size = gpu.tiles.local_size_of(*step.kernel);
  if (local_size == nullptr || tile_kind_of(*step.kernel) != TileKind::Local) return count;
  for (uint32_t i = 0; i < 3; ++i) out_tile[i] = local_size[i];
  return count < 3 ? 3 : count;
}

namespace {

// Returns the step with its tile, or the one that is chosen, which is kept in `tile`.
StepShape with_tile(StepShape step, const GpuFacts& gpu, int32_t (&tile)[kMaxTileInts]) {
  if (step.tile_count != 0) return step;
  step.tile_count = choose_tile(step, gpu, tile);
  step.tile = tile;
  return step;
}

}  // namespace

bool has_room_for_group(const StepShape& step, const GpuFacts& gpu) {
  if (step.is_in_place) return true;  // nothing is launched
  // Groups by Winograd's method transform 4 x 4 inputs beside their sums. Whatever its tile, an
  // item spills with 192 registers and fewer, and 6 to 19 % of its issue slots are multiply-adds
  // (compiled by Mesa 25.0.7 for Adreno 640 and 740; 31 % on Mali G610).
  constexpr int32_t kTooFewRegisters = 192;
  if (step.kernel->algorithm == Algorithm::WinogradGroup && gpu.thread_registers != 0 &&
      gpu.thread_registers <= kTooFewRegisters)
    return false;
  int32_t tile[kMaxTileInts];
  ClLaunch launch;
  launch_of(with_tile(step, gpu, tile), &launch);
  const uint64_t items = launch.local[0] * launch.local[1] * launch.local[2];
  return items <= static_cast<uint64_t>(gpu.max_group_items) &&
         launch.local_bytes <= gpu.max_group_local_bytes;
}

bool fits_registers(const StepShape& step, const GpuFacts& gpu) {
  if (step.is_in_place || gpu.thread_registers == 0) return true;
  int32_t tile[kMaxTileInts];
  StepWork work;
  count_work(with_tile(step, gpu, tile), {}, &work);
  return gpu.has_registers(work.item_registers + work.address_registers);
}

TileKind tile_kind_of(const KernelInfo& kernel) {
  if (kernel.processor != Processor::Gpu) return TileKind::Own;
  switch (kernel.algorithm) {
    case Algorithm::Tiled:
      return TileKind::Gemm;
    case Algorithm::WinogradItem:
    case Algorithm::WinogradGroup:
      return TileKind::Own;
    default:
      return work_of(kernel.op).tile_kind;
  }
}

bool is_for_processors(const KernelInfo& kernel) {
  return kernel.algorithm == Algorithm::WinogradItem ||
         (kernel.op == OpKind::MatMul && kernel.algorithm == Algorithm::Direct &&
          kernel.processor == Processor::Gpu);
}

}  // namespace codl::kernels
