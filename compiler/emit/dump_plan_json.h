// Prints a plan as JSON; the keys are in docs/reference/plan_format.md.
#pragma once

#include <string>

#include "schema/plan_layout.h"
#include "schema/plan_model.h"

namespace codl::compiler {

// Returns one line.
std::string plan_as_json(const PlanModel& plan, const PlanHead& head);

}  // namespace codl::compiler
