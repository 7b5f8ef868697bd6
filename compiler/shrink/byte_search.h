// Chooses which nodes multiply bytes, by what the network loses.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/shrink/quantizer.h"
#include "compiler/shrink/search_log.h"

namespace codl::compiler {

struct ByteJudge {
  std::function<llvm::Expected<double>(const ir::Graph& graph)> loss;  // that the budget limits
  // Relative error of the outputs, on fewer samples: it is asked for each node.
  std::function<llvm::Expected<double>(const ir::Graph& graph)> loss_alone;
  std::function<void(size_t most_steps, const std::string& step)> on_step;  // may be null
};

struct ChosenBytes {
  std::vector<bool> is_in_bytes;     // indexed as Quantizer::nodes()
  std::vector<double> losses_alone;  // likewise: what is lost with this node alone in bytes
};

// Leaves out those of the nodes that lose most alone, as few as keep the loss within the budget. Of
// many nodes, several that follow each other are measured together. `network` names the network
// among the questions of the log.
llvm::Expected<ChosenBytes> choose_bytes(const Quantizer& quantizer, double budget,
                                         const ByteJudge& judge, SearchLog& log,
                                         const std::string& network);

}  // namespace codl::compiler
