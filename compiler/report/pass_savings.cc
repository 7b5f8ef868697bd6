#include "compiler/report/pass_savings.h"

#include <algorithm>
#include <limits>

#include "compiler/partition/kernel_choice.h"
#include "compiler/passes/passes.h"

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

}  // namespace

std::function<llvm::Error(llvm::StringRef, const ir::Graph&)> PassSavings::recorder() {
  return [this](llvm::StringRef pass, const ir::Graph& graph) { return add(pass, graph); };
}

llvm::Error PassSavings::add(llvm::StringRef pass, const ir::Graph& graph) {
  if (pass.empty() && !costs_.empty()) return llvm::Error::success();  // as the last pass left it
  // Every graph gets the layouts that it would run in: else a pass would seem to save a Convert.
  ir::Graph laid_out = graph;
  const bool has_layouts = llvm::any_of(
      graph.values(), [](const ir::Value& value) { return value.type.layout != Layout::Plain; });
  if (!has_layouts)
    if (llvm::Error error = assign_layouts(laid_out)) return error;
  costs_.emplace_back(pass.str(), cost_of(laid_out, LatencyPredictor(profile_)));
  return llvm::Error::success();
}

}  // namespace codl::compiler
