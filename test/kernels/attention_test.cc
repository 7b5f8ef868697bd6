// Tests what attention makes of hidden keys.
#include "kernels/attention/attention.h"

#include <cmath>
#include <limits>

#include "test/kernels/attention_cases.h"
#include "test/kernels/cpu_runner.h"
#include "test/support/catch.h"

namespace codl::test {
namespace {

constexpr int32_t kKeys = 300;  // two blocks
constexpr int32_t kSize = 4;
constexpr float kHidden = -std::numeric_limits<float>::infinity();

// Returns y of `rows` rows: all scores are 0, and value i holds i. Row 0 sees no key, row 1 the
// last, row 2 the first two, the others all.
std::vector<float> attend(kernels::CpuKernel kernel, int32_t rows, bool zero_if_hidden) {
  KernelCase item =
      make_attention_case("hidden", {1, 1, 1, rows, kKeys, kSize, kSize}, {1, 1, rows, kKeys});
  AttentionParams params = params_of<AttentionParams>(item);
  params.zero_if_hidden = zero_if_hidden ? 1 : 0;
  std::vector<std::vector<float>> memory;
  for (const OperandShape& shape : item.operands)
    memory.emplace_back(static_cast<size_t>(kernels::element_count(shape)));
  for (int32_t key = 0; key < kKeys; ++key) {
    for (int32_t i = 0; i < kSize; ++i) memory[2][key * kSize + i] = static_cast<float>(key);
    memory[3][key] = kHidden;
    memory[3][kKeys + key] = key + 1 < kKeys ? kHidden : 0;
    memory[3][2 * kKeys + key] = key < 2 ? 0 : kHidden;
  }
  std::vector<kernels::TensorView> views;
  for (size_t i = 0; i < memory.size(); ++i)
    views.push_back(kernels::make_view(item.operands[i], memory[i].data()));
  const kernels::AttentionWork work = kernels::attention_work(
      item.operands[0], item.operands[1], item.operands.back(), SplitDim::None, {});
  GuardedMemory scratch(static_cast<size_t>(kernels::attention_scratch(work).end) * sizeof(float));
  kernels::KernelArgs args = args_of(item, views);
  args.params = &params;
  args.scratch = scratch.data();
  args.task_end = kernels::attention_units(work).task_count;
  kernel(args);
  return memory.back();
}

}  // namespace

TEST_CASE("attention sees no hidden key") {
  for (const KernelInfo& info : kKernelInfos) {
    if (info.op != OpKind::Attention || info.processor != Processor::Cpu) continue;
    for (kernels::CpuTarget target : kernels::kCpuTargets) {
      const kernels::CpuKernel kernel = kernel_for_target(info, target);
      if (kernel == nullptr || !kernels::cpu_has(target)) continue;
      for (int32_t rows : {3, 30})
        for (bool zero_if_hidden : {false, true}) {
          INFO(info.symbol << ", " << rows << " rows, " << zero_if_hidden);
          const std::vector<float> y = attend(kernel, rows, zero_if_hidden);
          CHECK((zero_if_hidden ? y[0] == 0 : std::isnan(y[0])));
          CHECK(y[kSize] == kKeys - 1);
          CHECK(y[2 * kSize] == 0.5f);
          if (rows > 3) CHECK(std::fabs(y[3 * kSize] - static_cast<float>(kKeys - 1) / 2) < 1e-3f);
        }
    }
  }
}

}  // namespace codl::test
