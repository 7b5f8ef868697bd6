// Removes the copies of Concats: their operands are written where the results have them.
#pragma once

#include "schema/plan_model.h"

namespace codl::compiler {

// Makes operands of Concats along the channels windows of the results (OperandShape::pixel_stride).
// Conditions: the window begins at a whole panel and at a multiple of kHostAlignment, on the GPU at
// a whole texel; one queue alone touches both; and every kernel that does takes such a window. The
// Concat stays, but has nothing to copy. Runs before memory is planned; Lifetimes puts the windows
// in their places.
void write_into_concats(Variant& variant);

}  // namespace codl::compiler
