#include "compiler/simulate/timing/weight_count.h"

#include <limits>

#include "compiler/partition/kernel_choice.h"
#include "llvm/ADT/STLExtras.h"

namespace codl::compiler {

WeightCount::WeightCount(const ir::Graph& graph, const DeviceProfile& profile)
    : graph_(graph),
      is_counted_(llvm::any_of(profile.warm_weight_mbytes,
                               [](const Quantity& mbytes) { return mbytes.value > 0; })),
      has_weights_(llvm::any_of(graph.values(), [](const ir::Value& value) {
        return value.is_constant && value.type.element_count() > 0;
      })) {}

double WeightCount::mbytes_of(const PartitionPlan& plan) {
  if (!is_counted_) return has_weights_ ? std::numeric_limits<double>::infinity() : 0;
  for (ir::NodeId node = 0; node < plan.node_partitions.size(); ++node) {
    const NodePartition& now = plan.node_partitions[node];
    if (node == counted_.size()) {
      counted_.push_back(now);
    } else {
      if (is_alike(counted_[node], now)) continue;
      add(counted_[node], -1);
      counted_[node] = now;
    }
    add(now, 1);
  }
  return static_cast<double>(bytes_) * 1e-6;
}

void WeightCount::add(const NodePartition& node_partition, int32_t by) {
  const ir::NodeView view{graph_, graph_.node(node_partition.node)};
  for (const Part& part : node_partition.parts)
    for (uint32_t operand = 0; operand < view.input_count(); ++operand) {
      if (!view.input_value(operand).is_constant) continue;
      const uint64_t packing = index_of(packing_of(view, operand, *part.kernel, part.form.dtype));
      const std::pair key(view.node.inputs[operand],
                          packing << 32 | static_cast<uint32_t>(groups_of(view.node)));
      int32_t& readers = readers_[key];
      const bool was_read = readers > 0;
      readers += by;
      const bool is_read = readers > 0;
      if (was_read == is_read) continue;
      const uint64_t bytes = constant_shape(view, operand, *part.kernel, part.form.dtype).bytes;
      bytes_ = is_read ? bytes_ + bytes : bytes_ - bytes;
    }
}

}  // namespace codl::compiler
