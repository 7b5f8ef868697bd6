// Names of a plan's enums as dumps write them: those of plan.fbs and types.h in snake_case, e.g.
// "fine_svm", "transfer", "read_write", "nhwc", "output_channel". For verified plans: every value
// is one of its enum's.
#pragma once

#include <string>

#include "schema/plan_generated.h"
#include "schema/types.h"

namespace codl::compiler {

std::string name_of(plan::Storage storage);
std::string name_of(plan::Sharing sharing);
std::string name_of(plan::Gate gate);
std::string name_of(plan::Lane lane);
std::string name_of(plan::StepKind kind);
std::string name_of(plan::MapAccess access);
std::string name_of(DType dtype);
std::string name_of(Layout layout);
std::string name_of(SplitDim dim);

}  // namespace codl::compiler
