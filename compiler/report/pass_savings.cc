#include "compiler/report/pass_savings.h"

#include <algorithm>
#include <limits>

#include "compiler/partition/kernel_choice.h"
#include "compiler/passes/passes.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

namespace codl::compiler {
namespace {

double bytes_of(const ir::TensorType& type) {
  return static_cast<double>(type.element_count()) * dtype_bytes(type.dtype);
}

GraphCost cost_of(const ir::Graph& graph, const LatencyPredictor& predictor) {
  GraphCost cost;
  cost.nodes = graph.nodes().size();
  for (const ir::Node& node : graph.nodes()) {
    const ir::NodeView view{graph, node};
    cost.bytes += bytes_of(view.output());
    for (uint32_t i = 0; i < view.input_count(); ++i) cost.bytes += bytes_of(view.input(i));
    double least_us = std::numeric_limits<double>::infinity();
    each_kernel(view, Processor::Cpu, predictor, [&](const kernels::StepShape& step) {
      least_us = std::min(least_us, predictor.predict_us(step, false));
    });
    if (least_us < std::numeric_limits<double>::infinity()) cost.predicted_us += least_us;
  }
  return cost;
}

void print_line(llvm::raw_ostream& os, llvm::StringRef name, const GraphCost& before,
                const GraphCost& after) {
  const auto saved_nodes = static_cast<int64_t>(before.nodes) - static_cast<int64_t>(after.nodes);
  os << llvm::formatv("  {0,-20} {1,8} {2,10:f2} {3,10:f3}\n", name, saved_nodes,
                      (before.bytes - after.bytes) / 1e6,
                      (before.predicted_us - after.predicted_us) / 1e3);
}

}  // namespace

llvm::Error PassSavings::add(llvm::StringRef pass, const ir::Graph& graph) {
  // Every graph with the layouts that it would run in: else a pass would seem to save a Convert.
  ir::Graph laid_out = graph;
  const bool has_layouts = llvm::any_of(
      graph.values(), [](const ir::Value& value) { return value.type.layout != Layout::Plain; });
  if (!has_layouts)
    if (llvm::Error error = assign_layouts(laid_out)) return error;
  costs_.emplace_back(pass.str(), cost_of(laid_out, LatencyPredictor(profile_)));
  return llvm::Error::success();
}

void PassSavings::print(llvm::raw_ostream& os) const {
  if (costs_.empty()) return;
  os << "saved by pass            nodes         MB    CPU ms (predicted, each node whole)\n";
  for (size_t i = 1; i < costs_.size(); ++i) {
    const GraphCost& before = costs_[i - 1].second;
    const GraphCost& after = costs_[i].second;
    if (before.nodes == after.nodes && before.bytes == after.bytes &&
        before.predicted_us == after.predicted_us)
      continue;
    print_line(os, costs_[i].first, before, after);
  }
  print_line(os, "all", costs_.front().second, costs_.back().second);
  const GraphCost& left = costs_.back().second;
  os << llvm::formatv("  {0,-20} {1,8} {2,10:f2} {3,10:f3}\n", "left", left.nodes, left.bytes / 1e6,
                      left.predicted_us / 1e3);
}

}  // namespace codl::compiler
