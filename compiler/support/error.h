// The compiler's one error class. Message form: `where: expected X, found Y`.
#pragma once

#include <string>
#include <system_error>
#include <utility>

#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"

namespace codl::compiler {

// Tells who must act:
//   Input        the user (model, profile, flag); exit code 1
//   Unsupported  us, later (names op, opset, attribute); exit code 2
//   Limit        the user, because a requested limit cannot be met; exit code 3
//   Internal     us, because a checker found our own output wrong; exit code 70
//   Memory       the user, because there is not enough of it; exit code 70
enum class ErrorKind { Input, Unsupported, Limit, Internal, Memory };

class CompileError : public llvm::ErrorInfo<CompileError> {
 public:
  static char ID;
  CompileError(ErrorKind kind, std::string where, std::string message)
      : kind_(kind), where_(std::move(where)), message_(std::move(message)) {}

  void log(llvm::raw_ostream& os) const override { os << where_ << ": " << message_; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }
  ErrorKind kind() const { return kind_; }
  llvm::StringRef where() const { return where_; }
  llvm::StringRef text() const { return message_; }  // the message without `where`

 private:
  ErrorKind kind_;
  std::string where_;
  std::string message_;
};

inline llvm::Error make_error(ErrorKind kind, llvm::StringRef where, std::string message) {
  return llvm::make_error<CompileError>(kind, where.str(), std::move(message));
}

// Example: input_error("conv1", "expected rank 4, found {0}", rank).
template <typename... Args>
llvm::Error input_error(llvm::StringRef where, const char* format, Args&&... args) {
  return make_error(ErrorKind::Input, where,
                    llvm::formatv(format, std::forward<Args>(args)...).str());
}
template <typename... Args>
llvm::Error unsupported_error(llvm::StringRef where, const char* format, Args&&... args) {
  return make_error(ErrorKind::Unsupported, where,
                    llvm::formatv(format, std::forward<Args>(args)...).str());
}
template <typename... Args>
llvm::Error internal_error(llvm::StringRef where, const char* format, Args&&... args) {
  return make_error(ErrorKind::Internal, where,
                    llvm::formatv(format, std::forward<Args>(args)...).str());
}

// Makes the error of a stage that met std::bad_alloc.
inline llvm::Error memory_error(llvm::StringRef where) {
  return make_error(ErrorKind::Memory, where, "expected enough memory, found none left");
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
