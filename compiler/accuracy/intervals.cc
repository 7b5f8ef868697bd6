#include "compiler/accuracy/intervals.h"

#include <algorithm>
#include <cmath>

#include "compiler/ops/op_spec.h"
#include "kernels/common/reference/elements.h"

namespace codl::compiler {
namespace {

template <typename T>
Interval interval_of_elements(llvm::ArrayRef<T> elements) {
  if (elements.empty()) return Interval::of(0);
  const auto [low, high] = std::minmax_element(elements.begin(), elements.end());
  return {static_cast<double>(*low), static_cast<double>(*high)};
}

Interval interval_of_type(DType dtype) {
  if (dtype == DType::Bool) return {0, 1};
  if (!is_integer(dtype)) return {};
  const double count = std::exp2(8 * dtype_bytes(dtype));
  return kernels::is_signed_integer(dtype) ? Interval{-count / 2, count / 2 - 1}
                                           : Interval{0, count - 1};
}

Interval interval_of_constant(const ir::Value& value) {
  switch (value.type.dtype) {
    case DType::F32:
      return interval_of_elements(value.as<float>());
    case DType::I32:
      return interval_of_elements(value.as<int32_t>());
    case DType::I64:
      return interval_of_elements(value.as<int64_t>());
    default:
      return interval_of_type(value.type.dtype);
  }
}

}  // namespace

std::vector<Interval> intervals_of(const ir::Graph& graph) {
  std::vector<Interval> intervals;
  for (const ir::Value& value : graph.values())
    intervals.push_back(value.is_constant ? interval_of_constant(value)
                                          : interval_of_type(value.type.dtype));
  for (const ir::Node& node : graph.nodes()) {
    const OpSpec& spec = op_spec(node.op);
    if (graph.value(node.output).type.dtype != DType::F32 || spec.bounds == nullptr) continue;
    llvm::SmallVector<Interval, 4> operands;
    for (ir::ValueId input : node.inputs) operands.push_back(intervals[input]);
    intervals[node.output] = spec.bounds(ir::NodeView{graph, node}, operands);
  }
  return intervals;
}

}  // namespace codl::compiler
