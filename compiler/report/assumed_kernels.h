// Which kernels a network could use whose times the profile assumes: nobody measured them on the
// device, so that which of them is faster, and a cut between processors, may come out wrong.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compiler/device/latency_predictor.h"
#include "compiler/ir/graph.h"

namespace codl::compiler {

struct AssumedKernels {
  std::string profile;      // its name
  size_t kernel_count = 0;  // that a node of the network could run on
  // Of those that are assumed: first those that are the fastest, by the time they take so.
  std::vector<std::string> symbols;
};

// Of kernels that a node could run on as a whole, plain loops left out, those whose calibration is
// assumed. `uses_gpu`: the GPU's kernels, too.
AssumedKernels assumed_kernels(const ir::Graph& graph, const LatencyPredictor& predictor,
                               bool uses_gpu);

// One line that names the first few; empty without any.
std::string warning(const AssumedKernels& kernels);

}  // namespace codl::compiler
