#include "compiler/emit/step_facts.h"

#include "compiler/ops/multiply_adds.h"

namespace codl::compiler {

namespace {

bool is_convolution(const Step& step) {
  return step.kernel != nullptr &&
         (step.kernel->op == OpKind::Conv2d || step.kernel->op == OpKind::DepthwiseConv2d);
}

}  // namespace

StepFacts step_facts(const Variant& variant, const Step& step) {
  StepFacts facts;
  kernels::OperandShape shapes[kernels::kMaxOperands];
  const kernels::StepShape shape = variant.shape_of(step, shapes);
  facts.owned = step.owned.empty() ? step.part : step.owned;
  if (step.part_dim == SplitDim::Height) facts.extent = shape.output().dims[2];
  if (step.part_dim == SplitDim::OutputChannel) facts.extent = shape.output().dims[1];
  if (step.kind != StepKind::Kernel) return facts;
  facts.is_in_place = shape.is_in_place;
  facts.macs = multiply_adds(shape);
  facts.owned_macs =
      step.part.empty() ? facts.macs : facts.macs / step.part.count() * facts.owned.count();
  return facts;
}

ConvolutionShare convolution_share(const Variant& variant) {
  ConvolutionShare share;
  for (const Step& step : variant.steps)
    if (is_convolution(step))
      (step.queue == Queue::Cpu ? share.cpu_macs : share.gpu_macs) +=
          step_facts(variant, step).owned_macs;
  return share;
}

}  // namespace codl::compiler
