// Chooses the forms in which a plan has its weights: those that save most time for their bytes.
//
// A kernel reads weights in one packing. Weights that several parts, processors and variants read
// in the same packing are in the plan once; weights read in different packings are there once for
// each. Filters transformed by Winograd's method take 1.8 or 4 times as many bytes as plain ones.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "compiler/device/latency_predictor.h"
#include "compiler/ir/graph.h"
#include "compiler/partition/limits.h"
#include "compiler/partition/partition_plan.h"

namespace codl::compiler {

// Holds what the entries of a plan store that were made before: the packings of each constant, by a
// hash of its type and bytes, as the entries' graphs are different ones.
struct WeightsOfEntries {
  std::unordered_map<uint64_t, PackingSet> packings;
  uint64_t bytes = 0;
};

// Counts the constants of plans, each once in every packing in which one of their kernels reads it.
class StoredWeights {
 public:
  // Borrows the graph.
  explicit StoredWeights(const ir::Graph& graph)
      : graph_(graph), packings_(graph.values().size()) {}
  // Begins with what other entries store: a constant costs nothing in a packing that they have.
  StoredWeights(const ir::Graph& graph, const WeightsOfEntries& others);
  void add_to(WeightsOfEntries& entries) const;

  void add(const PartitionPlan& plan);
  // Adds the constants of the node as the kernel reads them beside real numbers of `reals`.
  void add(const ir::NodeView& node, const KernelInfo& kernel, DType reals);

  PackingSet packings_of(ir::ValueId constant) const { return packings_[constant]; }

  // Returns the bytes in the plan's file, where each blob is aligned. Values with equal bytes each
  // count, although the file has them once.
  uint64_t bytes() const { return bytes_; }

 private:
  const ir::Graph& graph_;
  std::vector<PackingSet> packings_;  // indexed by value
  uint64_t bytes_ = 0;
};

// Returns the bytes of a plan that has what is `stored`, and each constant in all packings in which
// any kernel reads it.
uint64_t most_bytes_of_any(const ir::Graph& graph, const LatencyPredictor& predictor,
                           StoredWeights stored);

// Returns, by node, the packings that kernels of a plan like `free` may read, so that the plan and
// what is `stored` have at most `most_bytes` together. Of all that fit, it takes first those that
// save most of the predicted time per byte where `free` has the nodes. If `free` fits itself, it
// stays possible. If not even the smallest form of each constant fits, the result is that form.
std::vector<PackingSet> choose_packings(const ir::Graph& graph, const LatencyPredictor& predictor,
                                        const PlanLimits& limits, const PartitionPlan& free,
                                        const StoredWeights& stored, uint64_t most_bytes);

}  // namespace codl::compiler
