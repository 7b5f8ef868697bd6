#include "compiler/cost/calibration.h"

#include <cmath>

namespace codl::compiler {
namespace {

// What the kernels ran on: a CPU by themselves, OpenCL on a processor, a GPU.
enum class Kind { Cpu, Processor, Gpu };

struct FamilyShares {
  Kind kind;
  kernels::KernelFamily family;
  double low;
  double high;
  Shares shares;
};
constexpr FamilyShares kFamilyShares[] = {
#define SHARES(kind, family, low, high, ...) \
  {Kind::kind, kernels::KernelFamily::family, low, high, {{__VA_ARGS__}}},
#include "compiler/cost/family_shares.inc"
#undef SHARES
};

}  // namespace

double weigh(const TermTimes& times, const Shares& shares) {
  double us = 0;
  for (int i = 0; i < kTermCount; ++i) us += times.us[i] * shares.of[i];
  return std::floor(us * 1e3 + 0.5) * 1e-3;
}

Calibration family_calibration(kernels::KernelFamily family, Processor processor,
                               bool is_gpu_a_processor) {
  const Kind kind = processor == Processor::Cpu ? Kind::Cpu
                    : is_gpu_a_processor        ? Kind::Processor
                                                : Kind::Gpu;
  Calibration calibration;
  calibration.source = "what kernels of the family reach on other machines";
  for (const FamilyShares& known : kFamilyShares) {
    if (known.kind != kind || known.family != family) continue;
    calibration.shares = known.shares;
    calibration.interval_low = known.low;
    calibration.interval_high = known.high;
  }
  return calibration;
}

}  // namespace codl::compiler
