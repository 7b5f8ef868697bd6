#include "compiler/support/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "llvm/Support/FormatVariadic.h"

namespace codl::compiler {

uint64_t hash_of(llvm::StringRef bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::string to_hex(uint64_t hash) { return llvm::formatv("{0:x-16}", hash).str(); }

}  // namespace codl::compiler
