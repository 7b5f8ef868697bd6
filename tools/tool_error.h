// Defines the error of all programs on the host: its kind, which is the exit code, and one line.
// The tools throw it and run_tool() prints it; the compiler carries it in llvm::Error
// (compiler/support/error.h).
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace codl::tools {

// The kinds differ by who must act.
enum class ExitCode {
  Ok = 0,
  Input = 1,         // the user: a flag, model, profile, file or tensor is wrong
  Unsupported = 2,   // we, later: it is valid, but not for this build or machine
  Limit = 3,         // the user: a limit that was asked for cannot be met
  Internal = 70,     // no memory, a failing device, a bug (EX_SOFTWARE of sysexits.h)
  Interrupted = 130  // ended by SIGINT; shells report 128 and the signal's number
};

struct ToolError : std::runtime_error {
  ToolError(ExitCode kind, std::string place, std::string message)
      : std::runtime_error(place + ": " + message),
        code(kind),
        where(std::move(place)),
        text(std::move(message)) {}
  // Makes a line that names no place.
  ToolError(ExitCode kind, const std::string& line)
      : std::runtime_error(line), code(kind), text(line) {}

  ExitCode code;
  std::string where;
  std::string text;  // "expected X, found Y"
};

[[noreturn]] inline void fail_input(const std::string& where, const std::string& expected,
                                    const std::string& found) {
  throw ToolError(ExitCode::Input, where, "expected " + expected + ", found " + found);
}

}  // namespace codl::tools
