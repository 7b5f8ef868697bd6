// Reads files with tools/files.h and reports the compiler's errors.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include "tools/files.h"

namespace codl::compiler {

// Turns the fault of the file at `path` into an input error.
llvm::Error to_error(llvm::StringRef path, const tools::FileFault& fault);

// Reads the whole file into memory, because it may change meanwhile. Returns an Input
// error if it is no regular file or has more than `max_bytes`.
llvm::Expected<std::string> read_input(llvm::StringRef path, uint64_t max_bytes);

// The same, but a large file is mapped: nobody may make it shorter meanwhile (SIGBUS).
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> map_input(llvm::StringRef path,
                                                              uint64_t max_bytes);

// Maps a plan file as map_input() does. There is no limit, because a file with holes has a long
// size without bytes. Returns an Input error if its size is not the one in its head.
// Whoever opens the plan finds other faults.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> map_plan(llvm::StringRef path);

}  // namespace codl::compiler
