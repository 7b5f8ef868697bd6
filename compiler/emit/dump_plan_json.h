// JSON of a plan; the keys are in docs/PLAN_FORMAT.md.
#pragma once

#include <string>

#include "schema/plan_fields.h"
#include "schema/plan_layout.h"

namespace codl::compiler {

// One line. The plan has been verified.
std::string plan_as_json(const plan::PlanDef& plan, const PlanHead& head);

}  // namespace codl::compiler
