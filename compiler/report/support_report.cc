#include "compiler/report/support_report.h"

#include "compiler/ops/multiply_adds.h"
#include "compiler/partition/cost_model.h"
#include "compiler/simulate/timing/figures.h"
#include "compiler/support/error.h"
#include "llvm/ADT/STLExtras.h"

namespace codl::compiler {
namespace {

class ReportBuilder {
 public:
  ReportBuilder(const ir::Graph& graph, const LatencyPredictor& predictor)
      : graph_(graph), profile_(predictor.profile()), costs_(graph, predictor) {
    for (const OpInfo& info : kOpInfos) {
      operators_.emplace_back();
      operators_.back().op = info.kind;
    }
  }

  // `on_gpu` is the plan with all nodes on the GPU that can be; null on a device without one.
  SupportReport run(const Candidate& chosen, const Candidate* on_gpu) {
    SupportReport report;
    report.device = profile_.name;
    report.has_gpu = profile_.has_gpu;
    report.variant = chosen.schedule.name;
    report.predicted_us = chosen.schedule.predicted_us;
    report.syncs = count_syncs(chosen.schedule);
    report.plain_loops = plain_loops(chosen.schedule);
    for (ir::NodeId id = 0; id < graph_.nodes().size(); ++id) add_node(id);
    for (const NodePartition& node_partition : chosen.partition.node_partitions)
      add_placement(node_partition);
    if (on_gpu != nullptr) {
      report.gpu_syncs = count_syncs(on_gpu->schedule);
      add_syncs(on_gpu->schedule);
    }
    report.macs = macs_;
    report.fallback_share = fallback_share();
    llvm::erase_if(operators_, [](const OperatorSupport& op) { return op.node_count == 0; });
    report.operators = std::move(operators_);
    return report;
  }

 private:
  OperatorSupport& support_of(ir::NodeId id) {
    return *llvm::find_if(operators_, [&](const OperatorSupport& candidate) {
      return candidate.op == graph_.node(id).op;
    });
  }

  void add_node(ir::NodeId id) {
    const ir::NodeView view{graph_, graph_.node(id)};
    OperatorSupport& support = support_of(id);
    const double macs = multiply_adds(view);
    ++support.node_count;
    support.macs += macs;
    macs_ += macs;
    add_kernel(costs_.whole(id, Processor::Cpu), support.cpu_kernels);
    const bool runs_on_gpu = add_kernel(costs_.whole(id, Processor::Gpu), support.gpu_kernels);
    support.gpu_count += runs_on_gpu;
    // Converts are the compiler's own; those at the network's ends belong to the CPU on any device.
    if (view.node.op != OpKind::Convert) {
      ++computing_nodes_;
      fallback_nodes_ += !runs_on_gpu;
      if (!runs_on_gpu) fallback_macs_ += macs;
    }
    support.height_split_count += costs_.split(id, id, SplitDim::Height, 0.5).has_value();
    support.channel_split_count += costs_.split(id, id, SplitDim::OutputChannel, 0.5).has_value();
  }

  static bool add_kernel(const std::optional<Segment>& segment, std::vector<std::string>& symbols) {
    if (!segment) return false;
    const std::string symbol = segment->node_partitions[0].parts[0].kernel->symbol;
    if (!llvm::is_contained(symbols, symbol)) symbols.push_back(symbol);
    return true;
  }

  void add_placement(const NodePartition& node_partition) {
    OperatorSupport& support = support_of(node_partition.node);
    if (node_partition.is_split())
      ++support.split_placed;
    else if (node_partition.part_on(Processor::Gpu) != nullptr)
      ++support.gpu_placed;
    else
      ++support.cpu_placed;
  }

  // A wait belongs to the node that runs on the CPU, whichever side of the wait it is on.
  void add_syncs(const Schedule& schedule) {
    const auto runs_node_on_cpu = [&](StepId id) {
      return schedule.steps[id].queue == Queue::Cpu && schedule.nodes[id] != ir::kNoId;
    };
    for (StepId id = 0; id < schedule.steps.size(); ++id)
      for (StepId wait : schedule.steps[id].waits)
        if (runs_node_on_cpu(id))
          ++support_of(schedule.nodes[id]).syncs;
        else if (runs_node_on_cpu(wait))
          ++support_of(schedule.nodes[wait]).syncs;
  }

  double fallback_share() const {
    if (macs_ > 0) return fallback_macs_ / macs_;
    return computing_nodes_ > 0 ? static_cast<double>(fallback_nodes_) / computing_nodes_ : 0;
  }

  const ir::Graph& graph_;
  const DeviceProfile& profile_;
  const CostModel costs_;
  std::vector<OperatorSupport> operators_;
  double macs_ = 0;
  double fallback_macs_ = 0;
  size_t computing_nodes_ = 0;
  size_t fallback_nodes_ = 0;
};

}  // namespace

llvm::Expected<SupportReport> support_report(const ir::Graph& graph,
                                             const LatencyPredictor& predictor,
                                             const Candidate& chosen, VariantMaker& maker) {
  const Candidate* on_gpu = nullptr;
  if (predictor.profile().has_gpu) {
    CODL_ASSIGN_OR_RETURN(made, maker.alone_on(Processor::Gpu));
    on_gpu = made;
  }
  return ReportBuilder(graph, predictor).run(chosen, on_gpu);
}

llvm::Expected<std::vector<LimitCheck>> check_support(const SupportReport& report,
                                                      const DeviceProfile& profile,
                                                      const PlanLimits& limits) {
  std::vector<LimitCheck> checks;
  if (!limits.max_fallback_percent) return checks;
  if (!profile.has_gpu)
    return input_error(profile.name,
                       "expected a device with a GPU for --max-fallback, found one without");
  checks.push_back(*check_fallback(100 * report.fallback_share,
                                   report.macs > 0 ? "multiply-adds" : "nodes", limits));
  return checks;
}

}  // namespace codl::compiler
