// What every fuzz target has: a function of bytes, and what mutates them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

// Of the target. Ends the process where something is wrong; bytes that are refused are right.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace codl::test {

// Of the target: a mutant that keeps the structure of `bytes`, at most `max_bytes` long, or an
// empty string where there is none. The same arguments give the same mutant.
std::string mutate(const std::string& bytes, uint32_t seed, size_t max_bytes);

// Of the target: what has parts of both, or an empty string where there is nothing like it.
std::string splice(const std::string& first, const std::string& second, uint32_t seed,
                   size_t max_bytes);

// Prints the text and aborts: what the target calls where something is wrong.
[[noreturn]] void fail(const std::string& text);

}  // namespace codl::test
