// A contract decides from shapes: accepted steps stay inside their operands whatever these hold.
// Under the sanitizers this also finds traps, and conversions of numbers that are too large.
#include "test/kernels/all_cases.h"
#include "test/kernels/cpu_runner.h"
#include "test/support/catch.h"

namespace codl::test {
namespace {

// As i64 these are -1, the smallest, the largest; as f32 also a NaN, 0 and -0, infinity, the
// largest number and one beyond every integer.
constexpr uint64_t kPatterns[] = {
    0xffffffffffffffff, 0x8000000000000000, 0x7fffffffffffffff, 0x7f8000007f800000,
    0xff800000ff800000, 0x7f7fffff7f7fffff, 0xdf000000df000000,
};

GuardedMemory filled(const OperandShape& shape, uint64_t pattern, std::mt19937* random) {
  GuardedMemory memory(static_cast<size_t>(shape.bytes));
  auto* bytes = reinterpret_cast<uint8_t*>(memory.data());
  for (size_t i = 0; i < shape.bytes; ++i)
    bytes[i] = static_cast<uint8_t>(pattern != 0 ? pattern >> (8 * (i % 8)) : (*random)());
  return memory;
}

// Returns where a write was outside, or "". Pattern 0: random bytes.
std::string run_on(const KernelInfo& info, const KernelCase& item, uint64_t pattern,
                   std::mt19937* random) {
  kernels::StepNeeds needs;
  if (kernels::check_step(step_of(info, item), &needs) != nullptr) return "";
  std::vector<GuardedMemory> memory;
  std::vector<kernels::TensorView> views;
  for (const OperandShape& shape : item.operands) {
    memory.push_back(filled(shape, pattern, random));
    views.push_back(kernels::make_view(shape, memory.back().data()));
  }
  GuardedMemory scratch(static_cast<size_t>(needs.scratch_bytes));
  kernels::KernelArgs args = args_of(item, views);
  args.scratch = scratch.data();
  args.task_end = needs.task_count;
  kernels::cpu_kernel(info)(args);
  for (size_t i = 0; i < memory.size(); ++i)
    if (!memory[i].has_whole_guards()) return "operand " + std::to_string(i);
  return scratch.has_whole_guards() ? "" : "the scratch";
}

TEST_CASE("no content of the operands leads a kernel outside them") {
  std::mt19937 random(1);
  for (const KernelInfo& info : kKernelInfos) {
    if (info.processor != Processor::Cpu || !info.is_reference()) continue;
    INFO(info.symbol);
    for (const KernelCase& item : cpu_cases_of(info.op)) {
      INFO(item.name);
      for (uint64_t pattern : kPatterns) CHECK(run_on(info, item, pattern, &random) == "");
      CHECK(run_on(info, item, 0, &random) == "");
    }
  }
}

}  // namespace
}  // namespace codl::test
