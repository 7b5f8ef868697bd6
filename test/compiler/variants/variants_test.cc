// Which plan the first variant is, and what is expected of it before it is made.
#include "compiler/variants/variants.h"

#include <algorithm>

#include "test/support/catch.h"
#include "test/support/expected.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

using test::value_of;

// 38 million multiply-adds each, 38 us on either processor.
ir::Graph line_of_convs() {
  test::GraphBuilder builder(64, 32, 32);
  const ir::ValueId a = builder.conv("a", builder.input(), 64);
  const ir::ValueId b = builder.conv("b", a, 64);
  return builder.finish(builder.conv("c", b, 64));
}

// A tenth of the times of a kernel are so many times as long or more, a tenth as short or less.
DeviceProfile profile_of(double factor) {
  DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  for (Calibration& known : profile.kernels) {
    known.interval_low = 1 / factor;
    known.interval_high = factor;
  }
  return profile;
}

struct Maker {
  explicit Maker(const DeviceProfile& of_profile, const std::string& strategy = "optimal")
      : profile(of_profile) {
    options.strategy = strategy;
    options.search_budget = 300;
  }
  double estimated_us() {
    return value_of(VariantMaker(graph, predictor, Precision::Fp32, options).estimate_us());
  }
  MadeVariant made() {
    return value_of(VariantMaker(graph, predictor, Precision::Fp32, options).make({}));
  }
  double made_us() { return made().candidate.schedule.predicted_us; }

  const ir::Graph graph = line_of_convs();
  const DeviceProfile profile;
  const LatencyPredictor predictor{profile};
  PartitionOptions options;
};

TEST_CASE(
    "what is estimated of co-execution that is not sure is one processor alone, as it is made") {
  const double alone_us = std::min(Maker(profile_of(1), "cpu").made_us(),  //
                                   Maker(profile_of(1), "gpu").made_us());
  const double segments_us = Maker(profile_of(1), "segments").made_us();
  REQUIRE(segments_us < 0.8 * alone_us);

  Maker sure(profile_of(1));
  CHECK(sure.estimated_us() == segments_us);
  CHECK(sure.made().one_processor_reason == "");
  CHECK(sure.made_us() <= segments_us);

  Maker unsure(profile_of(10));
  CHECK(unsure.made().one_processor_reason != "");
  CHECK(unsure.made_us() == alone_us);
  CHECK(unsure.estimated_us() == alone_us);
}

TEST_CASE("where both processors are the same cores, the CPU alone is estimated, as it is made") {
  DeviceProfile profile = profile_of(1);
  profile.shares_cores = true;
  for (const KernelInfo& info : kKernelInfos)
    if (info.processor == Processor::Gpu) profile.kernels[info.id - 1].shares[Term::Compute] = 0.25;
  Maker maker(profile);
  CHECK(maker.estimated_us() == maker.made_us());
  CHECK(maker.estimated_us() == Maker(profile, "cpu").made_us());
  CHECK(Maker(profile, "gpu").made_us() < 0.5 * maker.estimated_us());
}

TEST_CASE("what is not searched for is estimated as it is made") {
  const DeviceProfile profile = profile_of(10);
  for (const char* strategy : {"cpu", "gpu", "coarse", "segments"}) {
    CAPTURE(strategy);
    Maker maker(profile, strategy);
    CHECK(maker.estimated_us() == maker.made_us());
  }
  Maker split(profile);
  split.options.split_dim = SplitDim::Height;
  split.options.ratio = 0.5;
  CHECK(split.estimated_us() == split.made_us());
}

}  // namespace
}  // namespace codl::compiler
