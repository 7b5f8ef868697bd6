// Weights that an ONNX model keeps in other files of its folder.
#pragma once

#include <memory>
#include <string>

#include "compiler/support/shared_bytes.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

namespace codl::compiler {

// Each file is mapped once, when something in it is first asked for.
class ExternalData {
 public:
  // Of the model at `model_path`.
  explicit ExternalData(llvm::StringRef model_path);

  // `bytes` bytes from `offset` on of the file `location`, a path relative to the model's folder.
  // The result keeps the file mapped; nothing is read of it here. Input error, naming `where`: a
  // path that leaves the folder, by itself or by a link; no such file; a file that is shorter. A
  // model comes from anywhere: it must not make the compiler read other files into a plan.
  llvm::Expected<SharedBytes> read(llvm::StringRef where, llvm::StringRef location, uint64_t offset,
                                   uint64_t bytes);

 private:
  llvm::Expected<std::shared_ptr<llvm::MemoryBuffer>> file(llvm::StringRef where,
                                                           llvm::StringRef location);

  std::string folder_;
  llvm::StringMap<std::shared_ptr<llvm::MemoryBuffer>> files_;  // by location
};

}  // namespace codl::compiler
