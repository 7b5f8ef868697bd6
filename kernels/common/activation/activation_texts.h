// Activations in OpenCL C: a macro ACTIVATE_<number>(v, alpha, beta) for each.
#pragma once

#include <cstddef>

namespace codl::kernels {

inline constexpr char kActivationTexts[] =
#define CODL_ACTIVATION(Name, number, parameters, use, formula, vector, cpu_cost, cl_cost, cl) \
  "#define ACTIVATE_" #number "(v, alpha, beta) " #cl "\n"
#include "schema/activations.def"
    ;

template <size_t kBytes>
struct ClBytes {
  char bytes[kBytes];
};

// A text, zero-terminated; behind it those macros. An aggregate, which is read-only data.
template <size_t kTextBytes>
constexpr auto with_activations(const char (&text)[kTextBytes]) {
  ClBytes<kTextBytes + sizeof(kActivationTexts) - 1> joined = {};
  size_t count = 0;
  for (; text[count] != 0; ++count) joined.bytes[count] = text[count];
  for (char letter : kActivationTexts) joined.bytes[count++] = letter;
  return joined;
}

}  // namespace codl::kernels
