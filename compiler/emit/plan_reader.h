// A plan's tables as plain structs.
#pragma once

#include "schema/plan_generated.h"
#include "schema/plan_model.h"

namespace codl::compiler {

// The plan has been verified.
PlanModel plan_of(const plan::PlanDef& table);

}  // namespace codl::compiler
