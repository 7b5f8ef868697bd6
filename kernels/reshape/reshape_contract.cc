#include "kernels/reshape/reshape.h"

namespace codl::kernels {
namespace {

const char* check(const StepShape& step, StepNeeds* out_needs) {
  if (step.row->dtype == DType::Any) return "SKELETON";
  if (const char* expected = check_operands(step, 2, 2)) return expected;
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  if (x.layout != Layout::Plain || y.layout != Layout::Plain) return "Plain operands";
  if (element_count(x) != element_count(y)) return "input and output of as many elements";
  out_needs->task_count = reshape_task_count(element_count(y));
  return nullptr;
}

void features(const StepShape& step, Features* out_features) {
  const double elements = static_cast<double>(element_count(step.output()));
  out_features->add("mbytes", 2.0 * elements * sizeof(float) * 1e-6);
  out_features->add("steps", 1.0);
}

}  // namespace

extern const Contract kReshapeContract;
const Contract kReshapeContract = {check, reshape_launch, features};

}  // namespace codl::kernels
