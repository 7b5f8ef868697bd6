#include "compiler/support/error.h"

#include "test/support/catch.h"

namespace codl::compiler {
namespace {

struct Report {
  int exit_code;
  std::string text;
};

Report report(llvm::Error error) {
  std::string text;
  const int exit_code =
      report_error(std::move(error), [&](llvm::StringRef line) { text += line.str() + "\n"; });
  return {exit_code, text};
}

}  // namespace

TEST_CASE("the kind of an error is the exit code, its message one line") {
  const Report input = report(input_error("conv1", "expected rank {0}, found {1}", 4, 3));
  CHECK(input.exit_code == 1);
  CHECK(input.text == "conv1: expected rank 4, found 3\n");
  CHECK(report(unsupported_error("a", "b")).exit_code == 2);
  CHECK(report(make_error(ErrorKind::Limit, "a", "b")).exit_code == 3);
  CHECK(report(internal_error("a", "b")).exit_code == 70);
  CHECK(report(llvm::Error::success()).exit_code == 0);
}

TEST_CASE("an error of another library is internal") {
  const Report other = report(llvm::createStringError(llvm::inconvertibleErrorCode(), "odd"));
  CHECK(other.exit_code == 70);
  CHECK(other.text == "odd\n");
}

TEST_CASE("of several errors each is reported and the first decides") {
  const Report both = report(llvm::joinErrors(unsupported_error("a", "b"), input_error("c", "d")));
  CHECK(both.exit_code == 2);
  CHECK(both.text == "a: b\nc: d\n");
}

}  // namespace codl::compiler
