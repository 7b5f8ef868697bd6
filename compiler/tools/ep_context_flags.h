// Declares what --ep-context and --ep-context-embed of codlc ask for.
#pragma once

#include <optional>
#include <string>

#include "compiler/tools/codlc_flags.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

// Returns the plan's path from the folder of the model that --ep-context writes, "" if the model
// contains the plan; none without the flag.
llvm::Expected<std::optional<std::string>> ep_context_plan_of(const CodlcFlags& flags,
                                                              bool builds_plan);

}  // namespace codl::compiler
