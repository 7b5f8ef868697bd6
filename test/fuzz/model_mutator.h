// Changes an ONNX model the way a wrong exporter or an attacker would: by its structure, so that
// most mutants still parse and reach the import rules and the passes.
#pragma once

#include <cstdint>
#include <string>

namespace codl::test {

// A mutant of the serialized model `bytes`, at most `max_bytes` long, or an empty string where
// there is none (the bytes are no model, the mutant is too long). The same arguments give the same
// mutant.
std::string mutate_model(const std::string& bytes, uint32_t seed, size_t max_bytes);

// A model with nodes, initializers and attributes of both, or an empty string.
std::string splice_models(const std::string& first, const std::string& second, uint32_t seed,
                          size_t max_bytes);

}  // namespace codl::test
