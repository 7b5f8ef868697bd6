// Concats without copies: their operands are written where the results have them.
#pragma once

#include "schema/plan_model.h"

namespace codl::compiler {

// Makes operands of Concats along the channels windows of the results (OperandShape::pixel_stride),
// where whole panels begin, on the GPU whole texels, one queue alone touches both, and every kernel
// that does takes such a window. The Concat stays; it has nothing to copy of them. Before memory is
// planned: Lifetimes sees to the places.
void write_into_concats(Variant& variant);

}  // namespace codl::compiler
