#include "compiler/frontend/onnx/external_data.h"

#include "compiler/support/error.h"
#include "compiler/support/input_file.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace codl::compiler {
namespace {

// kMaxUses limits how often a file's bytes are used in different ranges. Exporters write ranges one
// after the other, but a part of a tensor may have a name of its own. Small files may be used
// kMaxSmallBytes beyond that.
constexpr uint64_t kMaxUses = 2;
constexpr uint64_t kMaxSmallBytes = 1 << 20;

// Returns true for a relative path without "..".
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

llvm::Expected<ExternalData::File*> ExternalData::file(llvm::StringRef where,
                                                       llvm::StringRef location) {
  if (!stays_inside(location))
    return input_error(where, "expected external data inside the model's folder, found '{0}'",
                       location);
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
  const auto known = files_.find(real_path.str().str());
  if (known != files_.end()) return &known->second;
  if (!llvm::sys::fs::is_regular_file(real_path))
    return input_error(where, "expected external data in '{0}', found no regular file", location);
  auto buffer = map_input(real_path, UINT64_MAX);
  if (!buffer)
    return input_error(where, "expected external data in '{0}', found: {1}", location,
                       llvm::toString(buffer.takeError()));
  File& file = files_[real_path.str().str()];
  file.buffer = std::move(*buffer);
  return &file;
}

llvm::Expected<SharedBytes> ExternalData::read(llvm::StringRef where, llvm::StringRef location,
                                               uint64_t offset, uint64_t bytes) {
  CODL_ASSIGN_OR_RETURN(file, this->file(where, location));
  const uint64_t size = file->buffer->getBufferSize();
  if (offset > size || bytes > size - offset)
    return input_error(where, "expected {0} bytes from byte {1} on in '{2}', found {3} bytes",
                       bytes, offset, location, size);
  if (file->ranges.emplace(offset, bytes).second) file->range_bytes += bytes;
  const uint64_t max_bytes = kMaxUses * size + kMaxSmallBytes;
  if (file->range_bytes > max_bytes)
    return input_error(
        where,
        "expected different ranges of '{0}' of {1} bytes or less together, {2} times "
        "the file and {3}, found {4}",
        location, max_bytes, kMaxUses, kMaxSmallBytes, file->range_bytes);
  const auto* first = reinterpret_cast<const uint8_t*>(file->buffer->getBufferStart());
  return SharedBytes({first + offset, bytes}, file->buffer);
}

}  // namespace codl::compiler
