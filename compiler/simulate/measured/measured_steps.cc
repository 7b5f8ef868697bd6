#include "compiler/simulate/measured/measured_steps.h"

#include <cmath>

#include "compiler/device/device_names.h"
#include "compiler/support/error.h"
#include "compiler/support/json_reader.h"

namespace codl::compiler {
namespace {

// Allows for the rounding of a prediction, which a plan has as a float.
constexpr double kRounding = 1e-3;

MeasuredSteps read_variant(const JsonValue& value) {
  value.keys();  // it has more, for others
  MeasuredSteps measured;
  measured.variant = value.member("variant").as_string();
  measured.median_us = value.member("median_us").as_number();
  for (const JsonValue& element : value.member("steps").elements()) {
    MeasuredStep& step = measured.steps.emplace_back();
    element.keys();
    step.node = element.member("node").as_string();
    step.kernel = element.member("kernel").as_string();
    step.predicted_us = element.member("predicted_us").as_number();
    step.start_us = element.member("start_us").as_number();
    step.end_us = element.member("end_us").as_number();
    step.median_us = element.member("median_us").as_number();
  }
  return measured;
}

// The machine that ran the steps is known by the name of its OpenCL device or, where no step was on
// one, by its CPU's architecture, which tells only that it is no phone.
void expect_machine(const JsonValue& root, const DeviceProfile& profile,
                    llvm::StringRef measured_on) {
  const JsonValue gpu = root.member("opencl_device"), cpu = root.member("cpu_architecture");
  const bool has_gpu = !gpu.as_string().empty();
  const JsonValue& machine = has_gpu ? gpu : cpu;
  const std::string found = machine.as_string();
  if (!measured_on.empty()) {
    if (!llvm::StringRef(found).contains(measured_on))
      machine.expected("text that has \"" + measured_on.str() + "\", as --measured-on says");
  } else if (has_gpu && !is_gpu_of(profile, found)) {
    machine.expected((profile.has_gpu ? '"' + profile.gpu_name + '"' : "no GPU") + " of device " +
                     profile.name + ", or one that --measured-on names");
  } else if (!has_gpu && profile.kind == DeviceKind::Phone && found == "x86_64") {
    machine.expected("\"aarch64\" of phone " + profile.name + ", or one that --measured-on names");
  }
}

}  // namespace

llvm::Expected<std::vector<MeasuredSteps>> read_measured_steps(llvm::StringRef json,
                                                               llvm::StringRef path,
                                                               const DeviceProfile& profile,
                                                               llvm::StringRef measured_on) {
  CODL_ASSIGN_OR_RETURN(document, JsonDocument::parse(json, path));
  const JsonValue root = document->root();
  const JsonValue found = root.member("plan_device");
  if (!profile.covers(found.as_string()))
    found.expected("device \"" + profile.name + "\", or one that its profile has as a base");
  expect_machine(root, profile, measured_on);
  std::vector<MeasuredSteps> measured;
  if (!root.has_member("steps") && root.has_member("variants")) {
    root.keys();
    for (const JsonValue& variant : root.member("variants").elements())
      measured.push_back(read_variant(variant));
  } else {
    measured.push_back(read_variant(root));
  }
  if (root.has_member("entry"))
    for (MeasuredSteps& of : measured) of.entry = root.member("entry").as_string();
  if (llvm::Error error = document->finish()) return error;
  return measured;
}

llvm::Expected<const MeasuredSteps*> measured_steps_of(llvm::ArrayRef<MeasuredSteps> measured,
                                                       llvm::StringRef path, llvm::StringRef entry,
                                                       const Variant& variant) {
  for (const MeasuredSteps& of : measured) {
    if (of.variant != variant.name || of.entry != entry) continue;
    if (of.steps.size() != variant.steps.size())
      return input_error(path, "expected {0} steps, as variant {1} of the plan has, found {2}",
                         variant.steps.size(), variant.name, of.steps.size());
    for (size_t id = 0; id < variant.steps.size(); ++id) {
      const Step& step = variant.steps[id];
      const char* kernel = step.kernel != nullptr ? step.kernel->symbol
                                                  : kStepKindNames[static_cast<size_t>(step.kind)];
      if (of.steps[id].node != step.name || of.steps[id].kernel != kernel)
        return input_error(
            path, "expected step {0} of variant {1} to be {2} of \"{3}\", found {4} of \"{5}\"", id,
            variant.name, kernel, step.name, of.steps[id].kernel, of.steps[id].node);
      if (std::abs(of.steps[id].predicted_us - step.predicted_us) >
          kRounding * (step.predicted_us + 1))
        return input_error(
            path,
            "expected the {0:f4} ms that the plan has of step {1} of variant {2}, found "
            "{3:f4}: of another plan of that name",
            step.predicted_us / 1e3, id, variant.name, of.steps[id].predicted_us / 1e3);
    }
    return &of;
  }
  return nullptr;
}

}  // namespace codl::compiler
