#include "compiler/compress/search_log.h"

#include <cstdio>

#include "compiler/support/error.h"
#include "compiler/support/hash.h"
#include "compiler/support/input_file.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

namespace codl::compiler {
namespace {

constexpr uint64_t kMaxLogBytes = uint64_t{1} << 26;

llvm::Error append(const std::string& path, llvm::StringRef text) {
  std::error_code error;
  llvm::raw_fd_ostream os(path, error, llvm::sys::fs::OF_Append);
  if (!error) {
    os << text;
    os.close();
    error = os.error();
    os.clear_error();
  }
  if (error)
    return input_error(path, "expected a file that can be written, found {0}", error.message());
  return llvm::Error::success();
}

}  // namespace

llvm::Expected<SearchLog> SearchLog::open(const std::string& path, uint64_t key) {
  SearchLog log;
  log.path_ = path;
  if (path.empty()) return log;
  const std::string head = "codlc search of " + to_hex(key) + "\n";
  if (!llvm::sys::fs::exists(path)) {
    if (llvm::Error error = append(path, head)) return error;
    return log;
  }
  CODL_ASSIGN_OR_RETURN(text, read_input(path, kMaxLogBytes));
  llvm::StringRef rest = text;
  if (!rest.consume_front(head))
    return input_error(path,
                       "expected the log of a search with this network, device, calibration data "
                       "and flags, found {0}",
                       rest.startswith("codlc search of ") ? "one of another" : "another file");
  // A line that was cut off has no end. Without it the next one would be added to it.
  const size_t whole = rest.rfind('\n') + 1;  // 0 where there is none
  if (whole != rest.size()) {
    std::error_code error;
    llvm::raw_fd_ostream os(path, error);
    if (error)
      return input_error(path, "expected a file that can be written, found {0}", error.message());
    os << head << rest.take_front(whole);
  }
  llvm::SmallVector<llvm::StringRef, 0> lines;
  rest.take_front(whole).split(lines, '\n', -1, false);
  for (llvm::StringRef line : lines) {
    const auto [question, number] = line.split('\t');
    double value = 0;
    if (number.getAsDouble(value))
      return input_error(path, "expected lines QUESTION, tab, NUMBER, found \"{0}\"", line);
    log.numbers_[question.str()] = value;
  }
  return log;
}

llvm::Expected<double> SearchLog::number(const std::string& question,
                                         llvm::function_ref<llvm::Expected<double>()> work) {
  const auto found = numbers_.find(question);
  if (found != numbers_.end()) return found->second;
  CODL_ASSIGN_OR_RETURN(value, work());
  numbers_[question] = value;
  if (path_.empty()) return value;
  // As many digits as bring the same double back.
  char digits[40];
  std::snprintf(digits, sizeof(digits), "%.17g", value);
  if (llvm::Error error = append(path_, question + "\t" + digits + "\n")) return error;
  return value;
}

}  // namespace codl::compiler
