// What a step of a verified plan computes, worked out for dumps and reports.
#pragma once

#include "schema/plan_fields.h"
#include "schema/tables.h"

namespace codl::compiler {

struct StepFacts {
  const KernelRow* kernel = nullptr;  // null unless the step runs one
  SplitDim dim = SplitDim::None;
  int32_t extent = 0;  // of the whole value along `dim`
  Range part;          // computed (or copied) along `dim`
  Range owned;         // without the halo that another lane computes too; `part` if there is none
  // Multiply-adds of the part and of its owned range, from shapes: padding counts as work. 0 for
  // operators without any.
  double macs = 0;
  double owned_macs = 0;

  bool is_convolution() const {
    return kernel != nullptr &&
           (kernel->op == OpKind::Conv2d || kernel->op == OpKind::DepthwiseConv2d);
  }
};

StepFacts step_facts(const plan::VariantDef& variant, const plan::StepDef& step);

// Multiply-adds of convolutions that each lane owns: a node counts once, wherever it is cut.
struct ConvolutionShare {
  double cpu_macs = 0;
  double gpu_macs = 0;
};
ConvolutionShare convolution_share(const plan::VariantDef& variant);

}  // namespace codl::compiler
