// Reads a plan's tables into plain structs.
#pragma once

#include "schema/plan_generated.h"
#include "schema/plan_model.h"

namespace codl::compiler {

// The plan must be verified.
PlanModel plan_of(const plan::PlanDef& table);

}  // namespace codl::compiler
