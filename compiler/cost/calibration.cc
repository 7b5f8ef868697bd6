#include "compiler/cost/calibration.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace codl::compiler {
namespace {

// Kernels ran on one of these machines: a CPU, OpenCL on a processor, or a GPU.
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

double joint_us(const TermTimes& times, const JointShare& joint) {
  const double us = times[joint.term];
  return joint.is_beyond() ? std::max(us - joint.factor, 0.0)
                           : std::max(us, joint.factor * times[joint.other]);
}

std::string name_of(const JointShare& joint) {
  char text[96];
  const char* term = kTermNames[static_cast<int>(joint.term)];
  if (joint.is_beyond())
    std::snprintf(text, sizeof(text), "%s beyond %.3g us", term, joint.factor);
  else
    std::snprintf(text, sizeof(text), "longer of %s and %.3g x %s", term, joint.factor,
                  kTermNames[static_cast<int>(joint.other)]);
  return text;
}

double weigh(const TermTimes& times, const Shares& shares) {
  double us = 0;
  for (int i = 0; i < kTermCount; ++i) us += times.us[i] * shares.of[i];
  for (const JointShare& joint : shares.joints()) us += joint_us(times, joint) * joint.share;
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
