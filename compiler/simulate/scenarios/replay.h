// Partition plans of others in virtual time: a list of operators that CoDL's engine would run.
//
// A plan of codl has a network and kernels; a replay has shapes and ratios only
// (docs/reference/simulator.md). Operators stand by themselves: what one writes need not be what
// the next one reads. They run in chains, as the CoDL paper's do: a chain begins with one transfer
// and ends with one; both processors start together, compute the rows at the cut both (Eq. 1), and
// are waited for together.
#pragma once

#include "compiler/simulate/timing/timeline.h"
#include "llvm/Support/Error.h"
#include "schema/tables.h"

namespace codl::compiler {

// Describes an operator or a part of one. Rows and columns of the input include the padding.
struct ReplayOp {
  OpKind op = OpKind::Conv2d;  // Conv2d, Pool2d or MatMul; a MatMul has channels only
  int32_t kernel = 1;
  int32_t stride = 1;
  int32_t in_rows = 1;
  int32_t in_columns = 1;
  int32_t in_channels = 1;
  int32_t out_channels = 1;

  int32_t out_rows() const { return (in_rows - kernel) / stride + 1; }
  int32_t out_columns() const { return (in_columns - kernel) / stride + 1; }
};

struct ReplayChain {
  std::vector<ReplayOp> ops;  // more than one: cut along Height
  SplitDim dim = SplitDim::Height;
  int32_t gpu_percent = 0;  // share of the rows, or of the channels
};

struct Replay {
  std::string name;
  std::vector<ReplayChain> chains;
};

// Input errors name the JSON path.
llvm::Expected<Replay> parse_replay(llvm::StringRef json, llvm::StringRef path);

// Returns an Input error if the profile has no GPU, or no kernel for an operator.
llvm::Expected<std::vector<QueueStep>> queue_steps_of(const Replay& replay,
                                                      const DeviceProfile& profile);

}  // namespace codl::compiler
