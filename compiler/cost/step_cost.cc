#include "compiler/cost/step_cost.h"

#include <algorithm>
#include <cmath>

#include "kernels/work_table.h"

namespace codl::compiler {
namespace {

// Cycles that a call of the innermost loop, a division of a vector and a single element are assumed
// to take. They are units, not rates: a kernel's share says how much of them it takes.
constexpr double kCallCycles = 20;
constexpr double kSpecialCycles = 10;

constexpr double kKb = 1024;

// Returns the microseconds that so many bytes take at so many 10^9 bytes a second.
double transfer_us(double bytes, double gb_per_s) { return bytes / (gb_per_s * 1e3); }

// Returns the multiply-adds of the step in the time of one in floats.
double mac_rate(const kernels::StepWork& work, const CpuMachine& machine) {
  if (work.mac_type == DType::F16) return machine.half_rate;
  return work.mac_type == DType::I8 && machine.byte_rate > 0 ? machine.byte_rate : 1;
}
double mac_rate(const kernels::StepWork& work, const GpuMachine& machine) {
  return work.mac_type == DType::F16 ? machine.half_rate : 1;
}

// Returns a lower bound, because what is read again may come from caches that no profile knows. As
// StepWork counts repeated use, a share d / c - 1 of maps of d bytes is beyond a cache of c bytes.
double memory_bytes(const kernels::StepWork& work, double last_cache_kb, bool has_warm_weights) {
  const double maps = work.read_bytes + work.written_bytes;
  const double kept = last_cache_kb * kKb;
  const double beyond = kept > 0 ? std::clamp(maps / kept - 1, 0.0, 1.0) : 1;
  return maps * beyond + (has_warm_weights ? 0 : work.weight_bytes);
}

}  // namespace

kernels::WorkMachine work_machine(const Machine& machine, Processor processor) {
  kernels::WorkMachine work;
  if (processor == Processor::Cpu) {
    work.threads = machine.cpu_threads;
    if (!machine.cpu_worker_speeds.empty()) work.worker_speeds = machine.cpu_worker_speeds.data();
    work.vector_lanes = static_cast<int32_t>(machine.cpu.vector_lanes);
    work.l1_bytes = machine.cpu.l1_kb * kKb;
    work.l2_bytes = machine.cpu.l2_kb * kKb;
    work.last_level_bytes = machine.cpu.last_level_kb * kKb;
    work.has_half_arithmetic = machine.cpu.half_rate > 0;
  } else {
    work.units = static_cast<int32_t>(machine.gpu.units);
    work.wave_width = static_cast<int32_t>(machine.gpu.wave_width);
    work.l1_bytes = machine.gpu.l1_kb * kKb;
    work.texture_bytes = machine.gpu.texture_kb * kKb;
    work.l2_bytes = machine.gpu.l2_kb * kKb;
    work.last_level_bytes = machine.gpu.last_level_kb * kKb;
    work.has_half_arithmetic = machine.gpu.half_rate > 0;
  }
  return work;
}

void set_gpu_facts(const Machine& machine, kernels::GpuFacts* facts) {
  const GpuMachine& gpu = machine.gpu;
  facts->units = static_cast<int32_t>(gpu.units);
  facts->is_processor = machine.is_gpu_a_processor;
  facts->unit_macs_per_ns = gpu.ghz * gpu.fma_per_cycle;
  facts->unit_registers = gpu.registers_kb * kKb / sizeof(float);
  facts->thread_registers = static_cast<int32_t>(gpu.thread_registers);
  facts->unit_local_bytes = gpu.local_kb * kKb;
  // A processor's groups have theirs in ordinary memory.
  if (facts->is_processor)
    facts->max_group_local_bytes = kernels::kClMaxLocalBytes;
  else if (gpu.local_kb > 0)
    facts->max_group_local_bytes = facts->unit_local_bytes;
  facts->latency_ns = gpu.latency_ns;
  if (facts->is_processor) facts->registers = static_cast<int32_t>(facts->unit_registers);
}

TermTimes cpu_times(const kernels::StepWork& work, const CpuMachine& machine, int32_t threads,
                    bool has_warm_weights) {
  const double share = work.busiest_share;  // the step is done when the busiest worker is
  const double cycles_per_us = machine.ghz * 1e3;
  const double elements_per_us = machine.fma_per_cycle * machine.vector_lanes * cycles_per_us;
  const double vectors_per_us = machine.vector_lanes * cycles_per_us;
  const double memory = std::min(machine.memory_gb_per_s, machine.memory_all_gb_per_s * share);
  TermTimes times;
  times[Term::Compute] = work.macs * share / (elements_per_us * mac_rate(work, machine));
  times[Term::Operations] = work.operations * share / elements_per_us;
  times[Term::Special] = work.transcendentals * share * kSpecialCycles / vectors_per_us;
  times[Term::Gathers] = work.gathers * share / cycles_per_us;
  times[Term::L1] =
      work.moved_bytes * share / (machine.loads_per_cycle * vectors_per_us * sizeof(float));
  times[Term::L2] = transfer_us(work.beyond_l1_bytes * share, machine.l2_gb_per_s);
  times[Term::LastLevel] = transfer_us(work.beyond_l2_bytes * share, machine.last_level_gb_per_s);
  times[Term::Memory] = transfer_us(work.beyond_last_bytes * share, memory);
  times[Term::Read] = transfer_us(work.read_bytes * share, memory);
  times[Term::Written] = transfer_us(work.written_bytes * share, memory);
  times[Term::Weights] = transfer_us(work.weight_bytes * share, memory);
  times[Term::Cold] = has_warm_weights ? 0 : times[Term::Weights];
  times[Term::Calls] = work.tile_calls * share * kCallCycles / cycles_per_us;
  times[Term::Start] = threads > 1 && work.tasks > 1 ? work.phases * machine.fork_join_us : 0;
  times[Term::Step] = 1;
  times.memory_bytes = memory_bytes(
      work, machine.last_level_kb > 0 ? machine.last_level_kb : machine.l2_kb, has_warm_weights);
  return times;
}

TermTimes gpu_times(const kernels::StepWork& work, const GpuMachine& machine, bool is_a_processor,
                    bool has_warm_weights) {
  const double groups = std::max(work.work_groups, 1.0);
  const double waves = std::max(work.waves, 1.0);
  const double group_waves = waves / groups;
  // A unit is done when the last of its groups is.
  const double unit_groups = std::ceil(groups / machine.units);
  const double fill = unit_groups / groups;  // share of the busiest unit in the step
  // A unit holds this many groups at once.
  double residents = 1;
  if (!is_a_processor) {
    double registers = work.item_registers + kernels::kOtherItemRegisters;
    if (machine.thread_registers > 0) registers = std::min(registers, machine.thread_registers);
    const double wave_bytes = registers * sizeof(float) * machine.wave_width;
    residents = std::min(machine.max_waves, machine.registers_kb * kKb / wave_bytes) / group_waves;
    if (work.group_local_bytes > 0)
      residents = std::min(residents, machine.local_kb * kKb / work.group_local_bytes);
    residents = std::max(std::floor(residents), 1.0);
  }
  const double rounds = std::ceil(unit_groups / residents);
  const double wave_steps = work.tile_calls / waves;
  const double cycles_per_us = machine.ghz * 1e3;
  const double elements_per_us = machine.fma_per_cycle * cycles_per_us;
  const double latency_us = machine.latency_ns * 1e-3;
  TermTimes times;
  times[Term::Compute] = work.macs * fill / (elements_per_us * mac_rate(work, machine));
  times[Term::Operations] = work.operations * fill / elements_per_us;
  times[Term::Special] = work.transcendentals * fill * kSpecialCycles / elements_per_us;
  times[Term::Gathers] = work.gathers * fill / elements_per_us;
  times[Term::L1] = transfer_us(work.moved_bytes * fill, machine.l1_gb_per_s);
  times[Term::L2] = transfer_us(work.beyond_l1_bytes, machine.l2_gb_per_s);
  if (machine.last_level_kb > 0)
    times[Term::LastLevel] = transfer_us(work.beyond_l2_bytes, machine.last_level_gb_per_s);
  times[Term::Memory] = transfer_us(work.beyond_last_bytes, machine.memory_gb_per_s);
  times[Term::Read] = transfer_us(work.read_bytes, machine.memory_gb_per_s);
  times[Term::Written] = transfer_us(work.written_bytes, machine.memory_gb_per_s);
  times[Term::Weights] = transfer_us(work.weight_bytes, machine.memory_gb_per_s);
  times[Term::Cold] = has_warm_weights ? 0 : times[Term::Weights];
  times[Term::Calls] = work.tile_calls * fill / cycles_per_us;
  times[Term::Chain] = wave_steps * rounds * latency_us;
  times[Term::Rounds] = rounds * latency_us;
  times[Term::Waves] = unit_groups * group_waves / cycles_per_us;
  times[Term::Start] = work.launches * machine.launch_us;
  times[Term::Step] = 1;
  times.memory_bytes = memory_bytes(
      work, machine.last_level_kb > 0 ? machine.last_level_kb : machine.l2_kb, has_warm_weights);
  return times;
}

TermTimes times_of(const kernels::StepShape& given, const Machine& machine,
                   const kernels::GpuFacts& gpu, bool has_warm_weights) {
  const Processor processor = given.kernel->processor;
  if (given.is_in_place) {  // the CPU pays for a call, the GPU for nothing
    TermTimes times;
    times[Term::Step] = processor == Processor::Cpu ? 1 : 0;
    return times;
  }
  kernels::StepShape step = given;
  int32_t tile[kernels::kMaxTileInts] = {};
  if (step.tile_count == 0 && processor == Processor::Gpu) {
    step.tile_count = kernels::choose_tile(step, gpu, tile);
    step.tile = tile;
  }
  kernels::StepWork work;
  kernels::count_work(step, work_machine(machine, processor), &work);
  return processor == Processor::Cpu
             ? cpu_times(work, machine.cpu, machine.cpu_threads, has_warm_weights)
             : gpu_times(work, machine.gpu, machine.is_gpu_a_processor, has_warm_weights);
}

}  // namespace codl::compiler
