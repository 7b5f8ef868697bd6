// Files that the compiler reads: those of tools/files.h, with the compiler's errors.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include "tools/files.h"

namespace codl::compiler {

// The fault of the file at `path` as an input error.
llvm::Error to_error(llvm::StringRef path, const tools::FileFault& fault);

// All of a file, in memory: it may change meanwhile. Input error if it is no regular file or has
// more than `max_bytes`.
llvm::Expected<std::string> read_input(llvm::StringRef path, uint64_t max_bytes);

// The same, mapped where it is large: nobody may make the file shorter meanwhile (SIGBUS).
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> map_input(llvm::StringRef path,
                                                              uint64_t max_bytes);

// A plan file, mapped as by map_input(): a file with holes says how long it is, and no byte of that
// need be there. Input error if it is not as long as its head says. What else is wrong with it is
// left to who opens the plan.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> map_plan(llvm::StringRef path);

}  // namespace codl::compiler
