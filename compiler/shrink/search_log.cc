#include "compiler/shrink/search_log.h"

#include <cmath>
#include <cstdio>

#include "compiler/support/error.h"
#include "compiler/support/hash.h"
#include "compiler/support/input_file.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "tools/tool_error.h"

namespace codl::compiler {
namespace {

constexpr uint64_t kMaxLogBytes = uint64_t{1} << 26;

// Returns what `work` throws as an error.
llvm::Error without_exceptions(llvm::function_ref<void()> work) {
  try {
    work();
  } catch (const tools::ToolError& error) {
    return llvm::make_error<CompileError>(error);
  }
  return llvm::Error::success();
}

}  // namespace

llvm::Expected<SearchLog> SearchLog::open(const std::string& path, uint64_t key) {
  SearchLog log;
  log.path_ = path;
  if (path.empty()) return log;
  const std::string head = "codlc search of " + to_hex(key) + "\n";
  // A link that leads nowhere is replaced as other outputs are.
  std::string text = head;
  if (llvm::sys::fs::exists(path)) {
    CODL_ASSIGN_OR_RETURN(found, read_input(path, kMaxLogBytes));
    text = std::move(found);
  }
  llvm::StringRef rest = text;
  if (!rest.consume_front(head))
    return input_error(path,
                       "expected the log of a search with this network, device, calibration data "
                       "and flags, found {0}",
                       rest.startswith("codlc search of ") ? "one of another" : "another file");
  // A line that was cut off has no end, and the next line would be added to it.
  const size_t whole = rest.rfind('\n') + 1;  // 0 where there is none
  rest = rest.take_front(whole);
  llvm::SmallVector<llvm::StringRef, 0> lines;
  rest.split(lines, '\n', -1, false);
  for (llvm::StringRef line : lines) {
    const auto [question, number] = line.split('\t');
    double value = 0;
    if (number.getAsDouble(value) || !std::isfinite(value))
      return input_error(path, "expected lines QUESTION, tab, NUMBER, found \"{0}\"", line);
    log.numbers_[question.str()] = value;
  }
  log.file_ = std::make_unique<tools::LogFile>();
  if (llvm::Error error =
          without_exceptions([&] { log.file_->create(path, head + rest.str(), true); }))
    return error;
  return log;
}

llvm::Expected<double> SearchLog::number(const std::string& question,
                                         llvm::function_ref<llvm::Expected<double>()> work) {
  const auto found = numbers_.find(question);
  if (found != numbers_.end()) return found->second;
  CODL_ASSIGN_OR_RETURN(value, work());
  numbers_[question] = value;
  if (file_ == nullptr || !std::isfinite(value)) return value;
  // This many digits bring the same double back.
  char digits[40];
  std::snprintf(digits, sizeof(digits), "%.17g", value);
  if (llvm::Error error = append(question + "\t" + digits + "\n")) return error;
  return value;
}

llvm::Error SearchLog::append(const std::string& text) {
  return without_exceptions([&] { file_->append(text); });
}

}  // namespace codl::compiler
