// Plans as uLayer (EuroSys'19) does, as the CoDL paper rebuilt it: every operator that can be split
// is split along its output channels, at the share at which times linear in multiply-adds would end
// together. There are no chains, so each operator is followed by a synchronisation; the GPU works
// on buffers. This one uses the kernels and costs of the profile.
#include "compiler/ops/multiply_adds.h"
#include "compiler/partition/split_geometry.h"
#include "compiler/partition/strategies/strategy.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

// Returns the microseconds of a multiply-add on a processor: the line through the origin nearest to
// the times of the nodes that both run, by least squares.
double us_per_mac(const CostModel& costs, Processor processor, const FormPair& forms) {
  double products = 0, squares = 0;
  for (ir::NodeId node = 0; node < costs.graph().nodes().size(); ++node) {
    const ir::NodeView view{costs.graph(), costs.graph().node(node)};
    const double macs = multiply_adds(view);
    const auto here = costs.whole(node, processor, forms[index_of(processor)]);
    const Processor other = other_of(processor);
    const auto there = costs.whole(node, other, forms[index_of(other)]);
    if (macs == 0 || !here || !there) continue;
    products += macs * here->compute_us;
    squares += macs * macs;
  }
  return squares > 0 ? products / squares : 0;
}

}  // namespace

llvm::Expected<PartitionPlan> strategy_mulayer(const CostModel& costs, const PartitionOptions&) {
  const FormPair& forms = costs.form_pair_with(/*has_images=*/false);
  const double cpu = us_per_mac(costs, Processor::Cpu, forms);
  const double gpu = us_per_mac(costs, Processor::Gpu, forms);
  const double share = cpu + gpu > 0 ? cpu / (cpu + gpu) : 0.5;
  CODL_ASSIGN_OR_RETURN(on_gpu, prefer_processor(costs, Processor::Gpu, forms));
  PartitionPlan plan;
  for (ir::NodeId node = 0; node < costs.graph().nodes().size(); ++node) {
    if (auto split = costs.split(node, node, SplitDim::OutputChannel, share, forms))
      append_segment(plan, std::move(*split));
    else
      plan.node_partitions.push_back(on_gpu.node_partitions[node]);
  }
  return plan;
}

}  // namespace codl::compiler
