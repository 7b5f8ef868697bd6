// Holds activations in OpenCL C: a macro ACTIVATE_<number>(v, alpha, beta) for each.
#pragma once

namespace codl::kernels {

inline constexpr char kActivationTexts[] =
#define CODL_ACTIVATION(Name, number, parameters, use, formula, vector, cpu_cost, cl_cost, cl) \
  "#define ACTIVATE_" #number "(v, alpha, beta) " #cl "\n"
#include "schema/activations.def"
    ;

}  // namespace codl::kernels
