#include "compiler/report/measured_steps.h"

#include "compiler/support/error.h"
#include "compiler/support/json_reader.h"

namespace codl::compiler {

llvm::Expected<MeasuredSteps> read_measured_steps(llvm::StringRef json, llvm::StringRef path) {
  CODL_ASSIGN_OR_RETURN(document, JsonDocument::parse(json, path));
  const JsonValue root = document->root();
  root.keys();  // it has more, for others
  MeasuredSteps measured;
  measured.variant = root.member("variant").as_string();
  measured.median_us = root.member("median_us").as_number();
  for (const JsonValue& value : root.member("steps").elements()) {
    MeasuredStep& step = measured.steps.emplace_back();
    value.keys();
    step.node = value.member("node").as_string();
    step.kernel = value.member("kernel").as_string();
    step.start_us = value.member("start_us").as_number();
    step.end_us = value.member("end_us").as_number();
    step.median_us = value.member("median_us").as_number();
  }
  if (llvm::Error error = document->finish()) return error;
  return measured;
}

llvm::Error check_measured_steps(const MeasuredSteps& measured, const Variant& variant) {
  if (measured.steps.size() != variant.steps.size())
    return input_error("--measured",
                       "expected {0} steps, as variant {1} of this plan has, found {2}",
                       variant.steps.size(), variant.name, measured.steps.size());
  for (size_t id = 0; id < variant.steps.size(); ++id) {
    const Step& step = variant.steps[id];
    const char* kernel = step.kernel != nullptr ? step.kernel->symbol
                                                : kStepKindNames[static_cast<size_t>(step.kind)];
    if (measured.steps[id].node != step.name || measured.steps[id].kernel != kernel)
      return input_error("--measured",
                         "expected step {0} to be {1} of \"{2}\", found {3} of \"{4}\"", id, kernel,
                         step.name, measured.steps[id].kernel, measured.steps[id].node);
  }
  return llvm::Error::success();
}

}  // namespace codl::compiler
