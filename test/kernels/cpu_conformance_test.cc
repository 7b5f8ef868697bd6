// Tests every CPU kernel of kernels.def, on every instruction set of this processor, on every case
// of its operator with its dtype and layout. It must equal the reference within the tolerance,
// equal itself bit by bit however the tasks are cut, and write no byte outside the part.
#include <algorithm>

#include "test/kernels/all_cases.h"
#include "test/kernels/cpu_runner.h"
#include "test/support/catch.h"

namespace codl::test {
namespace {

using kernels::CpuTarget;

constexpr uint32_t kCpuSeed = 1;

std::string where(const KernelInfo& info, CpuTarget target, const KernelCase& item, size_t index,
                  Forms forms, const Special& special) {
  return std::string(info.symbol) + " " + kernels::cpu_target_name(target) + ", case " +
         std::to_string(index) + " \"" + item.name + "\", seed " + std::to_string(kCpuSeed) +
         form_name(forms) + (special ? std::string(", ") + special.name : "");
}

// Kernels of any dtype take Plain operands, and halves as such: to others they are a form of
// floats. Another kernel must run whatever else one refuses.
bool is_for_row(const KernelInfo& info, const KernelCase& item) {
  const Layout layout = item.operands.back().layout;
  if (info.layout != Layout::Any && info.layout != layout) return false;
  if (info.splits == kSplitNone && item.part_dim != SplitDim::None) return false;
  for (const OperandShape& operand : item.operands)
    if (info.is_reference() ? operand.layout != Layout::Plain : operand.dtype == DType::F16)
      return false;
  const KernelCase row_item = case_for(info, item);
  kernels::StepNeeds needs;
  return kernels::check_step(step_of(info, row_item), &needs) == nullptr;
}

// Runs one kernel on one case in these forms; returns the fault or "". `expected` is the
// reference's result on the same inputs.
std::string run_case(const KernelInfo& info, kernels::CpuKernel kernel, const KernelCase& item,
                     Forms forms, const CaseInputs& inputs, const GuardedMemory& expected,
                     const Special& special, ByteCounts* counts) {
  const KernelCase stored = in_forms(info, forms, item);
  const OperandShape& y = stored.operands.back();
  const bool is_half = y.dtype == DType::F16 && item.operands.back().dtype != DType::F16;
  Tolerance tolerance = tolerance_of(info, item, forms.signature);
  if (is_half) tolerance = with_half_rounding(tolerance);
  const auto bytes = static_cast<size_t>(y.bytes);
  GuardedMemory whole(bytes, dtype_bytes(y.dtype));
  std::string error = run_cpu(info, kernel, stored, inputs, {1}, whole.data());
  if (!error.empty()) return error;
  if (!whole.has_whole_guards()) return "a write outside the output";
  GuardedMemory floats(is_half ? 2 * bytes : 0);
  if (is_half)
    from_halves(reinterpret_cast<const uint16_t*>(whole.data()), bytes / 2, floats.data());
  const GuardedMemory& found = is_half ? floats : whole;
  if (kernels::is_quantised(y))
    error = byte_difference(expected, whole, y,
                            !keeps_elements(item) || forms.halves != Halves::All, counts);
  else if (special)
    error =
        special_difference(expected, found, y, kernels::winograd_outputs(info.packing), tolerance);
  else if (is_half || y.dtype == DType::F32)
    error = difference(expected, found, tolerance);
  else if (!same_bytes(expected, whole))
    error = "not the bytes of the reference";
  if (!error.empty()) return error;

  constexpr uint16_t kUnequal[] = {kFullSpeed, 4261, 8521, 1700};
  const kernels::WorkerSpeeds cuts[] = {{2}, {3}, {4}, {5}, {4, kUnequal}};
  for (const kernels::WorkerSpeeds& pieces : cuts) {
    GuardedMemory cut(bytes);
    error = run_cpu(info, kernel, stored, inputs, pieces, cut.data());
    if (!error.empty()) return error;
    if (!same_bytes(whole, cut))
      return "tasks cut into " + std::to_string(pieces.count) +
             (pieces.speeds == nullptr ? " pieces" : " unequal pieces") + " change the result";
  }
  return "";
}

// Checks a kernel on one case, in all its forms and on every instruction set of this processor.
void check_case(const KernelInfo& info, const KernelCase& item, size_t index,
                const Special& special, ByteCounts* counts) {
  for (const Forms forms : forms_of(info)) {
    // Bytes have no special values.
    if (special && forms.signature == Signature::Q8Store) continue;
    CaseInputs inputs(item, kCpuSeed);
    if (special) inputs.add_special(special, kCpuSeed);
    inputs.round_to(in_forms(info, forms, item));
    GuardedMemory expected(static_cast<size_t>(item.operands.back().bytes));
    run_ref(item, inputs, expected.data());
    for (CpuTarget target : kernels::kCpuTargets) {
      const kernels::CpuKernel kernel = kernel_for_target(info, target);
      if (kernel == nullptr) continue;
      const std::string error =
          run_case(info, kernel, item, forms, inputs, expected, special, counts);
      if (error.empty()) continue;
      FAIL_CHECK(where(info, target, item, index, forms, special) << ": " << error);
    }
  }
}

TEST_CASE("CPU kernels equal the reference on every instruction set") {
  for (const KernelInfo& info : kKernelInfos) {
    if (info.processor != Processor::Cpu || !takes_floats(info)) continue;
    const std::vector<KernelCase> cases = cpu_cases_of(info.op);
    const std::vector<KernelCase> all = cases_of(info.op);
    INFO(info.symbol << " has a case that it can run");
    CHECK(std::any_of(all.begin(), all.end(),
                      [&](const KernelCase& item) { return is_for_row(info, item); }));
    ByteCounts counts;
    for (size_t i = 0; i < cases.size(); ++i) {
      if (!is_for_row(info, cases[i])) continue;
      check_case(info, case_for(info, cases[i]), i, kNotSpecial, &counts);
    }
    CHECK(static_cast<double>(counts.unequal) <= 1e-3 * static_cast<double>(counts.all));
    CHECK((counts.all > 0) == info.has(Signature::Q8Store));
  }
}

// Elements, and maxima of them, come out the same bit by bit whether halves are computed as such or
// as floats that are rounded.
TEST_CASE("half arithmetic on elements changes no bit") {
  for (const KernelInfo& info : kKernelInfos) {
    if (info.processor != Processor::Cpu || !info.has(Signature::F16Store)) continue;
    const kernels::CpuKernel in_halves = kernel_for_target(info, CpuTarget::NeonHalf);
    if (in_halves == nullptr) continue;
    for (const KernelCase& item : cpu_cases_of(info.op)) {
      if (!is_for_row(info, item)) continue;
      const KernelCase stored = in_forms(info, {Signature::F16Store, Halves::All}, item);
      CaseInputs inputs(item, kCpuSeed);
      inputs.round_to(stored);
      const auto bytes = static_cast<size_t>(stored.operands.back().bytes);
      GuardedMemory expected(bytes);
      GuardedMemory found(bytes);
      INFO(info.symbol << " \"" << item.name << "\"");
      CHECK(run_cpu(info, kernel_for_target(info, CpuTarget::Baseline), stored, inputs, {1},
                    expected.data()) == "");
      CHECK(run_cpu(info, in_halves, stored, inputs, {1}, found.data()) == "");
      CHECK(same_bytes(expected, found));
    }
  }
}

// See docs/reference/operators.md, "NaN and infinities".
// test/differential/families/special_values.py tests whether the reference has the right semantics.
TEST_CASE("CPU kernels make of NaN and infinities what the reference makes of them", "[special]") {
  const Special& special = GENERATE(0, 1) == 0 ? kSpecialNan : kSpecialInfinities;
  for (const KernelInfo& info : kKernelInfos) {
    if (info.processor != Processor::Cpu || info.is_reference() || !takes_floats(info)) continue;
    const std::vector<KernelCase> cases = cpu_cases_of(info.op);
    for (size_t i = 0; i < cases.size(); ++i) {
      if (!is_for_row(info, cases[i]) || why_open(info, cases[i], special)) continue;
      ByteCounts no_bytes;
      check_case(info, case_for(info, cases[i]), i, special, &no_bytes);
    }
  }
}

TEST_CASE("every case is one that a CPU kernel runs") {
  for (const OpInfo& op : kOpInfos)
    for (const KernelCase& item : cases_of(op.kind)) {
      INFO(op.name << " \"" << item.name << "\"");
      CHECK(std::any_of(
          std::begin(kKernelInfos), std::end(kKernelInfos), [&](const KernelInfo& info) {
            return info.op == op.kind && info.processor == Processor::Cpu && is_for_row(info, item);
          }));
    }
}

// Returns the best target up to `best` that such a kernel has code for: those of 8 bits gain by dot
// products, and nothing by AVX-512 or halves alone; others do not know of dot products.
CpuTarget best_for(const KernelInfo& info, CpuTarget best) {
  const bool has_bytes = info.has(Signature::Q8);
  if (best == CpuTarget::Avx3Vnni && !has_bytes) return CpuTarget::Avx3;
  if (best == CpuTarget::Avx3 && has_bytes) return CpuTarget::Avx2;
  if (best == CpuTarget::NeonDot && !has_bytes) return CpuTarget::NeonHalf;
  if (best == CpuTarget::NeonHalf && has_bytes) return CpuTarget::Baseline;
  return best;
}

// A build that quietly has only scalar code would pass every other test.
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
  for (const char* symbol : {"conv2d_f32_cpu", "depthwise_conv2d_f32_cpu", "matmul_f32_cpu",
                             "conv2d_q8_cpu", "depthwise_conv2d_q8_cpu", "matmul_q8_cpu"})
    for (const KernelInfo& info : kKernelInfos)
      if (std::string_view(symbol) == info.symbol) {
        INFO(symbol);
        [[maybe_unused]] const CpuTarget wanted = best_for(info, best);
        // With sanitizers, a build has at most AVX2.
        CpuTarget built = CpuTarget::Baseline;
        for (CpuTarget target : kernels::kCpuTargets)
          if (target <= best && kernel_for_target(info, target) != nullptr) built = target;
#if defined(__x86_64__)
        CHECK(built >= CpuTarget::Avx2);
#endif
#if !defined(CODL_SLOW_RUN)
        CHECK(built == wanted);
#endif
        CHECK(kernels::cpu_kernel(info) == kernel_for_target(info, built));
      }
}

}  // namespace
}  // namespace codl::test
