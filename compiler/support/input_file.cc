#include "compiler/support/input_file.h"

#include <algorithm>
#include <new>
#include <system_error>

#include "compiler/support/error.h"
#include "llvm/Support/FileSystem.h"
#include "schema/plan_layout.h"
#include "schema/verify_plan.h"

namespace codl::compiler {
namespace {

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> map(llvm::StringRef path,
                                                        const tools::InputFile& file) {
  auto buffer = llvm::MemoryBuffer::getOpenFile(file.descriptor(), path, file.bytes(),
                                                /*RequiresNullTerminator=*/false);
  if (buffer) return std::move(*buffer);
  if (buffer.getError() == std::errc::not_enough_memory) throw std::bad_alloc();
  return input_error(path, "expected a file that can be read, found {0}",
                     buffer.getError().message());
}

}  // namespace

llvm::Error to_error(llvm::StringRef path, const tools::FileFault& fault) {
  if (fault.ok()) return llvm::Error::success();
  return input_error(path, "expected {0}, found {1}", fault.expected, fault.found);
}

llvm::Expected<std::string> read_input(llvm::StringRef path, uint64_t max_bytes) {
  tools::InputFile file;
  if (llvm::Error error = to_error(path, file.open(path.str(), max_bytes))) return error;
  std::string contents;
  if (llvm::Error error = to_error(path, file.read(0, file.bytes(), &contents))) return error;
  return contents;
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> map_input(llvm::StringRef path,
                                                              uint64_t max_bytes) {
  tools::InputFile file;
  if (llvm::Error error = to_error(path, file.open(path.str(), max_bytes))) return error;
  return map(path, file);
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> map_plan(llvm::StringRef path) {
  tools::InputFile file;
  if (llvm::Error error = to_error(path, file.open(path.str(), UINT64_MAX))) return error;
  std::string begin;
  const uint64_t head_bytes = std::min<uint64_t>(file.bytes(), sizeof(PlanHead));
  if (llvm::Error error = to_error(path, file.read(0, head_bytes, &begin))) return error;
  char fault[128];
  if (!may_be_plan(begin, file.bytes(), fault)) return input_error(path, "{0}", fault);
  return map(path, file);
}

}  // namespace codl::compiler
