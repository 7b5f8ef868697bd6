// Decides which values of a network may be held in halves.
//
// Needs:   a graph with layouts, what its values are on some inputs, and the user's precision.
// Gives:   Value::precision of every value: the user's where halves hold the value, Fp32 where
//          nothing shows that they do, with the reason. Nothing else changes.
// Order:   after all other passes: they make and remove values.
//
// Halves hold a value if its interval (intervals_of) is within their range. Otherwise what was seen
// on inputs counts, with a factor for inputs that were not seen. Operators that square, divide by
// numbers next to zero, or grow exponentially work in floats unless intervals bound them: what was
// seen says nothing there. So does all that a logarithm of numbers next to zero is made of, back to
// the inputs or to exponentials. docs/guide/precision.md tells users.
#pragma once

#include <string>
#include <vector>

#include "compiler/accuracy/seen.h"

namespace codl::compiler {

struct AllowedForms {
  struct Float {
    std::string node;    // that computes the value
    std::string reason;  // continues a sentence about it
  };
  std::vector<Float>
      floats;              // values of the network that stay in float though halves were asked for
  size_t value_count = 0;  // values of real numbers that the network computes
};

AllowedForms allow_forms(ir::Graph& graph, ir::Precision precision, const SeenMagnitudes& seen);

}  // namespace codl::compiler
