// What codlc, codl-dump and codl-sim have in common: how they print and how they end.
#pragma once

#include "compiler/support/error.h"
#include "compiler/support/version.h"
#include "schema/plan_layout.h"
#include "tools/messages.h"

namespace codl::compiler {

// The exit code; one line of `tool` on stderr per error.
inline int report(const char* tool, llvm::Error error) {
  return report_error(std::move(error), [&](llvm::StringRef line) {
    tools::print_message(tool, tools::Severity::Error, {line.data(), line.size()});
  });
}

// "0.1.0 (plan format 3)", for --version.
inline std::string compiler_version() {
  return std::string(codlc_version()) + " (plan format " + std::to_string(kPlanVersion) + ")";
}

}  // namespace codl::compiler
