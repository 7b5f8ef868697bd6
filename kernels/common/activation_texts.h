// Activations in OpenCL C: a macro ACTIVATE_<number>(v, alpha, beta) for each.
#pragma once

#include <cstddef>

namespace codl::kernels {

inline constexpr char kActivationTexts[] =
#define CODL_ACTIVATION(Name, number, parameters, use, formula, vector, cpu_cost, cl_cost, cl) \
  "#define ACTIVATE_" #number "(v, alpha, beta) " #cl "\n"
#include "schema/activations.def"
    ;

// A text, zero-terminated; behind it those macros.
template <size_t TextBytes>
struct TextWithActivations {
  char bytes[TextBytes + sizeof(kActivationTexts) - 1] = {};

  constexpr explicit TextWithActivations(const char (&text)[TextBytes]) {
    size_t count = 0;
    for (; text[count] != 0; ++count) bytes[count] = text[count];
    for (char letter : kActivationTexts) bytes[count++] = letter;
  }
};

}  // namespace codl::kernels
