// Finds what the values of a network are on inputs.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

class CalibrationData;

struct SeenMagnitudes {
  // Holds the largest absolute value that was seen, indexed by value; infinite if one was not a
  // number, 0 for what is not F32. Empty if the network was not run.
  std::vector<float> largest;
  bool is_of_data = false;  // else the inputs were random

  // Returns "on calibration data" or "on random inputs".
  const char* where() const { return is_of_data ? "on calibration data" : "on random inputs"; }
};

// Runs the graph on some of the samples that a network may be fitted to or, without calibration, on
// random inputs: floats as of a normal distribution, integers of 0 and 1. A network of more work
// than some seconds is not run on random inputs.
llvm::Expected<SeenMagnitudes> see_magnitudes(const ir::Graph& graph, CalibrationData* calibration);

}  // namespace codl::compiler
