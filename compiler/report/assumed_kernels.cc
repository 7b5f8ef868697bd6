#include "compiler/report/assumed_kernels.h"

#include <algorithm>
#include <map>

#include "compiler/partition/kernel_choice.h"
#include "kernels/kernel_table.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace codl::compiler {
namespace {

// Sums up times over the nodes that a kernel could run.
struct Times {
  double all_us = 0;
  double best_us = 0;  // least time of those for whose processor it is the fastest
};

bool is_assumed(const KernelInfo& kernel, const DeviceProfile& profile) {
  return !kernel.is_reference() && profile.calibration_of(kernel).origin == Origin::Assumed;
}

}  // namespace

AssumedKernels assumed_kernels(const ir::Graph& graph, const LatencyPredictor& predictor,
                               bool uses_gpu) {
  std::map<uint16_t, Times> times;
  for (const ir::Node& node : graph.nodes())
    for (const Processor processor : {Processor::Cpu, Processor::Gpu}) {
      if (processor == Processor::Gpu && !uses_gpu) continue;
      Times* best = nullptr;
      double best_us = 0;
      each_kernel({graph, node}, processor, predictor, [&](const kernels::StepShape& step) {
        Times& sum = times[step.kernel->id];
        const double us = predictor.predict_us(step, false);
        sum.all_us += us;
        if (best != nullptr && us >= best_us) return;
        best = &sum;
        best_us = us;
      });
      if (best != nullptr) best->best_us += best_us;
    }
  std::vector<std::pair<std::pair<double, double>, std::string>> assumed;
  for (const auto& [id, sum] : times)
    if (is_assumed(*find_kernel(id), predictor.profile()))
      assumed.emplace_back(std::pair(sum.best_us, sum.all_us), find_kernel(id)->symbol);
  llvm::stable_sort(assumed, [](const auto& a, const auto& b) { return a.first > b.first; });
  AssumedKernels result;
  result.profile = predictor.profile().name;
  result.kernel_count = times.size();
  for (auto& [times_us, symbol] : assumed) result.symbols.push_back(std::move(symbol));
  return result;
}

std::string warning(const AssumedKernels& kernels) {
  constexpr size_t kNamed = 3;
  const size_t count = kernels.symbols.size();
  if (count == 0) return "";
  std::string names;
  for (size_t i = 0; i < std::min(count, kNamed); ++i)
    names += (i == 0 ? "" : ", ") + kernels.symbols[i];
  if (count > kNamed) names += " and " + std::to_string(count - kNamed) + " more";
  return llvm::formatv(
             "profile {0}: the times of {1} of the {2} kernels that this network could use are "
             "assumed, not measured: {3} (codl-profile measures them on the device)",
             kernels.profile, count, kernels.kernel_count, names)
      .str();
}

}  // namespace codl::compiler
