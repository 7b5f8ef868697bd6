// Includes Highway's foreach_target.h with our targets: x86-64 AVX3 (AVX-512), AVX2 and scalar;
// NEON alone on aarch64. Each target costs its share of libcodl's size; these three cover what is
// in use.
//
// A kernel file includes it as kernels/README.md shows, before hwy/highway.h.
#pragma once

// A build may leave out more (kernels/CMakeLists.txt).
#ifndef CODL_DISABLED_TARGETS
#define CODL_DISABLED_TARGETS 0
#endif
#define HWY_DISABLED_TARGETS                                                              \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | \
   CODL_DISABLED_TARGETS)
// The baseline of x86-64 is HWY_SCALAR with every compiler; GCC before 12.3 miscompiles HWY_EMU128.
#define HWY_BROKEN_EMU128 1

// Highway's debug assertions call hwy::Abort, which is in libhwy.
#define HWY_IS_DEBUG_BUILD 0

#include "hwy/foreach_target.h"

// The function of the target every processor has.
#if HWY_ARCH_X86
#define HWY_CHOOSE_BASELINE(function) HWY_CHOOSE_FALLBACK(function)
#else
#define HWY_CHOOSE_BASELINE(function) &HWY_STATIC_DISPATCH(function)
#endif
