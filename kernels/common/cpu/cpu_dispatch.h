// The instruction sets that a CPU kernel is compiled for, and the choice between them.
//
// This uses Highway without its library: Highway's own choice (hwy::GetChosenTarget, HWY_EXPORT)
// lives in libhwy, and the runtime links nothing but libc. So a kernel file ends with
// CODL_CPU_KERNEL, which makes a constant table with one function per instruction set, and
// kernel_table_cpu.cc picks a column.
#pragma once

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "kernels/common/contract/contract.h"

namespace codl::kernels {

// The best is last. Every processor of the architecture has Baseline: NEON on aarch64, scalar code
// on x86-64 (Highway 1.0.3 has no SSE2 target). Avx3 is AVX-512 F, BW, CD, DQ and VL, and Avx3Vnni
// that with VNNI, dot products of four bytes. NeonHalf is NEON with ARMv8.2's half arithmetic, and
// NeonDot that with its dot products.
enum class CpuTarget : uint8_t {
  Baseline = 0,
  Avx2 = 1,
  Avx3 = 2,
  Avx3Vnni = 3,
  NeonHalf = 4,
  NeonDot = 5
};
inline constexpr CpuTarget kCpuTargets[] = {CpuTarget::Baseline, CpuTarget::Avx2,
                                            CpuTarget::Avx3,     CpuTarget::Avx3Vnni,
                                            CpuTarget::NeonHalf, CpuTarget::NeonDot};

// Holds one CPU kernel of kernels.def. A function is null if the architecture lacks the target, or
// the kernel has nothing of its own for it; Baseline never is.
struct CpuKernelTargets {
  CpuKernel baseline;
  CpuKernel avx2;
  CpuKernel avx3;
  CpuKernel avx3_vnni;
  CpuKernel neon_half;
  CpuKernel neon_dot;

  constexpr CpuKernel of(CpuTarget target) const {
    switch (target) {
      case CpuTarget::Baseline:
        return baseline;
      case CpuTarget::Avx2:
        return avx2;
      case CpuTarget::Avx3:
        return avx3;
      case CpuTarget::Avx3Vnni:
        return avx3_vnni;
      case CpuTarget::NeonHalf:
        return neon_half;
      case CpuTarget::NeonDot:
        return neon_dot;
    }
    __builtin_unreachable();
  }
};

constexpr const char* cpu_target_name(CpuTarget target) {
#if defined(__x86_64__)
  return target == CpuTarget::Avx3Vnni ? "avx3 with vnni"
         : target == CpuTarget::Avx3   ? "avx3"
         : target == CpuTarget::Avx2   ? "avx2"
                                       : "scalar";
#else
  return target == CpuTarget::NeonDot    ? "neon with fp16 and dot products"
         : target == CpuTarget::NeonHalf ? "neon with fp16"
         : target == CpuTarget::Baseline ? "neon"
                                         : "none";
#endif
}

// Floats in a vector of the target's kernels; scalar code has one, and exists only to be correct.
constexpr int32_t cpu_vector_lanes(CpuTarget target) {
  return target == CpuTarget::Avx3 || target == CpuTarget::Avx3Vnni ? 16
         : target == CpuTarget::Avx2                                ? 8
                                                                    : 4;
}

// True if this processor, and the operating system's saving of registers, can run the target.
inline bool cpu_has(CpuTarget target) {
  if (target == CpuTarget::Baseline) return true;
#if defined(__x86_64__)
  __builtin_cpu_init();
  // The list is Highway's: what ops/x86_256-inl.h and ops/x86_512-inl.h may use. F16C, which GCC 12
  // cannot ask for, is in every processor with AVX2.
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                        __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("aes");
  if (target > CpuTarget::Avx3Vnni) return false;
  if (target == CpuTarget::Avx2) return has_avx2;
  if (target == CpuTarget::Avx3Vnni && !__builtin_cpu_supports("avx512vnni")) return false;
  return has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
#elif defined(__aarch64__)
  // Scalar and vector arithmetic come together. The bits are HWCAP_FPHP, HWCAP_ASIMDHP and
  // HWCAP_ASIMDDP of Linux.
  constexpr unsigned long kHalves = 1ul << 9 | 1ul << 10;
  constexpr unsigned long kDots = kHalves | 1ul << 20;
  const unsigned long needed = target == CpuTarget::NeonHalf  ? kHalves
                               : target == CpuTarget::NeonDot ? kDots
                                                              : 0;
  return needed != 0 && (getauxval(AT_HWCAP) & needed) == needed;
#else
  return false;
#endif
}

// The best target this processor has.
inline CpuTarget best_cpu_target() {
  CpuTarget best = CpuTarget::Baseline;
  for (const CpuTarget target : kCpuTargets)
    if (cpu_has(target)) best = target;
  return best;
}

// Returns the best function up to the target.
constexpr CpuKernel kernel_for(const CpuKernelTargets& kernel, CpuTarget target) {
  CpuKernel best = kernel.baseline;
  for (const CpuTarget other : kCpuTargets)
    if (other <= target && kernel.of(other) != nullptr) best = kernel.of(other);
  return best;
}

}  // namespace codl::kernels

// In namespace codl::kernels at the end of a Highway kernel file, under #if HWY_ONCE: gives the
// kernel `symbol` the function, which is defined once per target in namespace HWY_NAMESPACE.
#define CODL_CPU_KERNEL(symbol, function)                         \
  extern const CpuKernelTargets symbol;                           \
  const CpuKernelTargets symbol = {HWY_CHOOSE_BASELINE(function), \
                                   HWY_CHOOSE_AVX2(function),     \
                                   HWY_CHOOSE_AVX3(function),     \
                                   nullptr,                       \
                                   nullptr,                       \
                                   nullptr}

// Does the same for a kernel that has a function of its own where the processor computes with
// halves.
#if defined(__aarch64__)
#define CODL_CPU_KERNEL_HALVES(symbol, function, half_function)                                   \
  extern const CpuKernelTargets symbol;                                                           \
  const CpuKernelTargets symbol = {HWY_CHOOSE_BASELINE(function),      nullptr, nullptr, nullptr, \
                                   HWY_CHOOSE_BASELINE(half_function), nullptr}
#else
#define CODL_CPU_KERNEL_HALVES(symbol, function, half_function) CODL_CPU_KERNEL(symbol, function)
#endif

// Does the same for a kernel of 8-bit operands, which has a function of its own where the processor
// has dot products of bytes, and none for AVX-512 without them.
#if defined(__aarch64__)
#define CODL_CPU_KERNEL_DOTS(symbol, function, dot_function)                \
  extern const CpuKernelTargets symbol;                                     \
  const CpuKernelTargets symbol = {                                         \
      HWY_CHOOSE_BASELINE(function),    nullptr, nullptr, nullptr, nullptr, \
      HWY_CHOOSE_BASELINE(dot_function)}
#else
#define CODL_CPU_KERNEL_DOTS(symbol, function, dot_function)      \
  extern const CpuKernelTargets symbol;                           \
  const CpuKernelTargets symbol = {HWY_CHOOSE_BASELINE(function), \
                                   HWY_CHOOSE_AVX2(function),     \
                                   nullptr,                       \
                                   HWY_CHOOSE_AVX3(dot_function), \
                                   nullptr,                       \
                                   nullptr}
#endif

// Does the same for a kernel of plain C++, compiled once.
#define CODL_CPU_KERNEL_PLAIN(symbol, function) \
  extern const CpuKernelTargets symbol;         \
  const CpuKernelTargets symbol = {&function, nullptr, nullptr, nullptr, nullptr, nullptr}
