#include "compiler/variants/shrink_for_plan.h"

#include "compiler/passes/passes.h"
#include "compiler/support/error.h"
#include "compiler/support/hash.h"
#include "compiler/support/version.h"
#include "compiler/variants/variants.h"
#include "llvm/Support/FormatVariadic.h"

namespace codl::compiler {
namespace {

llvm::Expected<double> estimate_us(const ir::Graph& graph, const DeviceProfile& profile,
                                   Precision precision, const PartitionOptions& partition) {
  ir::Graph laid_out = graph;
  if (llvm::Error error = widen_pools(laid_out)) return error;
  if (llvm::Error error = assign_layouts(laid_out)) return error;
  if (llvm::Error error = find_grids(laid_out)) return error;
  laid_out.set_precision(precision);
  const LatencyPredictor predictor(profile, constant_mbytes(laid_out));
  CODL_ASSIGN_OR_RETURN(figures, VariantMaker(laid_out, predictor, partition).estimate());
  return figures.predicted_us;
}

// Returns all that estimate_us() depends on beside the graph.
std::string what_judges(const DeviceProfile& profile, Precision precision,
                        const PartitionOptions& partition) {
  const PlanLimits& limits = partition.limits;
  std::string text =
      llvm::formatv(
          "{0} {1} {2} {3} {4} {5} {6} {7} {8} {9} {10} {11} {12} {13} {14}", codlc_version(),
          to_hex(profile.hash), partition.strategy, static_cast<int>(precision),
          static_cast<int>(partition.split_dim), partition.ratio.value_or(-1), partition.max_chain,
          static_cast<int>(partition.boundary_first), static_cast<int>(partition.objective),
          limits.gpu_share.value_or(-1), limits.max_gpu_slice_us.value_or(-1),
          limits.max_arena_bytes.value_or(0), limits.max_syncs.value_or(UINT32_MAX),
          limits.max_weights.ratio.value_or(-1), limits.max_weights.bytes.value_or(0))
          .str();
  for (const UserPlace& place : limits.places)
    text += llvm::formatv(" {0} {1} {2} {3}", place.node,
                          place.processor ? static_cast<int>(*place.processor) : -1,
                          static_cast<int>(place.split_dim), place.gpu_share)
                .str();
  return text;
}

}  // namespace

llvm::Expected<ShrinkReport> shrink_for_plan(ir::Graph& graph, ShrinkOptions options,
                                             const DeviceProfile& profile, Precision precision,
                                             const PartitionOptions& partition) {
  if (!options.is_asked()) return ShrinkReport();
  options.judged_by = what_judges(profile, precision, partition);
  DeviceProfile unlearned = profile;
  unlearned.learned = {};
  return shrink(graph, options, [&](const ir::Graph& tried) {
    return estimate_us(tried, unlearned, precision, partition);
  });
}

}  // namespace codl::compiler
