// Finds and sets the activation of a node: a unary function that its kernel computes last.
#pragma once

#include "compiler/ir/graph.h"

namespace codl::compiler {

// Returns true if the kernels of the node's operator compute an activation of their result.
bool takes_activation(const ir::Node& node);

// Returns what a node computes last: its activation, or, of Unary, itself; Identity if there is
// none.
UnaryParams last_function(const ir::Node& node);

// Replaces the activation of a node that takes one.
void set_activation(ir::Node& node, const UnaryParams& activation);

// Returns the node with Identity in the place of its activation, if it takes one.
ir::Node without_activation(const ir::Node& node);

}  // namespace codl::compiler
