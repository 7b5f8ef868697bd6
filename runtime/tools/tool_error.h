// How the tools report that they cannot go on: they throw, main prints one line and exits. The only
// exceptions of the project that cross functions; libcodl knows none.
#pragma once

#include <stdexcept>
#include <string>

#include "codl/codl.h"

namespace codl::tools {

enum class ExitCode {
  Ok = 0,
  Input = 1,         // a flag, file or tensor is wrong
  Unsupported = 2,   // valid, but not for this build or machine
  Internal = 70,     // no memory, a failing device, a bug
  Interrupted = 130  // by SIGINT, as shells say it: 128 and the signal's number
};

struct ToolError : std::runtime_error {
  ToolError(ExitCode exit_code, const std::string& message)
      : std::runtime_error(message), code(exit_code) {}
  ExitCode code;
};

// "where: expected X, found Y".
[[noreturn]] inline void fail_input(const std::string& where, const std::string& expected,
                                    const std::string& found) {
  throw ToolError(ExitCode::Input, where + ": expected " + expected + ", found " + found);
}

// What a status of libcodl means to the caller of a tool.
ExitCode exit_code_of(codl_status_t status);

}  // namespace codl::tools
