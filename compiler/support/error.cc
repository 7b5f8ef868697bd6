#include "compiler/support/error.h"

#include "llvm/Support/raw_ostream.h"
#include "tools/printable.h"

namespace codl::compiler {

char CompileError::ID;

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
        report(compile_error, static_cast<int>(compile_error.kind()));
      },
      [&](const llvm::ErrorInfoBase& other) {
        report(other, static_cast<int>(ExitCode::Internal));
      });
  return exit_code;
}

}  // namespace codl::compiler
