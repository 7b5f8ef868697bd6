#include "compiler/partition/bound/even_weights.h"

#include <algorithm>

namespace codl::compiler {

std::vector<double> even_weights(const std::vector<WeightedNode>& nodes) {
  constexpr size_t kCount = kWeightSteps + 1;
  ByWeight most_us = {};                                        // up to a node, by its weight
  std::vector<std::array<uint8_t, kCount>> from(nodes.size());  // the weight of the node before
  WeightedNode before;
  for (size_t node = 0; node < nodes.size(); ++node) {
    const ByWeight before_us = most_us;
    for (size_t i = 0; i < kCount; ++i) {
      const auto us_from = [&](size_t j) {
        const double change = weight_at(i) - weight_at(j);
        return before_us[j] -
               (change > 0 ? change * before.gpu_part_us : -change * before.cpu_part_us);
      };
      size_t best = i;
      for (size_t j = 0; j < kCount; ++j)
        if (us_from(j) > us_from(best)) best = j;
      from[node][i] = static_cast<uint8_t>(best);
      most_us[i] = us_from(best) + nodes[node].least_us[i];
    }
    before = nodes[node];
  }
  auto at = static_cast<size_t>(std::max_element(most_us.begin(), most_us.end()) - most_us.begin());
  std::vector<double> weights(nodes.size());
  for (size_t node = nodes.size(); node-- > 0;) {
    weights[node] = weight_at(at);
    at = from[node][at];
  }
  return weights;
}

}  // namespace codl::compiler
