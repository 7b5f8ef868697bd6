// Reports that a tool cannot go on: it throws, and run_tool() prints one line and exits.
#pragma once

#include <stdexcept>
#include <string>

namespace codl::tools {

enum class ExitCode {
  Ok = 0,
  Input = 1,         // a wrong flag, file or tensor
  Unsupported = 2,   // valid, but not for this build or machine
  Internal = 70,     // no memory, a failing device, a bug
  Interrupted = 130  // ended by SIGINT: 128 plus the signal's number, as in shells
};

struct ToolError : std::runtime_error {
  ToolError(ExitCode exit_code, const std::string& message)
      : std::runtime_error(message), code(exit_code) {}
  ExitCode code;
};

// Throws "where: expected X, found Y".
[[noreturn]] inline void fail_input(const std::string& where, const std::string& expected,
                                    const std::string& found) {
  throw ToolError(ExitCode::Input, where + ": expected " + expected + ", found " + found);
}

}  // namespace codl::tools
