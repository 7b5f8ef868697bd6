// What a search has measured, in a file: a search that was cut off goes on where it was.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "tools/files.h"

namespace codl::compiler {

// A line of text per number, written as soon as it is known. A search asks the same questions in
// the same order every time, so the answers of the file replace the work that they took.
class SearchLog {
 public:
  // `path` empty: numbers are kept in memory only. `key`: of everything that the numbers depend on.
  // What the file had of whole lines stays there, whatever fails. Input error: a file of another
  // key, one that is no such log, or a path that cannot be written.
  static llvm::Expected<SearchLog> open(const std::string& path, uint64_t key);

  // The number that is known for `question` (text without tabs and line ends), or that `work`
  // finds. Errors of `work`; Input where the file cannot be written. Only finite numbers are kept.
  llvm::Expected<double> number(const std::string& question,
                                llvm::function_ref<llvm::Expected<double>()> work);

 private:
  llvm::Error append(const std::string& text);

  std::string path_;
  std::unique_ptr<tools::LogFile> file_;  // null: in memory only
  std::map<std::string, double> numbers_;
};

}  // namespace codl::compiler
