#include "compiler/support/error.h"

#include "llvm/Support/raw_ostream.h"
#include "tools/printable.h"

namespace codl::compiler {

char CompileError::ID;

namespace {
int exit_code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Input:
      return 1;
    case ErrorKind::Unsupported:
      return 2;
    case ErrorKind::Limit:
      return 3;
    case ErrorKind::Internal:
    case ErrorKind::Memory:
      return 70;  // EX_SOFTWARE of sysexits.h
  }
  return 70;
}
}  // namespace

int report_error(llvm::Error error, llvm::raw_ostream& os) {
  int exit_code = 0;
  auto report = [&](const llvm::ErrorInfoBase& info, int code) {
    os << tools::printable(info.message()) << '\n';
    // If there are several errors, the first decides.
    if (exit_code == 0) exit_code = code;
  };
  llvm::handleAllErrors(
      std::move(error),
      [&](const CompileError& compile_error) {
        report(compile_error, exit_code_of(compile_error.kind()));
      },
      [&](const llvm::ErrorInfoBase& other) { report(other, exit_code_of(ErrorKind::Internal)); });
  return exit_code;
}

}  // namespace codl::compiler
