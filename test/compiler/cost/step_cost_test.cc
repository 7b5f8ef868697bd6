// Tests each term of a step's time: which counts change it, and which numbers of the processor.
#include "compiler/cost/step_cost.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>

#include "compiler/device/latency_predictor.h"
#include "kernels/work_table.h"
#include "schema/in_place.h"
#include "test/compiler/support/sample_steps.h"
#include "test/support/catch.h"

namespace codl::compiler {
namespace {

using kernels::StepWork;

uint16_t id_of(std::string_view symbol) {
  for (const KernelInfo& kernel : kKernelInfos)
    if (symbol == kernel.symbol) return kernel.id;
  return 0;
}

// It does 64 multiply-adds and loads 32 floats in a cycle of half a nanosecond.
CpuMachine cpu() {
  CpuMachine machine;
  machine.ghz = 2;
  machine.vector_lanes = 16;
  machine.fma_per_cycle = 4;
  machine.loads_per_cycle = 2;
  machine.l1_kb = 16;
  machine.l2_kb = 1024;
  machine.last_level_kb = 8192;
  machine.l2_gb_per_s = 32;
  machine.last_level_gb_per_s = 20;
  machine.memory_gb_per_s = 8;
  machine.memory_all_gb_per_s = 16;
  machine.fork_join_us = 5;
  return machine;
}

// It has 8 units, each with 64 multiply-adds in a cycle of a nanosecond and room for 16 waves of
// 32.
GpuMachine gpu() {
  GpuMachine machine;
  machine.units = 8;
  machine.wave_width = 32;
  machine.ghz = 1;
  machine.fma_per_cycle = 64;
  machine.max_waves = 16;
  machine.registers_kb = 64;
  machine.local_kb = 32;
  machine.l1_kb = 1e6;
  machine.l2_kb = 1e6;
  machine.l1_gb_per_s = 100;
  machine.l2_gb_per_s = 400;
  machine.last_level_gb_per_s = 200;
  machine.memory_gb_per_s = 50;
  machine.latency_ns = 500;
  machine.launch_us = 2;
  return machine;
}

Machine machine_of() {
  Machine machine;
  machine.cpu = cpu();
  machine.gpu = gpu();
  return machine;
}

// Checks the named terms; the others must be 0, except for the microsecond of each step.
void check_times(const TermTimes& times, std::vector<std::pair<Term, double>> expected) {
  expected.push_back({Term::Step, 1});
  std::set<Term> named;
  for (const auto& [term, us] : expected) {
    INFO(kTermNames[static_cast<int>(term)]);
    CHECK(times[term] == Approx(us));
    named.insert(term);
  }
  for (int i = 0; i < kTermCount; ++i) {
    INFO(kTermNames[i]);
    if (named.count(static_cast<Term>(i)) == 0) CHECK(times.us[i] == 0);
  }
}

TEST_CASE("the busiest worker decides, and all share the memory") {
  StepWork work;
  work.macs = 128e6;
  work.operations = 64e6;
  work.transcendentals = 32e6;
  work.gathers = 1e6;
  work.moved_bytes = 256e6;
  work.beyond_l1_bytes = 32e6;
  work.beyond_l2_bytes = 20e6;
  work.beyond_last_bytes = work.read_bytes = work.written_bytes = 16e6;
  work.weight_bytes = 32e6;
  work.tile_calls = 1e5;
  work.tasks = 8;
  work.phases = 3;
  work.busiest_share = 0.25;
  check_times(cpu_times(work, cpu(), 4, false),
              {{Term::Compute, 250},
               {Term::Operations, 125},
               {Term::Special, 2500},  // 10 cycles for each of 2 million vectors, 4 workers
               {Term::Gathers, 125},
               {Term::L1, 250},
               {Term::L2, 250},
               {Term::LastLevel, 250},
               // Memory gives 16 bytes a nanosecond, so each of four workers has 4, less than one
               // has alone.
               {Term::Memory, 1000},
               {Term::Read, 1000},
               {Term::Written, 1000},
               {Term::Weights, 2000},
               {Term::Cold, 2000},
               {Term::Calls, 250},
               {Term::Start, 15}});
  // A worker that has all of it gets no more than one core's bandwidth.
  work.busiest_share = 1;
  CHECK(cpu_times(work, cpu(), 4, false)[Term::Memory] == Approx(2000));
  // No worker is woken for one task, or if there is none.
  CHECK(cpu_times(work, cpu(), 1, false)[Term::Start] == 0);
  work.tasks = 1;
  CHECK(cpu_times(work, cpu(), 4, false)[Term::Start] == 0);
}

// Returns the work of 20 groups of 4 waves each, with 160 steps of loops in all.
StepWork gpu_work() {
  StepWork work;
  work.macs = 64e6;
  work.operations = 32e6;
  work.transcendentals = 6.4e6;
  work.gathers = 3.2e6;
  work.moved_bytes = 100e6;
  work.beyond_l1_bytes = 40e6;
  work.beyond_l2_bytes = 20e6;
  work.beyond_last_bytes = 5e6;
  work.read_bytes = 10e6;
  work.written_bytes = 15e6;
  work.weight_bytes = 2.5e6;
  work.launches = 1;
  work.work_items = 20 * 128;
  work.work_groups = 20;
  work.waves = 80;
  work.tile_calls = 160;
  work.item_registers = 48;
  return work;
}

TEST_CASE("a GPU is done when the unit with most groups is") {
  // The busiest of 8 units has 3 of 20 groups. 48 + 16 registers of 32 items are 8 KiB, so 8 waves,
  // that is 2 groups, run at once, in two rounds.
  check_times(gpu_times(gpu_work(), gpu(), false, false), {{Term::Compute, 1000 * 0.15},
                                                           {Term::Operations, 500 * 0.15},
                                                           {Term::Special, 1000 * 0.15},
                                                           {Term::Gathers, 50 * 0.15},
                                                           {Term::L1, 1000 * 0.15},
                                                           {Term::L2, 100},
                                                           {Term::Memory, 100},
                                                           {Term::Read, 200},
                                                           {Term::Written, 300},
                                                           {Term::Weights, 50},
                                                           {Term::Cold, 50},
                                                           {Term::Calls, 160 * 0.15 * 1e-3},
                                                           {Term::Chain, 2 * 2 * 0.5},
                                                           {Term::Rounds, 2 * 0.5},
                                                           {Term::Waves, 3 * 4 * 1e-3},
                                                           {Term::Start, 2}});
  CHECK(gpu_times(gpu_work(), gpu(), false, true)[Term::Cold] == 0);
  GpuMachine machine = gpu();
  machine.last_level_kb = 1024;
  CHECK(gpu_times(gpu_work(), machine, false, false)[Term::LastLevel] == Approx(100));
}

TEST_CASE("multiply-adds of halves take the rate of halves") {
  CpuMachine cpu_of_halves = cpu();
  GpuMachine gpu_of_halves = gpu();
  cpu_of_halves.half_rate = 2;
  gpu_of_halves.half_rate = 1.6;
  const auto check_rate = [&](DType type, double of_cpu, double of_gpu) {
    StepWork work = gpu_work();
    work.busiest_share = 1;
    const TermTimes cpu_before = cpu_times(work, cpu(), 1, false);
    const TermTimes gpu_before = gpu_times(work, gpu(), false, false);
    work.mac_type = type;
    const TermTimes on_cpu = cpu_times(work, cpu_of_halves, 1, false);
    const TermTimes on_gpu = gpu_times(work, gpu_of_halves, false, false);
    for (int i = 0; i < kTermCount; ++i) {
      INFO(kTermNames[i]);
      const bool is_compute = static_cast<Term>(i) == Term::Compute;
      CHECK(on_cpu.us[i] * (is_compute ? of_cpu : 1) == Approx(cpu_before.us[i]));
      CHECK(on_gpu.us[i] * (is_compute ? of_gpu : 1) == Approx(gpu_before.us[i]));
    }
  };
  check_rate(DType::F32, 1, 1);
  check_rate(DType::F16, 2, 1.6);
}

TEST_CASE("groups fill the units: a time jumps where one more is begun") {
  StepWork work = gpu_work();
  const auto compute_us = [&](double groups) {
    // There are so many groups of the same size.
    work.macs = 8e6 * groups;
    work.work_groups = groups;
    work.waves = 4 * groups;
    return gpu_times(work, gpu(), false, false)[Term::Compute];
  };
  CHECK(compute_us(1) == Approx(125));
  CHECK(compute_us(8) == Approx(125));
  CHECK(compute_us(9) == Approx(250));
  CHECK(compute_us(16) == Approx(250));
  CHECK(compute_us(17) == Approx(375));
}

TEST_CASE("how many groups wait at once is of waves, registers and local memory") {
  StepWork work = gpu_work();
  work.work_groups = 8 * 12;  // 12 of each unit
  work.waves = 4 * work.work_groups;
  const auto rounds = [&](const GpuMachine& machine, bool is_a_processor = false) {
    return gpu_times(work, machine, is_a_processor, false)[Term::Rounds] / 0.5;
  };
  CHECK(rounds(gpu()) == Approx(6));  // 2 at once
  work.item_registers = 0;            // 16 for addresses: 16 waves are the most
  CHECK(rounds(gpu()) == Approx(3));
  GpuMachine machine = gpu();
  machine.max_waves = 64;  // 32 waves by registers
  CHECK(rounds(machine) == Approx(2));
  machine.registers_kb = 128;
  CHECK(rounds(machine) == Approx(1));
  work.group_local_bytes = 10 * 1024;  // 3 at once
  CHECK(rounds(machine) == Approx(4));
  work.group_local_bytes = 40 * 1024;  // more than there is: one after the other
  CHECK(rounds(machine) == Approx(12));
  work.group_local_bytes = 0;
  work.item_registers = 1e6;
  CHECK(rounds(machine) == Approx(12));
  // A processor's core runs one group after the other.
  work.item_registers = 0;
  CHECK(rounds(machine, true) == Approx(12));
}

// The search compares steps of more and less work, so a rising count must make no term fall.
TEST_CASE("a count moves its own terms, in proportion, and no other") {
  struct Count {
    double StepWork::*count;
    std::set<Term> terms;
  };
  const Count counts[] = {
      {&StepWork::macs, {Term::Compute}},
      {&StepWork::operations, {Term::Operations}},
      {&StepWork::transcendentals, {Term::Special}},
      {&StepWork::gathers, {Term::Gathers}},
      {&StepWork::moved_bytes, {Term::L1}},
      {&StepWork::beyond_l1_bytes, {Term::L2}},
      {&StepWork::beyond_l2_bytes, {Term::LastLevel}},
      {&StepWork::beyond_last_bytes, {Term::Memory}},
      {&StepWork::read_bytes, {Term::Read}},
      {&StepWork::written_bytes, {Term::Written}},
      {&StepWork::weight_bytes, {Term::Weights, Term::Cold}},
      {&StepWork::tile_calls, {Term::Calls, Term::Chain}},
      {&StepWork::phases, {Term::Start}},
  };
  GpuMachine machine = gpu();
  machine.last_level_kb = 1024;
  for (const bool is_gpu : {false, true}) {
    const auto times_of_work = [&](const StepWork& work) {
      return is_gpu ? gpu_times(work, machine, false, false) : cpu_times(work, cpu(), 4, false);
    };
    StepWork work = gpu_work();
    work.tasks = 8;
    work.phases = 1;
    const TermTimes before = times_of_work(work);
    for (const Count& count : counts) {
      if (is_gpu && count.count == &StepWork::phases) continue;  // a GPU step has one
      StepWork more = work;
      more.*count.count *= 2;
      const TermTimes after = times_of_work(more);
      for (int i = 0; i < kTermCount; ++i) {
        const Term term = static_cast<Term>(i);
        INFO((is_gpu ? "gpu " : "cpu ") << kTermNames[i]);
        CHECK(after[term] == Approx(before[term] * (count.terms.count(term) == 1 ? 2 : 1)));
      }
    }
  }
}

TEST_CASE("weights that a cache keeps are not read from memory") {
  for (const bool is_warm : {false, true}) {
    CHECK((cpu_times(gpu_work(), cpu(), 4, is_warm)[Term::Cold] == 0) == is_warm);
    CHECK((gpu_times(gpu_work(), gpu(), false, is_warm)[Term::Cold] == 0) == is_warm);
    CHECK(cpu_times(gpu_work(), cpu(), 4, is_warm)[Term::Weights] > 0);
  }
}

TEST_CASE("a step asks the memory for its weights, and for maps that its last cache cannot hold") {
  StepWork work;
  work.weight_bytes = 1e6;
  work.read_bytes = work.written_bytes = 4096 * 1024;  // as much as the CPU's last level
  CHECK(cpu_times(work, cpu(), 4, false).memory_bytes == Approx(1e6));
  CHECK(cpu_times(work, cpu(), 4, true).memory_bytes == 0);
  work.read_bytes *= 2;
  CHECK(cpu_times(work, cpu(), 4, true).memory_bytes == Approx(0.5 * 12288 * 1024));
  work.written_bytes *= 4;
  CHECK(cpu_times(work, cpu(), 4, true).memory_bytes == Approx(24576 * 1024));
  GpuMachine machine = gpu();
  machine.l2_kb = 128;
  CHECK(gpu_times(work, machine, false, true).memory_bytes == Approx(24576 * 1024));
  machine.last_level_kb = 32768;
  CHECK(gpu_times(work, machine, false, true).memory_bytes == 0);
}

TEST_CASE("a GPU step without a tile takes what it takes with the one that codlc gives it") {
  const SampleStep product(id_of("matmul_f32_cl_tiled"), {.in_channels = 256, .out_channels = 256});
  kernels::GpuFacts facts;
  facts.units = 8;
  kernels::StepShape step = product.shape();
  int32_t tile[kernels::kMaxTileInts] = {};
  const uint32_t count = kernels::choose_tile(step, facts, tile);
  REQUIRE(count > 0);
  const TermTimes chosen = times_of(step, machine_of(), facts, false);
  step.tile = tile;
  step.tile_count = count;
  const TermTimes given = times_of(step, machine_of(), facts, false);
  CHECK(std::equal(std::begin(given.us), std::end(given.us), std::begin(chosen.us)));
}

TEST_CASE(
    "what stays in its place is a call on the CPU and nothing on the GPU, a copy is its bytes") {
  const auto plain = [](std::vector<int32_t> dims) {
    kernels::OperandShape shape;
    shape.rank = static_cast<int32_t>(dims.size());
    std::copy(dims.begin(), dims.end(), shape.dims);
    shape.bytes = static_cast<uint64_t>(kernels::element_count(shape)) * sizeof(float);
    return shape;
  };
  SliceParams rows{};
  rows.start_0 = 16;
  rows.step_0 = rows.step_1 = 1;
  rows.count_0 = 32;
  rows.count_1 = 1024;
  DeviceProfile profile;
  profile.has_gpu = true;
  profile.launch_us.value = 20;
  const LatencyPredictor predictor(profile);
  struct Case {
    const char* symbol;
    std::vector<int32_t> output;
  };
  for (const auto& [symbol, output] : {Case{"reshape_f32_cpu", {128, 512}},
                                       {"reshape_f32_cl_buffer", {128, 512}},
                                       {"slice_any_cpu", {32, 1024}},
                                       {"slice_f32_cl_buffer", {32, 1024}}}) {
    CAPTURE(symbol);
    const kernels::OperandShape shapes[] = {plain({64, 1024}), plain(output)};
    kernels::StepShape step;
    step.kernel = find_kernel(id_of(symbol));
    step.params = &rows;  // a Reshape has none
    step.operands = shapes;
    step.operand_count = 2;
    REQUIRE(kernels::run_in_input(step) >= 0);
    const bool is_gpu = step.kernel->processor == Processor::Gpu;
    const TermTimes copied = times_of(step, machine_of(), {}, false);
    CHECK(copied[Term::Written] > 0);
    CHECK(predictor.launch_us(step) == (is_gpu ? 20 : 0));
    step.is_in_place = true;
    const TermTimes stays = times_of(step, machine_of(), {}, false);
    for (int i = 0; i < kTermCount; ++i) {
      INFO(kTermNames[i]);
      CHECK(stays.us[i] == (static_cast<Term>(i) == Term::Step && !is_gpu ? 1 : 0));
    }
    CHECK(predictor.launch_us(step) == 0);
  }
}

TEST_CASE("every term has a name of its own") {
  std::set<std::string> names;
  for (const char* name : kTermNames) CHECK(names.insert(name).second);
}

TEST_CASE("what kernels count by is of the processor") {
  Machine machine = machine_of();
  machine.cpu_threads = 3;
  machine.cpu.last_level_kb = 4096;
  machine.gpu.l1_kb = 8;
  machine.gpu.texture_kb = 4;
  machine.gpu.l2_kb = 128;
  machine.gpu.last_level_kb = 2048;
  const kernels::WorkMachine cpu = work_machine(machine, Processor::Cpu);
  CHECK(cpu.threads == 3);
  CHECK(cpu.vector_lanes == 16);
  CHECK(cpu.l1_bytes == 16384);
  CHECK(cpu.l2_bytes == 1048576);
  CHECK(cpu.last_level_bytes == 4194304);
  const kernels::WorkMachine gpu = work_machine(machine, Processor::Gpu);
  CHECK(gpu.units == 8);
  CHECK(gpu.wave_width == 32);
  CHECK(gpu.l1_bytes == 8192);
  CHECK(gpu.texture_bytes == 4096);
  CHECK(gpu.l2_bytes == 131072);
  CHECK(gpu.last_level_bytes == 2097152);
  CHECK_FALSE(cpu.has_half_arithmetic);
  CHECK_FALSE(gpu.has_half_arithmetic);
  machine.cpu.half_rate = machine.gpu.half_rate = 2;
  CHECK(work_machine(machine, Processor::Cpu).has_half_arithmetic);
  CHECK(work_machine(machine, Processor::Gpu).has_half_arithmetic);
}

}  // namespace
}  // namespace codl::compiler
