// Says which numbers and values lie on a grid (ir::Grid): quantising to 8 bits leaves numbers
// there, and moving them keeps them.
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/passes/rewrite.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace codl::compiler {

float lowest_of(const ir::Grid& grid);
float highest_of(const ir::Grid& grid);
// Returns the number of the grid that is nearest to `x`; its lowest or highest for what is beyond.
float nearest_on_grid(const ir::Grid& grid, float x);

// Returns the function that rounds to a grid.
UnaryParams quantize8(const ir::Grid& grid);
// Adds a node that rounds a value to a grid, and returns its result.
ir::ValueId add_quantize8(ir::Graph& graph, NewNames& names, ir::ValueId value,
                          const ir::Grid& grid);
// Returns the grid that a function rounds to; none for other functions.
ir::Grid grid_of(const UnaryParams& function);

// Returns the grid of a value that is no constant; none if it has none.
using GridOfValue = llvm::function_ref<ir::Grid(ir::ValueId)>;

// Returns true if all elements of a value, also of a constant, lie on the grid.
bool is_on_grid(const ir::Graph& graph, ir::ValueId value, const ir::Grid& grid,
                GridOfValue grid_of_value);

// Returns the grid of a node's result: the one it rounds to last, or that of the elements it moves
// or clamps; none if there is none.
ir::Grid grid_after(const ir::Graph& graph, const ir::Node& node, GridOfValue grid_of_value);

}  // namespace codl::compiler
