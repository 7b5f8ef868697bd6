// Plans as the CoDL paper does (MobiSys'22, Algorithm 1), with the kernels, layouts and costs of
// the profile.
//
// It first places each operator by itself: whole on one processor, or split along the height or the
// output channels in steps of a tenth, where sharing (transform, map, synchronisation) plus the
// slower processor takes least (Eq. 2). Then it builds chains from the first operator on: the next
// operator joins with rows split at a share within kDelta of the head's, as long as the chain saves
// more and more over its operators one by one (Eq. 1 counts the halo twice).
//
// It differs from the paper in one point: all operators of a chain have one share. Algorithm 1 lets
// each keep its own within kDelta, which moves rows between the processors inside a chain.
#include "compiler/partition/strategies/codl.h"

#include <algorithm>

namespace codl::compiler {
namespace {

constexpr double kDelta = 0.3;
constexpr double kStep = 0.1;

struct Choice {
  Segment segment;
  double us = 0;  // with what sharing takes
  double gpu_share = 0;
};

class Chooser {
 public:
  Chooser(const CostModel& costs, const FormPair& forms) : costs_(costs), forms_(forms) {}

  std::optional<Choice> best_alone(ir::NodeId node) const {
    std::optional<Choice> best;
    offer(costs_.whole(node, Processor::Gpu, forms_[index_of(Processor::Gpu)]), 1, best);
    offer(costs_.whole(node, Processor::Cpu, forms_[index_of(Processor::Cpu)]), 0, best);
    for (SplitDim dim : {SplitDim::Height, SplitDim::OutputChannel})
      for (int tenth = 1; tenth < 10; ++tenth) offer_split(node, node, dim, tenth * kStep, best);
    return best;
  }

  std::optional<Choice> best_chain(ir::NodeId first, ir::NodeId last, double head_share) const {
    std::optional<Choice> best;
    const int steps = static_cast<int>(kDelta / kStep + 0.5);
    for (int step = -steps; step <= steps; ++step) {
      const double share = head_share + step * kStep;
      if (share > 0 && share < 1) offer_split(first, last, SplitDim::Height, share, best);
    }
    return best;
  }

 private:
  void offer_split(ir::NodeId first, ir::NodeId last, SplitDim dim, double share,
                   std::optional<Choice>& best) const {
    offer(costs_.split(first, last, dim, share, forms_), share, best);
  }

  // A plan of the paper's has its values on the GPU between operators, in its form.
  void offer(std::optional<Segment> segment, double gpu_share, std::optional<Choice>& best) const {
    if (!segment) return;
    const auto between = ValueSplit::on_gpu(forms_[index_of(Processor::Gpu)]);
    const double us = segment->compute_us + costs_.transfer_us(between, *segment);
    if (!best || us < best->us) best = Choice{std::move(*segment), us, gpu_share};
  }

  const CostModel& costs_;
  const FormPair forms_;
};

}  // namespace

llvm::Expected<PartitionPlan> codl_on(const CostModel& costs, const PartitionOptions& options,
                                      const FormPair& forms) {
  const Chooser chooser(costs, forms);
  const auto node_count = static_cast<ir::NodeId>(costs.graph().nodes().size());
  std::vector<std::optional<Choice>> alone;
  for (ir::NodeId node = 0; node < node_count; ++node) alone.push_back(chooser.best_alone(node));
  if (std::any_of(alone.begin(), alone.end(), [](const auto& choice) { return !choice; }))
    return prefer_processor(costs, Processor::Cpu);  // names what is missing

  PartitionPlan plan;
  for (ir::NodeId first = 0; first < node_count;) {
    Choice kept = std::move(*alone[first]);
    const double head_share = std::clamp(kept.gpu_share, kStep, 1 - kStep);
    ir::NodeId last = first;
    double apart_us = kept.us;
    double gain_us = 0;
    while (last + 1 < node_count && last + 1 - first < static_cast<ir::NodeId>(options.max_chain)) {
      std::optional<Choice> longer = chooser.best_chain(first, last + 1, head_share);
      const double longer_apart_us = apart_us + alone[last + 1]->us;
      if (!longer || longer_apart_us - longer->us <= gain_us) break;
      ++last;
      apart_us = longer_apart_us;
      gain_us = apart_us - longer->us;
      kept = std::move(*longer);
    }
    append_segment(plan, std::move(kept.segment));
    first = last + 1;
  }
  return plan;
}

llvm::Expected<PartitionPlan> strategy_codl(const CostModel& costs,
                                            const PartitionOptions& options) {
  return codl_on(costs, options, costs.form_pairs().front());
}

}  // namespace codl::compiler
