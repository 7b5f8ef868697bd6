// Facts about a step's computation, for dumps and reports.
#pragma once

#include "schema/plan_model.h"

namespace codl::compiler {

struct StepFacts {
  int32_t extent = 0;  // length of the whole value along the step's part_dim
  Range owned;  // without the halo that another queue computes too; the part if there is none
  bool is_in_place = false;  // the output stays where the input has it: nothing is moved
  // Multiply-adds of the part and of its owned range, from shapes: padding counts as work. 0 for
  // operators without any.
  double macs = 0;
  double owned_macs = 0;
};

StepFacts step_facts(const Variant& variant, const Step& step);

// Multiply-adds of convolutions that each queue owns: a node counts once, wherever it is cut.
struct ConvolutionShare {
  double cpu_macs = 0;
  double gpu_macs = 0;
};
ConvolutionShare convolution_share(const Variant& variant);

}  // namespace codl::compiler
