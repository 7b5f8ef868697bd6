#include "compiler/emit/step_facts.h"

#include "kernels/common/tensor_view.h"
#include "schema/verify_plan.h"

namespace codl::compiler {

namespace {

// Multiply-adds for one element of the output.
double macs_per_element(const kernels::StepShape& step) {
  switch (step.row->op) {
    case OpKind::Conv2d:
    case OpKind::DepthwiseConv2d: {
      const kernels::OperandShape& weights = step.operands[1];  // [oc, ic / groups, kh, kw]
      return static_cast<double>(weights.dims[1]) * weights.dims[2] * weights.dims[3];
    }
    case OpKind::MatMul:
      return step.operands[1].dims[0];  // [k, n]
    default:
      return 0;
  }
}

// Elements of the output that the step computes, pad lanes left out.
double elements_of_part(const kernels::StepShape& step) {
  const kernels::OperandShape& output = step.output();
  double elements = kernels::rows_of_part(step.part_dim, step.part, output).count();
  elements *= kernels::channels_of_part(step.part_dim, step.part, output).count();
  if (output.rank >= 1) elements *= output.dims[0];
  if (output.rank == 4) elements *= output.dims[3];
  return elements;
}

}  // namespace

StepFacts step_facts(const plan::VariantDef& variant, const plan::StepDef& step) {
  StepFacts facts;
  kernels::OperandShape shapes[kernels::kMaxOperands];
  const kernels::StepShape shape = step_shape_of(variant, step, shapes);
  facts.dim = shape.part_dim;
  facts.part = shape.part;
  facts.owned = {step.owned_begin(), step.owned_end()};
  if (facts.owned.empty()) facts.owned = facts.part;
  if (facts.dim == SplitDim::Height) facts.extent = shape.output().dims[2];
  if (facts.dim == SplitDim::OutputChannel) facts.extent = shape.output().dims[1];
  if (kind_of(step) != StepKind::Kernel) return facts;

  facts.kernel = find_kernel(step.kernel());
  const double per_element = macs_per_element(shape);
  if (per_element == 0) return facts;
  facts.macs = per_element * elements_of_part(shape);
  facts.owned_macs =
      facts.part.empty() ? facts.macs : facts.macs / facts.part.count() * facts.owned.count();
  return facts;
}

ConvolutionShare convolution_share(const plan::VariantDef& variant) {
  ConvolutionShare share;
  for (const plan::StepDef* step : *variant.steps()) {
    const StepFacts facts = step_facts(variant, *step);
    if (!facts.is_convolution()) continue;
    (lane_of(*step) == Lane::Cpu ? share.cpu_macs : share.gpu_macs) += facts.owned_macs;
  }
  return share;
}

}  // namespace codl::compiler
