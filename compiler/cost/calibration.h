// Holds shares and intervals of kernels: which part of each term's time a step really waits for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "compiler/cost/step_cost.h"

namespace codl::compiler {

// A step may wait for more than a sum of its terms. Then it waits for a share of
//   the longer of `term` and `factor` x `other`, which are at work at the same time, or
//   if `other` is Term::Step, what `term` takes beyond `factor` microseconds: much of it takes
//   longer than little of it, because no buffer or page table holds it.
// Neither falls where a term rises.
struct JointShare {
  Term term = Term::Compute;  // never Step
  Term other = Term::Step;    // never `term`
  double factor = 1;          // more than 0
  double share = 0;           // 0 or more

  bool is_beyond() const { return other == Term::Step; }
};
inline constexpr int kMaxJointShares = 4;

// The shares are borrowed. It is no std::span because files with LLVM's JSON are C++17 where Clang
// compiles them.
struct JointShareRange {
  const JointShare* first;
  const JointShare* last;

  const JointShare* begin() const { return first; }
  const JointShare* end() const { return last; }
  bool empty() const { return first == last; }
  size_t size() const { return static_cast<size_t>(last - first); }
  const JointShare& operator[](size_t i) const { return first[i]; }
};

// Holds a share by Term, 0 or more. With 1 a step waits for all of it; with less, other work hides
// the rest; with more, the kernel does not reach the machine's rate.
struct Shares {
  double of[kTermCount] = {};
  int32_t joint_count = 0;
  JointShare joint[kMaxJointShares] = {};  // beside the terms' own

  double& operator[](Term term) { return of[static_cast<int>(term)]; }
  double operator[](Term term) const { return of[static_cast<int>(term)]; }
  JointShareRange joints() const { return {joint, joint + joint_count}; }
};

// Returns the microseconds that the share applies to.
double joint_us(const TermTimes& times, const JointShare& joint);

// Returns text such as "longer of compute and 0.8 x l2", "l1 beyond 12.5 us".
std::string name_of(const JointShare& joint);

// Returns the microseconds of a step, rounded to whole nanoseconds so that every build machine
// makes the same plan.
double weigh(const TermTimes& times, const Shares& shares);

// Says where a kernel's shares come from.
//   Facts    the machine's facts and what kernels of its family reach on other machines
//   Anchors  latencies of that chip that others published
//   Samples  steps that codl-profile timed on that machine
enum class Level : uint8_t { Facts, Anchors, Samples };
inline constexpr const char* kLevelNames[] = {"facts", "anchors", "samples"};

struct Calibration {
  Shares shares;
  Level level = Level::Facts;
  Origin origin = Origin::Assumed;
  std::string source;
  // These are factors of a prediction, which is the median: a tenth of the times were below `low`,
  // a tenth above `high`.
  double interval_low = 1;
  double interval_high = 1;
  int32_t revision = 0;  // revision of the timed kernel; 0: not known
};

// Returns what kernels of a family reach on machines that codl-profile ran on, and how far they are
// apart.
Calibration family_calibration(kernels::KernelFamily family, Processor processor,
                               bool is_gpu_a_processor);

}  // namespace codl::compiler
