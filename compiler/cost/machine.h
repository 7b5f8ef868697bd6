// Holds facts of processors, from which the times of steps follow. A profile has them; none is
// fitted to steps. The format is in docs/reference/profile_format.md, "machine".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/cost/quantity.h"
#include "kernels/common/work/gpu_facts.h"
#include "kernels/common/work/step_work.h"

namespace codl::compiler {

// Describes a number of a machine as a profile has it.
template <typename Machine>
struct MachineField {
  const char* name;  // includes the unit
  double Machine::*value;
  double least;
  double most;
  bool is_whole = false;
  bool is_optional = false;  // a profile that lacks it leaves the value as it is
};
inline constexpr double kMaxRate = 1e9;

// Describes one core of the CPU, the fastest if they differ.
struct CpuMachine {
  double ghz = 1;
  double vector_lanes = 4;     // floats in a vector of codl's kernels
  double fma_per_cycle = 1;    // vectors of multiply-adds
  double half_rate = 0;        // multiply-adds of halves in the time of one of floats; 0: none
  double byte_rate = 0;        // those of bytes, in sums of 32 bits; 0: as those of floats
  double loads_per_cycle = 1;  // vectors loaded from the first-level cache
  double l1_kb = 32;           // KiB
  double l2_kb = 256;          // one core's
  double last_level_kb = 0;    // shared by all cores; 0: none
  // A core reads at these rates, in 10^9 bytes a second.
  double l2_gb_per_s = 20;
  double last_level_gb_per_s = 10;
  double memory_gb_per_s = 5;
  double memory_all_gb_per_s = 5;  // all cores together
  double fork_join_us = 0;         // time to wake the workers and wait for them; 0 for one worker
};

// Describes a GPU, or a processor on which OpenCL runs.
struct GpuMachine {
  double units = 1;       // compute units, each with work-groups of its own
  double wave_width = 1;  // work-items that run in step; 1 on a processor
  double ghz = 1;
  double fma_per_cycle = 1;  // multiply-adds of a unit, fp32
  double half_rate = 0;      // as CpuMachine's
  double max_waves = 1;      // that a unit can hold
  double registers_kb = 1;   // KiB per unit, for all its waves
  // 32-bit registers that one work-item has before the compiler spills; 0: unknown.
  double thread_registers = 0;
  double local_kb = 0;  // KiB of a unit that work-groups share; one may have all; 0: unknown
  double l1_kb = 0;
  double texture_kb = 0;  // cache of images; 0: the first-level cache serves them, too
  double l2_kb = 0;
  double last_level_kb = 0;  // the whole chip's; 0: none
  // The rates are in 10^9 bytes a second, first of one unit, then of all units.
  double l1_gb_per_s = 1;
  double l2_gb_per_s = 1;
  double last_level_gb_per_s = 1;  // not used where there is none
  double memory_gb_per_s = 1;
  double latency_ns = 1;  // time of a load that misses every cache
  double launch_us = 0;   // from one kernel of a full queue to the next, nothing computed
};

// These are all numbers of a machine, in the order of a profile.
inline constexpr MachineField<CpuMachine> kCpuMachineFields[] = {
    {"ghz", &CpuMachine::ghz, 0.01, kMaxRate},
    {"vector_lanes", &CpuMachine::vector_lanes, 4, 16, true},
    {"fma_per_cycle", &CpuMachine::fma_per_cycle, 0.01, kMaxRate},
    {"half_rate", &CpuMachine::half_rate, 0, kMaxRate, false, true},
    {"byte_rate", &CpuMachine::byte_rate, 0, kMaxRate, false, true},
    {"loads_per_cycle", &CpuMachine::loads_per_cycle, 0.01, kMaxRate},
    {"l1_kb", &CpuMachine::l1_kb, 1, kMaxRate},
    {"l2_kb", &CpuMachine::l2_kb, 1, kMaxRate},
    {"last_level_kb", &CpuMachine::last_level_kb, 0, kMaxRate},
    {"l2_gb_per_s", &CpuMachine::l2_gb_per_s, 0.01, kMaxRate},
    {"last_level_gb_per_s", &CpuMachine::last_level_gb_per_s, 0.01, kMaxRate},
    {"memory_gb_per_s", &CpuMachine::memory_gb_per_s, 0.01, kMaxRate},
    {"memory_all_gb_per_s", &CpuMachine::memory_all_gb_per_s, 0.01, kMaxRate},
    {"fork_join_us", &CpuMachine::fork_join_us, 0, kMaxRate},
};
inline constexpr MachineField<GpuMachine> kGpuMachineFields[] = {
    {"units", &GpuMachine::units, 1, 65536, true},
    {"wave_width", &GpuMachine::wave_width, 1, 1024, true},
    {"ghz", &GpuMachine::ghz, 0.01, kMaxRate},
    {"fma_per_cycle", &GpuMachine::fma_per_cycle, 0.01, kMaxRate},
    {"half_rate", &GpuMachine::half_rate, 0, kMaxRate, false, true},
    {"max_waves", &GpuMachine::max_waves, 1, 65536, true},
    {"registers_kb", &GpuMachine::registers_kb, 0.1, 1e6},
    {"thread_registers", &GpuMachine::thread_registers, 0, 65536, true, true},
    {"local_kb", &GpuMachine::local_kb, 0, kMaxRate},
    {"l1_kb", &GpuMachine::l1_kb, 0, kMaxRate},
    {"texture_kb", &GpuMachine::texture_kb, 0, kMaxRate},
    {"l2_kb", &GpuMachine::l2_kb, 0, kMaxRate},
    {"last_level_kb", &GpuMachine::last_level_kb, 0, kMaxRate},
    {"l1_gb_per_s", &GpuMachine::l1_gb_per_s, 0.01, kMaxRate},
    {"l2_gb_per_s", &GpuMachine::l2_gb_per_s, 0.01, kMaxRate},
    {"last_level_gb_per_s", &GpuMachine::last_level_gb_per_s, 0.01, kMaxRate},
    {"memory_gb_per_s", &GpuMachine::memory_gb_per_s, 0.01, kMaxRate},
    {"latency_ns", &GpuMachine::latency_ns, 0.01, kMaxRate},
    {"launch_us", &GpuMachine::launch_us, 0, kMaxRate},
};

// Describes both processors of a device.
struct Machine {
  CpuMachine cpu;
  int32_t cpu_threads = 1;  // workers of the CPU
  // Holds each worker's speed as kernels::WorkMachine has it; empty if all are alike.
  std::vector<uint16_t> cpu_worker_speeds;
  GpuMachine gpu;
  // OpenCL runs on a processor: its work-groups are run one after the other by each core.
  bool is_gpu_a_processor = false;
};

// Returns the machine that kernels count by; borrows `machine`.
kernels::WorkMachine work_machine(const Machine& machine, Processor processor);

// Sets the facts that tiles of GPU steps depend on; leaves facts.tiles as they are.
void set_gpu_facts(const Machine& machine, kernels::GpuFacts* facts);

}  // namespace codl::compiler
