// Weights of the CPU's end that all of a network can be looked at with.
#pragma once

#include <vector>

#include "compiler/partition/bound/weighted_fronts.h"

namespace codl::compiler {

struct WeightedNode {
  ByWeight least_us = {};  // of all its cuts
  // Microseconds of its parts where they are about balanced; 0: it is not split.
  double cpu_part_us = 0;
  double gpu_part_us = 0;
};

// By node, in order: the weights at which all nodes take longest, where a weight that rises leaves
// out as much of the GPU's part of the node before, and one that falls of the CPU's.
std::vector<double> even_weights(const std::vector<WeightedNode>& nodes);

}  // namespace codl::compiler
