// Reports the savings of each pass: launches, bytes and predicted time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/device/latency_predictor.h"
#include "compiler/ir/graph.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

// Holds the costs of a graph, whatever passes it has been through.
struct GraphCost {
  size_t nodes = 0;
  double bytes = 0;         // all nodes' operands and results, as if each were moved once
  double predicted_us = 0;  // with each node whole on the CPU, one after the other
};

// Collects the graph's cost before the first pass and after each.
class PassSavings {
 public:
  explicit PassSavings(const DeviceProfile& profile) : profile_(profile) {}
  // Returns PassOptions::on_graph, which borrows this.
  std::function<llvm::Error(llvm::StringRef pass, const ir::Graph& graph)> recorder();
  // Returns the model's cost before the first pass, without a name, then those after each; empty if
  // not asked for.
  llvm::ArrayRef<std::pair<std::string, GraphCost>> costs() const { return costs_; }

 private:
  llvm::Error add(llvm::StringRef pass, const ir::Graph& graph);

  const DeviceProfile& profile_;
  std::vector<std::pair<std::string, GraphCost>> costs_;
};

}  // namespace codl::compiler
