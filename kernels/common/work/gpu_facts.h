// Holds the facts of a device profile's GPU on which the tiles of its steps depend.
#pragma once

#include "kernels/common/gemm/gemm_tile.h"

namespace codl::kernels {

// Holds the speed that a tile reaches on a unit of the GPU.
struct TimedTile {
  GemmTile tile = {};
  double macs_per_ns = 0;  // on a unit that has groups enough
  // Says how long a step waits for memory and barriers if its group is alone on a unit.
  double step_ns = 0;
  int32_t residents = 1;  // groups of a unit that wait at the same time
};

// Lists the tiles that a kernel chooses among, in place of those of gemm_tile_choice.cc.
struct TimedTiles {
  static constexpr uint32_t kMaxCount = 8;
  uint16_t kernel_id = 0;
  uint32_t count = 0;
  TimedTile tiles[kMaxCount] = {};
};

// Holds the fastest tiles found on the GPU, for kernels whose tile a profile may choose (TileKind).
struct GpuTiles {
  static constexpr uint32_t kMaxTables = 8;
  uint16_t local_sizes[kKernelCount][3] = {};  // indexed by kernel id - 1; 0 means the kernel's own
  TimedTiles tables[kMaxTables] = {};
  uint32_t table_count = 0;

  // Returns null if nothing is known of the kernel.
  constexpr const uint16_t* local_size_of(const KernelInfo& kernel) const {
    const uint16_t* size = local_sizes[kernel.id - 1];
    return size[0] == 0 ? nullptr : size;
  }
  constexpr const TimedTiles* table_of(const KernelInfo& kernel) const {
    for (uint32_t i = 0; i < table_count; ++i)
      if (tables[i].kernel_id == kernel.id) return &tables[i];
    return nullptr;
  }
  // `sizes` pass check_cl_local_sizes().
  constexpr void set_local_size(const KernelInfo& kernel, const int32_t* sizes) {
    for (int i = 0; i < 3; ++i) local_sizes[kernel.id - 1][i] = static_cast<uint16_t>(sizes[i]);
  }
  // Replaces the kernel's table. Returns false if there is one kernel too many.
  constexpr bool set_table(const TimedTiles& table) {
    for (uint32_t i = 0; i <= table_count && i < kMaxTables; ++i) {
      if (i < table_count && tables[i].kernel_id != table.kernel_id) continue;
      tables[i] = table;
      if (i == table_count) ++table_count;
      return true;
    }
    return false;
  }
};

// Used if a profile does not say what a work-group may have. 256 work-items: every GPU of the
// profiles has them, and no kernel uses more unless told to. OpenCL's full profile asks for at
// least 32 KiB of local memory (CL_DEVICE_LOCAL_MEM_SIZE).
inline constexpr int32_t kUnknownGroupItems = 256;
inline constexpr double kUnknownGroupLocalBytes = 32 * 1024;

// A work-item needs these registers besides those for sums and factors, such as addresses and loop
// counters.
inline constexpr int32_t kOtherItemRegisters = 16;

struct GpuFacts {
  int32_t units = 1;  // compute units, each with work-groups of its own
  // True if OpenCL runs on a processor, with a core for each unit.
  bool is_processor = false;
  int32_t registers = 0;  // processors only: a core's vector registers hold so many floats
  // GPUs only: 32-bit registers that one work-item has before the compiler spills. A tile whose
  // sums and factors need more is no candidate. 0: unknown, no candidate is refused.
  int32_t thread_registers = 0;
  // These are the numbers of one unit.
  double unit_macs_per_ns = 1;
  double unit_registers = 1;    // 32-bit
  double unit_local_bytes = 0;  // that its groups share
  double latency_ns = 1;        // latency of a load that misses every cache
  // A work-group has at most these; no step takes more.
  int32_t max_group_items = kUnknownGroupItems;
  double max_group_local_bytes = kUnknownGroupLocalBytes;
  GpuTiles tiles = {};

  // Returns whether a work-item with so many registers for sums and factors spills none.
  constexpr bool has_registers(double item_registers) const {
    return thread_registers == 0 || item_registers + kOtherItemRegisters <= thread_registers;
  }
};

}  // namespace codl::kernels
