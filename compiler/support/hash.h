// Computes XXH3, codl's one hash, for models, profiles and plans. It detects accidents and changes,
// not adversaries.
#pragma once

#include <cstdint>
#include <string>

#include "llvm/ADT/StringRef.h"

namespace codl::compiler {

uint64_t hash_of(llvm::StringRef bytes);

// Returns 16 lower-case hex digits.
std::string to_hex(uint64_t hash);

}  // namespace codl::compiler
