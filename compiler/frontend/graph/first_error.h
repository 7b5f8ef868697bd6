// Keeps the first error of several calls that go on after it.
#pragma once

#include <string>
#include <utility>

#include "compiler/support/error.h"

namespace codl::compiler {

class FirstError {
 public:
  // Keeps the error if there is one and no earlier one is kept.
  void keep(llvm::Error error) {
    llvm::handleAllErrors(
        std::move(error),
        [&](const CompileError& found) { keep(found.kind(), found.text().str()); },
        [&](const llvm::ErrorInfoBase& found) { keep(ExitCode::Internal, found.message()); });
  }

  // Returns the error with `where` in place of its own position.
  llvm::Error take(llvm::StringRef where) const {
    return is_kept_ ? make_error(kind_, where, text_) : llvm::Error::success();
  }

  explicit operator bool() const { return is_kept_; }

 private:
  void keep(ExitCode kind, std::string text) {
    if (std::exchange(is_kept_, true)) return;
    kind_ = kind;
    text_ = std::move(text);
  }

  std::string text_;
  ExitCode kind_ = ExitCode::Internal;
  bool is_kept_ = false;
};

}  // namespace codl::compiler
