#include "compiler/partition/weight_forms.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "compiler/partition/cost_model.h"
#include "compiler/partition/kernel_choice.h"
#include "compiler/support/hash.h"
#include "llvm/ADT/MapVector.h"
#include "schema/plan_layout.h"

namespace codl::compiler {
namespace {

constexpr uint32_t kWeights = 1;  // the operand with packed weights

uint64_t content_hash(const ir::Value& constant) {
  const auto bytes_of = [](const auto& items) {
    return llvm::StringRef(reinterpret_cast<const char*>(items.data()),
                           items.size() * sizeof(*items.data()));
  };
  const uint64_t hashes[] = {static_cast<uint64_t>(constant.type.dtype),
                             hash_of(bytes_of(constant.type.dims)),
                             hash_of(bytes_of(constant.bytes))};
  return hash_of(bytes_of(llvm::ArrayRef<uint64_t>(hashes)));
}

// Describes one way to store the weights of some nodes.
struct WeightForm {
  PackingSet packings = 0;
  uint64_t bytes = 0;  // beside what is stored already
  double us = 0;       // time of the nodes, with the fastest kernels that read one of the packings
};

// Holds the weights of one or more nodes that kernels read in more than one packing.
struct Weights {
  std::vector<ir::NodeId> nodes;
  PackingSet packings = 0;                  // packings of all its kernels
  uint64_t bytes[kTypedPackingCount] = {};  // indexed by index_of(Packing)
  std::vector<WeightForm> forms;
  size_t chosen = 0;
};

class Chooser {
 public:
  Chooser(const ir::Graph& graph, const LatencyPredictor& predictor, const PlanLimits& limits,
          const PartitionPlan& free, const StoredWeights& stored)
      : graph_(graph), predictor_(predictor), limits_(limits), free_(free), stored_(stored) {}

  std::vector<PackingSet> run(uint64_t most_bytes) {
    find_weights();
    StoredWeights all = stored_;
    all.add(free_);
    const bool is_enough = all.bytes() <= most_bytes;
    uint64_t bytes = stored_.bytes() + bytes_of_others();
    for (auto& [constant, weights] : weights_) {
      add_forms(constant, weights);
      if (is_enough) keep_possible(all.packings_of(constant) & weights.packings, weights);
      bytes += weights.forms[weights.chosen].bytes;
    }
    while (bytes < most_bytes) {
      const uint64_t added = take_best(most_bytes - bytes);
      if (added == 0) break;
      bytes += added;
    }
    std::vector<PackingSet> packings(graph_.nodes().size(), kAllPackings);
    for (const auto& [constant, weights] : weights_)
      for (const ir::NodeId node : weights.nodes)
        packings[node] = weights.forms[weights.chosen].packings | stored_.packings_of(constant);
    return packings;
  }

 private:
  void find_weights() {
    llvm::MapVector<ir::ValueId, Weights> all;
    for (ir::NodeId id = 0; id < graph_.nodes().size(); ++id) {
      const ir::NodeView view{graph_, graph_.node(id)};
      if (view.input_count() <= kWeights || !view.input_value(kWeights).is_constant) continue;
      Weights& weights = all[view.node.inputs[kWeights]];
      weights.nodes.push_back(id);
      for (const Processor processor : kProcessors)
        each_kernel(view, processor, predictor_, [&](const kernels::StepShape& step) {
          const kernels::OperandShape& shape = step.operands[kWeights];
          const Packing packing = {step.kernel->packing, shape.dtype};
          if (packing.kind == PackingKind::None) return;
          weights.packings |= bit_of(packing);
          weights.bytes[index_of(packing)] = round_up(shape.bytes, kBlobAlignment);
        });
    }
    for (auto& [constant, weights] : all)
      if ((weights.packings & (weights.packings - 1)) != 0)
        weights_.insert({constant, std::move(weights)});
  }

  // Returns the bytes that the plan adds for constants that have only one form.
  uint64_t bytes_of_others() const {
    StoredWeights all = stored_;
    all.add(free_);
    uint64_t bytes = all.bytes() - stored_.bytes();
    for (const auto& [constant, weights] : weights_)
      bytes -= bytes_of(weights, all.packings_of(constant) & ~stored_.packings_of(constant));
    return bytes;
  }

  static uint64_t bytes_of(const Weights& weights, PackingSet packings) {
    uint64_t bytes = 0;
    for (size_t packing = 0; packing < std::size(weights.bytes); ++packing)
      if ((packings & weights.packings & (1u << packing)) != 0) bytes += weights.bytes[packing];
    return bytes;
  }

  void add_forms(ir::ValueId constant, Weights& weights) {
    const PackingSet stored = stored_.packings_of(constant);
    for (PackingSet packings = weights.packings; packings != 0;
         packings = (packings - 1) & weights.packings) {
      const CostModel& costs = costs_with(packings | stored);
      // A node may have no kernel that reads what another node with the same weights does.
      if (!llvm::all_of(weights.nodes, [&](ir::NodeId node) { return has_kernel(node, costs); }))
        continue;
      WeightForm form{packings, bytes_of(weights, packings & ~stored), 0};
      for (const ir::NodeId node : weights.nodes)
        form.us += node_us(free_.node_partitions[node], costs);
      weights.forms.push_back(form);
    }
    const auto least = std::min_element(
        weights.forms.begin(), weights.forms.end(), [](const WeightForm& a, const WeightForm& b) {
          return std::pair(a.bytes, a.us) < std::pair(b.bytes, b.us);
        });
    weights.chosen = static_cast<size_t>(least - weights.forms.begin());
  }

  // Leaves the forms in which kernels read all of these packings, and takes the smallest.
  static void keep_possible(PackingSet packings, Weights& weights) {
    llvm::erase_if(weights.forms,
                   [&](const WeightForm& form) { return (packings & ~form.packings) != 0; });
    const auto least = std::min_element(
        weights.forms.begin(), weights.forms.end(),
        [](const WeightForm& a, const WeightForm& b) { return a.bytes < b.bytes; });
    weights.chosen = static_cast<size_t>(least - weights.forms.begin());
  }

  const CostModel& costs_with(PackingSet packings) {
    std::unique_ptr<CostModel>& costs = costs_[packings];
    if (costs) return *costs;
    std::vector<PackingSet> by_node(graph_.nodes().size(), kAllPackings);
    for (const auto& [constant, weights] : weights_)
      for (const ir::NodeId node : weights.nodes) by_node[node] = packings;
    costs = std::make_unique<CostModel>(graph_, predictor_, limits_, std::move(by_node));
    return *costs;
  }

  static bool has_kernel(ir::NodeId node, const CostModel& costs) {
    return llvm::any_of(
        kProcessors, [&](Processor processor) { return costs.whole(node, processor).has_value(); });
  }

  // Returns the microseconds of a node on the processors that `placed` has it on, cut where they
  // end together; kNeverUs where one of them has no kernel.
  static double node_us(const NodePartition& placed, const CostModel& costs) {
    const FormPair forms = forms_of(placed);
    std::optional<Segment> segment;
    if (const Part& part = placed.parts.front(); !placed.is_split())
      segment = costs.whole(placed.node, part.processor, part.form);
    else if (const auto ratio = costs.balanced_ratio(placed.node, placed.node, forms))
      segment = costs.split(placed.node, placed.node, placed.dim, *ratio, forms);
    return segment ? segment->compute_us : kNeverUs;
  }

  // Takes another form of some weights: of those with at most `most_bytes` more, the one that saves
  // most time for each. Returns how many bytes it adds; 0 if there is none.
  uint64_t take_best(uint64_t most_bytes) {
    Weights* best = nullptr;
    size_t best_form = 0;
    double most_saved = 0;  // microseconds per byte
    for (auto& [constant, weights] : weights_) {
      const WeightForm& now = weights.forms[weights.chosen];
      for (size_t i = 0; i < weights.forms.size(); ++i) {
        const WeightForm& form = weights.forms[i];
        if (form.bytes <= now.bytes || form.bytes - now.bytes > most_bytes) continue;
        const double saved = (now.us - form.us) / static_cast<double>(form.bytes - now.bytes);
        if (saved <= most_saved) continue;
        best = &weights;
        best_form = i;
        most_saved = saved;
      }
    }
    if (best == nullptr) return 0;
    const uint64_t before = best->forms[best->chosen].bytes;
    best->chosen = best_form;
    return best->forms[best_form].bytes - before;
  }

  static constexpr double kNeverUs = 1e12;

  const ir::Graph& graph_;
  const LatencyPredictor& predictor_;
  const PlanLimits& limits_;
  const PartitionPlan& free_;
  const StoredWeights& stored_;
  llvm::MapVector<ir::ValueId, Weights> weights_;
  // Holds the model for each set of packings, with no other form for any node.
  llvm::MapVector<PackingSet, std::unique_ptr<CostModel>> costs_;
};

}  // namespace

StoredWeights::StoredWeights(const ir::Graph& graph, const WeightsOfEntries& others)
    : StoredWeights(graph) {
  bytes_ = others.bytes;
  if (others.packings.empty()) return;
  for (ir::ValueId id = 0; id < graph.values().size(); ++id) {
    if (!graph.value(id).is_constant) continue;
    const auto known = others.packings.find(content_hash(graph.value(id)));
    if (known != others.packings.end()) packings_[id] = known->second;
  }
}

void StoredWeights::add_to(WeightsOfEntries& entries) const {
  for (ir::ValueId id = 0; id < packings_.size(); ++id)
    if (packings_[id] != 0) entries.packings[content_hash(graph_.value(id))] |= packings_[id];
  entries.bytes = bytes_;
}

void StoredWeights::add(const ir::NodeView& node, const KernelInfo& kernel, DType reals) {
  for (uint32_t operand = 0; operand < node.input_count(); ++operand) {
    if (!node.input_value(operand).is_constant) continue;
    const PackingSet packing = bit_of(packing_of(node, operand, kernel, reals));
    PackingSet& known = packings_[node.node.inputs[operand]];
    if ((known & packing) != 0) continue;
    known |= packing;
    bytes_ += round_up(constant_shape(node, operand, kernel, reals).bytes, kBlobAlignment);
  }
}

void StoredWeights::add(const PartitionPlan& plan) {
  for (const NodePartition& node_partition : plan.node_partitions)
    for (const Part& part : node_partition.parts)
      add({graph_, graph_.node(node_partition.node)}, *part.kernel, part.form.dtype);
}

uint64_t most_bytes_of_any(const ir::Graph& graph, const LatencyPredictor& predictor,
                           StoredWeights stored) {
  for (const ir::Node& node : graph.nodes())
    for (const Processor processor : kProcessors)
      for (Form form : map_forms({graph, node}, processor, predictor.profile()))
        each_kernel({graph, node}, processor, form, SplitDim::None, {}, predictor,
                    [&](const kernels::StepShape& step) {
                      stored.add({graph, node}, *step.kernel, form.dtype);
                    });
  return stored.bytes();
}

std::vector<PackingSet> choose_packings(const ir::Graph& graph, const LatencyPredictor& predictor,
                                        const PlanLimits& limits, const PartitionPlan& free,
                                        const StoredWeights& stored, uint64_t most_bytes) {
  return Chooser(graph, predictor, limits, free, stored).run(most_bytes);
}

}  // namespace codl::compiler
