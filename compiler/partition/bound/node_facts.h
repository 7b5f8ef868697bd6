// What the bound by order knows of a node before it looks at plans.
#pragma once

#include <algorithm>
#include <vector>

#include "compiler/partition/bound/weighted_fronts.h"
#include "schema/types.h"

namespace codl::compiler {

// Microseconds on either processor.
struct Times {
  double cpu_us = 0;
  double gpu_us = 0;
  double longer() const { return std::max(cpu_us, gpu_us); }
  // 1 where all of it is on the CPU.
  double cpu_share() const { return cpu_us + gpu_us > 0 ? cpu_us / (cpu_us + gpu_us) : 0.5; }
};

// Cuts of rows from one to another, which are taken for one: the GPU has the rows of the first, the
// CPU those of the last. So each part is at most what it is for any of them.
struct RowCuts {
  int32_t first;
  int32_t last;
};

struct NodeFacts {
  Times whole = {kUnreachedUs, kUnreachedUs};
  std::vector<RowCuts> row_cuts;  // ascending; none: not split along Height
  std::vector<Times> row_times;   // theirs
  std::vector<Times> channel_cuts;
  bool reads_all_channels = false;  // where it is split along OutputChannel
  ByWeight least_rows_us;           // of its cuts of rows alone
  bool reads_previous = false;      // what the node before it in the graph's order makes
  bool is_alone = false;            // every other node needs it or is needed by it
  bool begins_region = false;       // of nodes that are not alone
  double weight = 0.5;              // for what is about balanced
  double region_weight = 0.5;       // for all of the region
};

// Rows of a node's output that the processors compute in a chain: empty where that is not known.
struct Rows {
  Range gpu;
  Range cpu;
  bool has_both() const { return !gpu.empty() && !cpu.empty(); }
};

}  // namespace codl::compiler
