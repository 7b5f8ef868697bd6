// Every CPU row of kernels.def, on every instruction set of this processor, on every case of its
// operator: equal to the reference within the tolerance, equal to itself bit by bit however the
// tasks are cut, and not one byte written outside the part.
#include "test/kernels/all_cases.h"
#include "test/kernels/cpu_runner.h"
#include "test/support/catch.h"

namespace codl::test {
namespace {

using kernels::CpuTarget;

constexpr uint32_t kSeed = 1;

std::string where(const KernelRow& row, CpuTarget target, const KernelCase& item, size_t index) {
  return std::string(row.symbol) + " " + kernels::cpu_target_name(target) + ", case " +
         std::to_string(index) + " \"" + item.name + "\", seed " + std::to_string(kSeed);
}

// What is wrong with one kernel on one case, or "".
std::string run_case(const KernelRow& row, kernels::CpuKernel kernel, const KernelCase& item) {
  const CaseInputs inputs(item, kSeed);
  const size_t bytes = static_cast<size_t>(item.operands.back().bytes);
  GuardedMemory expected(bytes);
  run_ref(item, inputs, expected.data());

  GuardedMemory whole(bytes, sizeof(float));
  std::string error = run_cpu(row, kernel, item, inputs, 1, whole.data());
  if (!error.empty()) return error;
  if (!whole.has_whole_guards()) return "a write outside the output";
  error = difference(expected, whole, tolerance_of(row.dtype));
  if (!error.empty()) return error;

  for (int32_t pieces = 2; pieces <= 5; ++pieces) {
    GuardedMemory cut(bytes);
    error = run_cpu(row, kernel, item, inputs, pieces, cut.data());
    if (!error.empty()) return error;
    if (!same_bytes(whole, cut))
      return "tasks cut into " + std::to_string(pieces) + " pieces change the result";
  }
  return "";
}

TEST_CASE("CPU kernels equal the reference on every instruction set") {
  for (const KernelRow& row : kKernelRows) {
    if (row.processor != Processor::Cpu) continue;
    const std::vector<KernelCase> cases = cases_of(row.op);
    CHECK(!cases.empty());
    for (CpuTarget target : kernels::kCpuTargets) {
      const kernels::CpuKernel kernel = kernel_for_target(row, target);
      if (kernel == nullptr) continue;
      for (size_t i = 0; i < cases.size(); ++i) {
        const std::string error = run_case(row, kernel, cases[i]);
        if (error.empty()) continue;
        FAIL_CHECK(where(row, target, cases[i], i) << ": " << error);
      }
    }
  }
}

// A build that quietly has scalar code only passes every other test.
TEST_CASE("the kernels that are chosen are vector code") {
  const CpuTarget best = kernels::best_cpu_target();
  WARN("CPU kernels run on target " << kernels::cpu_target_name(best));
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2")) {
    WARN("[SKIP] a processor without AVX2");
    return;
  }
  CHECK(best >= CpuTarget::Avx2);
#endif
  for (const char* symbol : {"conv2d_f32_cpu", "depthwise_conv2d_f32_cpu", "matmul_f32_cpu"})
    for (const KernelRow& row : kKernelRows)
      if (std::string_view(symbol) == row.symbol) {
        INFO(symbol);
        CHECK(kernel_for_target(row, best) != nullptr);
        CHECK(kernels::cpu_kernel(row) == kernel_for_target(row, best));
      }
}

}  // namespace
}  // namespace codl::test
