#include "compiler/partition/runs.h"

#include <algorithm>

#include "compiler/partition/strategies/strategy.h"

namespace codl::compiler {

ValuePlace place_of(const Run& run) {
  const Part* gpu = run.segment.node_partitions.back().part_on(Processor::Gpu);
  return {run.how.placement, gpu != nullptr ? gpu->maps : Layout::Nhwc};
}

double compute_us(const Run& run) {
  double processor_us[2] = {};
  for (const NodePartition& node_partition : run.segment.node_partitions)
    for (const Part& part : node_partition.parts)
      processor_us[static_cast<size_t>(part.processor)] += part.predicted_us;
  return std::max(processor_us[0], processor_us[1]);
}

bool is_alike(llvm::ArrayRef<RunPtr> a, llvm::ArrayRef<RunPtr> b) {
  const auto is_same = [](const NodePartition& x, const NodePartition& y) {
    return is_alike(x, y);
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const RunPtr& x, const RunPtr& y) {
    return x == y ||
           std::equal(x->segment.node_partitions.begin(), x->segment.node_partitions.end(),
                      y->segment.node_partitions.begin(), y->segment.node_partitions.end(),
                      is_same);
  });
}

Runs runs_of(const PartitionPlan& plan) {
  Runs runs;
  for (ir::NodeId first = 0; first < plan.node_partitions.size();) {
    Run run;
    run.first = first;
    run.last = last_of_segment(plan, first);
    const NodePartition& head = plan.node_partitions[first];
    if (head.is_split()) {
      run.how.placement =
          head.dim == SplitDim::Height ? Placement::Height : Placement::OutputChannel;
      const double gpu = head.part_on(Processor::Gpu)->owned.count();
      run.how.gpu_share = gpu / (gpu + head.part_on(Processor::Cpu)->owned.count());
    } else {
      run.how.placement = head.part_on(Processor::Gpu) ? Placement::Gpu : Placement::Cpu;
    }
    for (ir::NodeId node = first; node <= run.last; ++node) {
      // Of a chain the nodes that have no kernel for the preferred layout are in another.
      const Part* gpu = plan.node_partitions[node].part_on(Processor::Gpu);
      if (gpu != nullptr && gpu->maps == Layout::Image2d) run.how.maps = gpu->maps;
      run.segment.node_partitions.push_back(plan.node_partitions[node]);
    }
    run.segment.place = place_of(run);
    first = run.last + 1;
    runs.push_back(std::make_shared<const Run>(std::move(run)));
  }
  return runs;
}

PartitionPlan plan_of(const Runs& runs) {
  PartitionPlan plan;
  for (const RunPtr& run : runs) append_segment(plan, run->segment);
  return plan;
}

std::optional<Run> RunMaker::make(ir::NodeId first, ir::NodeId last, const How& how) const {
  Run run{first, last, how, {}};
  std::optional<Segment> segment;
  if (how.is_split()) {
    const bool is_height = how.placement == Placement::Height;
    if (run.count() > static_cast<size_t>(is_height ? options_.max_chain : 1)) return std::nullopt;
    segment = costs_.split(first, last, is_height ? SplitDim::Height : SplitDim::OutputChannel,
                           how.gpu_share, how.maps);
  } else if (first == last) {
    segment = costs_.whole(first, how.placement == Placement::Cpu ? Processor::Cpu : Processor::Gpu,
                           how.maps);
  }
  if (!segment) return std::nullopt;
  run.segment = std::move(*segment);
  return run;
}

bool RunMaker::add_whole(Runs& runs, ir::NodeId first, ir::NodeId last, const How& how) const {
  How other = how;
  other.placement = how.placement == Placement::Cpu ? Placement::Gpu : Placement::Cpu;
  for (ir::NodeId node = first; node <= last; ++node) {
    std::optional<Run> run = make(node, node, how);
    if (!run) run = make(node, node, other);
    if (!run) return false;
    runs.push_back(std::make_shared<const Run>(std::move(*run)));
  }
  return true;
}

bool RunMaker::add(Runs& runs, ir::NodeId first, ir::NodeId last, const How& how) const {
  if (!how.is_split()) return add_whole(runs, first, last, how);
  std::optional<Run> run = make(first, last, how);
  if (!run) return false;
  runs.push_back(std::make_shared<const Run>(std::move(*run)));
  return true;
}

}  // namespace codl::compiler
