#include "profiler/measure/plan_steps.h"

#include <set>

#include "kernels/kernel_table.h"
#include "runtime/src/mapped_file.h"
#include "schema/plan_fields.h"
#include "schema/verify_plan.h"
#include "tools/files.h"
#include "tools/tool_error.h"

namespace codl::profiler {
namespace {

StepCase case_of(const kernels::StepShape& step) {
  StepCase item;
  item.op = step.kernel->op;
  item.params.resize(op_info(item.op).params_bytes / 4);
  std::memcpy(item.params.data(), step.params, item.params.size() * 4);
  item.operands.assign(step.operands, step.operands + step.operand_count);
  item.part_dim = step.part_dim;
  item.part = step.part;
  return item;
}

}  // namespace

std::vector<Sample> steps_of_plan(const std::string& path) {
  tools::note_input(path);
  rt::MappedFile file;
  codl_diag_t diag = {};
  if (file.open(path.c_str(), &diag) != CODL_OK)
    throw tools::ToolError(tools::ExitCode::Input, diag.message);
  const plan::PlanDef* plan = nullptr;
  const PlanFault fault = verify_plan(file.bytes(), file.size_bytes(), VerifyLevel::Structure,
                                      kernels::check_step, &plan);
  if (!fault.ok()) tools::fail_input(path + ": " + fault.where, fault.expected, "something else");

  std::vector<Sample> steps;
  std::set<std::string> seen;
  const auto add_steps_of = [&](const plan::VariantDef* variant) {
    for (const plan::StepDef* step : *variant->steps()) {
      if (kind_of(*step) != StepKind::Kernel) continue;
      kernels::OperandShape shapes[kernels::kMaxOperands];
      Sample sample;
      const kernels::StepShape shape = step_shape_of(*variant, *step, shapes);
      if (shape.is_in_place) continue;  // there is nothing to time
      sample.kernel = shape.kernel;
      sample.item = case_of(shape);
      sample.role = SampleRole::Network;
      if (seen.insert(step_text(sample)).second) steps.push_back(std::move(sample));
    }
  };
  for (const plan::EntryDef* entry : *plan->entries())
    for (const plan::VariantDef* variant : *entry->variants()) add_steps_of(variant);
  return steps;
}

}  // namespace codl::profiler
