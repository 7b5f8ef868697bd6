// Wraps tools::ToolError in an llvm::Error. Messages have the form `where: expected X, found Y`.
#pragma once

#include <string>
#include <system_error>
#include <utility>

#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"
#include "tools/tool_error.h"

namespace codl::compiler {

using tools::ExitCode;

class CompileError : public llvm::ErrorInfo<CompileError> {
 public:
  static char ID;
  explicit CompileError(tools::ToolError error) : error_(std::move(error)) {}

  void log(llvm::raw_ostream& os) const override { os << error_.what(); }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }
  ExitCode kind() const { return error_.code; }
  llvm::StringRef where() const { return error_.where; }
  llvm::StringRef text() const { return error_.text; }  // the message without `where`

 private:
  tools::ToolError error_;
};

inline llvm::Error make_error(ExitCode kind, llvm::StringRef where, std::string message) {
  return llvm::make_error<CompileError>(tools::ToolError(kind, where.str(), std::move(message)));
}

// Example: input_error("conv1", "expected rank 4, found {0}", rank).
template <typename... Args>
llvm::Error input_error(llvm::StringRef where, const char* format, Args&&... args) {
  return make_error(ExitCode::Input, where,
                    llvm::formatv(format, std::forward<Args>(args)...).str());
}
template <typename... Args>
llvm::Error unsupported_error(llvm::StringRef where, const char* format, Args&&... args) {
  return make_error(ExitCode::Unsupported, where,
                    llvm::formatv(format, std::forward<Args>(args)...).str());
}
template <typename... Args>
llvm::Error internal_error(llvm::StringRef where, const char* format, Args&&... args) {
  return make_error(ExitCode::Internal, where,
                    llvm::formatv(format, std::forward<Args>(args)...).str());
}

// Makes the error of a stage that met std::bad_alloc.
inline llvm::Error memory_error(llvm::StringRef where) {
  return make_error(ExitCode::Internal, where, "expected enough memory, found none left");
}

// Consumes the error and returns the exit code for the tool. Writes one line per error to `os`,
// whatever the names in it hold.
int report_error(llvm::Error error, llvm::raw_ostream& os);

}  // namespace codl::compiler

#define CODL_CONCAT_(a, b) a##b
#define CODL_CONCAT(a, b) CODL_CONCAT_(a, b)
#define CODL_ASSIGN_OR_RETURN_(tmp, lhs, expr) \
  auto tmp = (expr);                           \
  if (!tmp) return tmp.takeError();            \
  auto lhs = std::move(*tmp)
// CODL_ASSIGN_OR_RETURN(name, expr): name = *expr, or return its error. This is the compiler's one
// error macro.
#define CODL_ASSIGN_OR_RETURN(lhs, expr) \
  CODL_ASSIGN_OR_RETURN_(CODL_CONCAT(codl_expected_, __LINE__), lhs, expr)
