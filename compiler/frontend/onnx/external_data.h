// Reads weights that an ONNX model keeps in other files of its folder.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "compiler/support/shared_bytes.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

namespace codl::compiler {

// Maps each file once, when something in it is first asked for.
class ExternalData {
 public:
  // Reads files beside the model at `model_path`.
  explicit ExternalData(llvm::StringRef model_path);

  // Returns `bytes` bytes from `offset` on of the file `location`, a path relative to the model's
  // folder. The result keeps the file mapped; nothing is read here. Returns an Input error, naming
  // `where`, if the path leaves the folder, by itself or by a link; if there is no such file; if
  // the file is shorter; or if ranges overlap so much that their bytes are far more than the
  // file's. A model comes from anywhere: it must not make the compiler copy other files into a
  // plan, or make a plan of gigabytes from one file.
  llvm::Expected<SharedBytes> read(llvm::StringRef where, llvm::StringRef location, uint64_t offset,
                                   uint64_t bytes);

 private:
  struct File {
    std::shared_ptr<llvm::MemoryBuffer> buffer;
    std::set<std::pair<uint64_t, uint64_t>> ranges;  // offset and bytes of each range that was read
    uint64_t range_bytes = 0;
  };
  llvm::Expected<File*> file(llvm::StringRef where, llvm::StringRef location);

  std::string folder_;
  std::map<std::string, File> files_;  // keyed by path without links
};

}  // namespace codl::compiler
