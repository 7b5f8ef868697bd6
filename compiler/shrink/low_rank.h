// Gives weights low rank: replaces a convolution or MatMul by a row of smaller ones.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

// Says how a weight is divided. Svd computes x A, then B. ChannelWise computes the filter to r
// channels, then 1x1. Spatial computes a column of taps, then a row. Tucker2 computes 1x1 to fewer
// channels, the filter, then 1x1 back.
enum class LowRankForm { Svd, ChannelWise, Spatial, Tucker2 };
const char* name_of(LowRankForm form);

// Holds a network in which one node has one of these forms.
struct LowRankRewrite {
  LowRankForm form = LowRankForm::Svd;
  std::string ranks;  // "64", "32, 48"
  ir::Graph graph;
};

// Returns every form of the node that keeps `energy` (0 to 1) of the squares of its weights and has
// at most nine tenths of its multiply-adds; ranks are whole panels, as far as kernels compute
// those. Returns nothing for other operators, with groups, with weights that are computed, and
// where a side of the weights as a matrix is above kMaxLowRankSide: its decomposition would take
// minutes.
inline constexpr int64_t kMaxLowRankSide = 2048;
std::vector<LowRankRewrite> low_rank_forms(const ir::Graph& graph, ir::NodeId node, double energy);

}  // namespace codl::compiler
