#include "compiler/frontend/external_data.h"

#include "compiler/support/error.h"
#include "compiler/support/input_file.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace codl::compiler {
namespace {

// True for a relative path without "..".
bool stays_inside(llvm::StringRef location) {
  if (location.empty() || llvm::sys::path::is_absolute(location)) return false;
  if (location.contains('\0') || location.contains('\\')) return false;
  for (auto part = llvm::sys::path::begin(location); part != llvm::sys::path::end(location); ++part)
    if (*part == "..") return false;
  return true;
}

}  // namespace

ExternalData::ExternalData(llvm::StringRef model_path)
    : folder_(llvm::sys::path::parent_path(model_path)) {
  if (folder_.empty()) folder_ = ".";
}

llvm::Expected<std::shared_ptr<llvm::MemoryBuffer>> ExternalData::file(llvm::StringRef where,
                                                                       llvm::StringRef location) {
  if (!stays_inside(location))
    return input_error(where, "expected external data inside the model's folder, found '{0}'",
                       location);
  const auto known = files_.find(location);
  if (known != files_.end()) return known->second;

  llvm::SmallString<256> path(folder_);
  llvm::sys::path::append(path, location);
  llvm::SmallString<256> real_folder;
  llvm::SmallString<256> real_path;
  if (llvm::sys::fs::real_path(folder_, real_folder) || llvm::sys::fs::real_path(path, real_path))
    return input_error(where, "expected external data in '{0}', found no such file", location);
  if (!real_folder.endswith("/")) real_folder += "/";
  if (!real_path.startswith(real_folder))
    return input_error(where,
                       "expected external data inside the model's folder, found a link '{0}' "
                       "that leaves it",
                       location);
  if (!llvm::sys::fs::is_regular_file(real_path))
    return input_error(where, "expected external data in '{0}', found no regular file", location);
  auto buffer = map_input(real_path, UINT64_MAX);
  if (!buffer)
    return input_error(where, "expected external data in '{0}', found: {1}", location,
                       llvm::toString(buffer.takeError()));
  return files_[location] = std::move(*buffer);
}

llvm::Expected<SharedBytes> ExternalData::read(llvm::StringRef where, llvm::StringRef location,
                                               uint64_t offset, uint64_t bytes) {
  CODL_ASSIGN_OR_RETURN(buffer, file(where, location));
  const uint64_t size = buffer->getBufferSize();
  if (offset > size || bytes > size - offset)
    return input_error(where, "expected {0} bytes from byte {1} on in '{2}', found {3} bytes",
                       bytes, offset, location, size);
  const auto* first = reinterpret_cast<const uint8_t*>(buffer->getBufferStart());
  return SharedBytes({first + offset, bytes}, std::move(buffer));
}

}  // namespace codl::compiler
