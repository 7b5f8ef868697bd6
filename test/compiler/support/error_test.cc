#include "compiler/support/error.h"

#include "llvm/Support/raw_ostream.h"
#include "test/support/catch.h"

namespace codl::compiler {
namespace {

struct Report {
  int exit_code;
  std::string text;
};

Report report(llvm::Error error) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const int exit_code = report_error(std::move(error), os);
  return {exit_code, os.str()};
}

}  // namespace

TEST_CASE("the kind of an error is the exit code, its message one line") {
  const Report input = report(input_error("conv1", "expected rank {0}, found {1}", 4, 3));
  CHECK(input.exit_code == 1);
  CHECK(input.text == "conv1: expected rank 4, found 3\n");
  CHECK(report(unsupported_error("a", "b")).exit_code == 2);
  CHECK(report(make_error(ExitCode::Limit, "a", "b")).exit_code == 3);
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

TEST_CASE("a name with line breaks does not break the line") {
  CHECK(report(input_error("two\nlines\x01", "x")).text == "two\\u000alines\\u0001: x\n");
}

}  // namespace codl::compiler
