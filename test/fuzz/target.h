// The functions of every fuzz target: one runs bytes, others mutate them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

// Runs the target. Ends the process if something is wrong; refusing bytes is right.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace codl::test {

// Mutates the target's input: returns bytes that keep the structure of `bytes`, at most `max_bytes`
// long, or an empty string if that is impossible. The same arguments give the same mutant.
std::string mutate(const std::string& bytes, uint32_t seed, size_t max_bytes);

// Joins parts of both inputs; returns an empty string if that is impossible.
std::string splice(const std::string& first, const std::string& second, uint32_t seed,
                   size_t max_bytes);

// Prints the text and aborts. The target calls it if something is wrong.
[[noreturn]] void fail(const std::string& text);

}  // namespace codl::test
