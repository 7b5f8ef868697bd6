// Finds the kernels that a network could use and whose times the profile assumes: nobody measured
// them on the device, so that which of them is faster, and a cut between processors, may come out
// wrong.
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
  // Lists the assumed ones; those that are the fastest come first, sorted by their time.
  std::vector<std::string> symbols;
};

// Returns the kernels with assumed calibration, among those that a node could run on as a whole,
// without plain loops. With `uses_gpu` it includes the GPU's kernels.
AssumedKernels assumed_kernels(const ir::Graph& graph, const LatencyPredictor& predictor,
                               bool uses_gpu);

// Returns one line that names the first few; empty if there are none.
std::string warning(const AssumedKernels& kernels);

}  // namespace codl::compiler
