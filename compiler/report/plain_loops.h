// Finds which nodes of a variant have no fast kernel and run on the reference kernels' plain loops,
// and how much of its predicted time they take.
#pragma once

#include <string>
#include <vector>

#include "schema/plan_model.h"

namespace codl::compiler {

struct PlainNode {
  std::string name;
  OpKind op = OpKind::Convert;
  DType dtype = DType::F32;  // type of the first operand
  double predicted_us = 0;
  double share = 0;  // share of the variant's predicted time
};

struct PlainLoops {
  std::vector<PlainNode> nodes;  // the longest first
  double predicted_us = 0;       // sum over all
  double share = 0;
};

// Looks at the kernels of the variant's steps. Shares are 0 if it predicts no time.
PlainLoops plain_loops(const Variant& variant);

// This share of the predicted time is worth a warning: below it a fast kernel could not make the
// network faster by more than what predictions are off.
inline constexpr double kNotableShare = 0.05;

// Returns one line that names the node that takes most; empty where the share is not notable.
std::string warning(const PlainLoops& loops);

}  // namespace codl::compiler
