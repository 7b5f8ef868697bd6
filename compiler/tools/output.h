// Shares code between codlc, codl-dump and codl-sim: how they print and how they end.
#pragma once

#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/support/error.h"
#include "compiler/support/version.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"
#include "schema/plan_layout.h"
#include "tools/messages.h"

namespace codl::compiler {

// Prints one line of `tool` on stderr per error and returns the exit code.
inline int report(const char* tool, llvm::Error error) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const int code = report_error(std::move(error), os);
  std::istringstream lines(os.str());
  for (std::string line; std::getline(lines, line);)
    tools::print_message(tool, tools::Severity::Error, line);
  return code;
}

// Runs a tool's main. LLVM's containers, built without exceptions, would abort when memory runs
// out.
inline int run_compiler_tool(const char* tool, int argc, char** argv,
                             int (*body)(const std::vector<std::string>& arguments)) {
  llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { throw std::bad_alloc(); });
  return tools::run_tool(tool, argc, argv, body);
}

// Returns "0.1.0 (plan format 3)", for --version.
inline std::string compiler_version() {
  return std::string(codlc_version()) + " (plan format " + std::to_string(kPlanVersion) + ")";
}

}  // namespace codl::compiler
