// XXH3, the one hash of codl: of models, profiles and plans. Not for adversaries: it tells
// accidents and changes apart.
#pragma once

#include <cstdint>
#include <string>

#include "llvm/ADT/StringRef.h"

namespace codl::compiler {

uint64_t hash_of(llvm::StringRef bytes);

// 16 lower-case hex digits.
std::string to_hex(uint64_t hash);

}  // namespace codl::compiler
