// The members in schema/activations.def of the family Unary may follow the arithmetic of a
// convolution, matrix product, binary operator or norm as its activation.
#pragma once

#include "schema/tables.h"

namespace codl::kernels {

// Says how networks have an activation.
enum class ActivationUse { Rare, Alone, Fused, Both };

struct ActivationFacts {
  int32_t kind;
  int32_t parameter_count;
  ActivationUse use;
};

inline constexpr ActivationFacts kActivations[] = {
#define CODL_ACTIVATION(Name, number, parameters, use, formula, vector, cpu_cost, cl_cost, cl) \
  {number, parameters, ActivationUse::use},
#include "schema/activations.def"
};

// Returns whether the member is from f32 to f32: the F32 kernels of Unary compute these.
constexpr bool is_activation(int32_t kind) {
  switch (kind) {
#define CODL_ACTIVATION(Name, number, parameters, use, formula, vector, cpu_cost, cl_cost, cl) \
  case number:
#include "schema/activations.def"
    return true;
    default:
      return false;
  }
}

// Returns 0 for what is no activation.
constexpr int32_t activation_parameters(int32_t kind) {
  for (const ActivationFacts& activation : kActivations)
    if (activation.kind == kind) return activation.parameter_count;
  return 0;
}

}  // namespace codl::kernels
