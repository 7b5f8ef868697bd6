// Keeps the numbers that a search has measured in a file, so that an interrupted search can
// continue.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "tools/files.h"

namespace codl::compiler {

// Writes a line of text per number as soon as it is known. A search asks the same questions in the
// same order every time, so the answers of the file replace the work that they took.
class SearchLog {
 public:
  // If `path` is empty, numbers are kept only in memory. `key` stands for everything that the
  // numbers depend on. The file's whole lines stay there, whatever fails. Returns an Input error
  // for a file of another key, one that is no such log, or a path that cannot be written.
  static llvm::Expected<SearchLog> open(const std::string& path, uint64_t key);

  // Returns the number that is known for `question` (text without tabs and line ends), or that
  // `work` finds. Returns the errors of `work`, and an Input error where the file cannot be
  // written. Only finite numbers are kept.
  llvm::Expected<double> number(const std::string& question,
                                llvm::function_ref<llvm::Expected<double>()> work);

 private:
  llvm::Error append(const std::string& text);

  std::string path_;
  std::unique_ptr<tools::LogFile> file_;  // null: kept in memory only
  std::map<std::string, double> numbers_;
};

}  // namespace codl::compiler
