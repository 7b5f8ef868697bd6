// Finds facts about a step's computation, for dumps and reports.
#pragma once

#include "schema/plan_model.h"

namespace codl::compiler {

struct StepFacts {
  int32_t extent = 0;        // length of the whole value along the step's part_dim
  Range owned;               // the part without the halo that another queue computes, too
  bool is_in_place = false;  // the output lies in the input, so nothing is moved
  // Counts the multiply-adds of the part and of its owned range, from the shapes, with padding; 0
  // if the operator has none.
  double macs = 0;
  double owned_macs = 0;
};

StepFacts step_facts(const Variant& variant, const Step& step);

// Sums the multiply-adds of convolutions that each queue owns. A node counts once, wherever it is
// cut.
struct ConvolutionShare {
  double cpu_macs = 0;
  double gpu_macs = 0;
};
ConvolutionShare convolution_share(const Variant& variant);

}  // namespace codl::compiler
