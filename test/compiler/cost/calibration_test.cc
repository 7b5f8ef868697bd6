#include "compiler/cost/calibration.h"

#include <set>
#include <utility>

#include "kernels/kernel_table.h"
#include "kernels/work_table.h"
#include "test/support/catch.h"

namespace codl::compiler {
namespace {

using kernels::KernelFamily;

TEST_CASE("a step's time is the terms by their shares, in whole nanoseconds") {
  TermTimes times;
  Shares shares;
  CHECK(weigh(times, shares) == 0);
  for (int i = 0; i < kTermCount; ++i) times.us[i] = i + 1;
  CHECK(weigh(times, shares) == 0);  // no kernel waits for it
  shares[Term::Compute] = 0.5;
  shares[Term::Step] = 2;
  CHECK(weigh(times, shares) == Approx(0.5 + 2 * kTermCount));
  times = {};
  times[Term::Compute] = 1;
  const auto weighed = [&](double share) {
    shares = Shares();
    shares[Term::Compute] = share;
    return weigh(times, shares);
  };
  CHECK(weighed(1.2344) == 1234 * 1e-3);
  CHECK(weighed(1.2346) == 1235 * 1e-3);
  CHECK(weighed(0.0005) == 1e-3);
  CHECK(weighed(0.0004) == 0);
}

// Gives two terms of 2 and 3 us a joint share, in place of their own.
Shares with_joint(const JointShare& joint) {
  Shares shares;
  shares.joint_count = 1;
  shares.joint[0] = joint;
  return shares;
}

TEST_CASE("a joint share is of the longer of two terms, or of what a term takes beyond a time") {
  TermTimes times;
  times[Term::Compute] = 2;
  times[Term::L2] = 3;
  CHECK(weigh(times, with_joint({Term::Compute, Term::L2, 1, 0.5})) == Approx(1.5));
  CHECK(weigh(times, with_joint({Term::Compute, Term::L2, 0.5, 0.5})) == Approx(1));
  CHECK(weigh(times, with_joint({Term::L2, Term::Step, 2.5, 4})) == Approx(2));
  CHECK(weigh(times, with_joint({Term::L2, Term::Step, 3.5, 4})) == 0);
  Shares both = with_joint({Term::L2, Term::Step, 2.5, 4});
  both[Term::Compute] = 10;
  CHECK(weigh(times, both) == Approx(22));
  CHECK(name_of(JointShare{Term::Compute, Term::L2, 0.5, 1}) == "longer of compute and 0.5 x l2");
  CHECK(name_of(JointShare{Term::L2, Term::Step, 12.5, 1}) == "l2 beyond 12.5 us");
}

TEST_CASE("no time falls where a term rises, whatever the joint shares") {
  Shares shares = with_joint({Term::Compute, Term::L2, 0.7, 0.5});
  shares.joint[shares.joint_count++] = {Term::L2, Term::Step, 4, 2};
  shares.joint[shares.joint_count++] = {Term::Memory, Term::Compute, 2, 1};
  shares[Term::Memory] = 0.25;
  for (const Term rising : {Term::Compute, Term::L2, Term::Memory})
    for (double other_us = 0; other_us < 10; other_us += 2.5) {
      TermTimes times;
      for (const Term term : {Term::Compute, Term::L2, Term::Memory}) times[term] = other_us;
      double before = -1;
      for (times[rising] = 0; times[rising] < 12; times[rising] += 0.5) {
        const double us = weigh(times, shares);
        CHECK(us >= before);
        before = us;
      }
    }
}

TEST_CASE("every family has shares for each kind of processor that can run it") {
  for (const KernelInfo& kernel : kKernelInfos)
    for (const bool is_gpu_a_processor : {false, true}) {
      INFO(kernel.symbol << ", OpenCL on a processor: " << is_gpu_a_processor);
      const Calibration known =
          family_calibration(kernels::family_of(kernel), kernel.processor, is_gpu_a_processor);
      double sum = 0;
      for (const double share : known.shares.of) {
        CHECK(share >= 0);
        sum += share;
      }
      CHECK(sum > 0);
      CHECK(known.interval_low > 0);
      CHECK(known.interval_low < 1);
      CHECK(known.interval_high > 1);
      CHECK(known.level == Level::Facts);
      CHECK(known.origin == Origin::Assumed);
      CHECK_FALSE(known.source.empty());
    }
}

TEST_CASE("OpenCL on a processor has shares of its own, and the CPU's are the same everywhere") {
  const auto compute_of = [](Processor processor, bool is_gpu_a_processor) {
    return family_calibration(KernelFamily::Convolution, processor, is_gpu_a_processor)
        .shares[Term::Compute];
  };
  CHECK(compute_of(Processor::Gpu, false) != compute_of(Processor::Gpu, true));
  CHECK(compute_of(Processor::Cpu, false) == compute_of(Processor::Cpu, true));
}

TEST_CASE("reference kernels are loops, no other kernel is") {
  for (const KernelInfo& kernel : kKernelInfos) {
    INFO(kernel.symbol);
    CHECK((kernels::family_of(kernel) == KernelFamily::Loops) == kernel.is_reference());
  }
}

TEST_CASE("the table of shares has every term, and a family once for a kind of processor") {
  enum class Kind { Cpu, Processor, Gpu };
  std::set<std::pair<Kind, KernelFamily>> seen;
#define SHARES(kind, family, low, high, ...)                              \
  CHECK(std::initializer_list<double>{__VA_ARGS__}.size() == kTermCount); \
  CHECK(seen.insert(std::pair(Kind::kind, KernelFamily::family)).second);
#include "compiler/cost/family_shares.inc"
#undef SHARES
}

}  // namespace
}  // namespace codl::compiler
