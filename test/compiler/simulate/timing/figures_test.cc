#include "compiler/simulate/timing/figures.h"

#include "compiler/partition/partition.h"
#include "compiler/schedule/schedule.h"
#include "compiler/simulate/timing/simulate.h"
#include "test/support/catch.h"
#include "test/support/expected.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

using test::value_of;

ir::Graph line_with_a_branch() {
  test::GraphBuilder builder(32, 48, 48);
  const ir::ValueId a = builder.conv("a", builder.input(), 64);
  const ir::ValueId b = builder.conv("b", a, 32, 1);
  return builder.finish(builder.concat("join", {b, builder.conv("c", a, 32, 3)}));
}

TEST_CASE("no slice takes longer than the GPU is busy in a run") {
  for (const char* device : {"host", "sd855", "kirin990", "dimensity9300"}) {
    const DeviceProfile profile = value_of(load_device_profile(device));
    const LatencyPredictor predictor(profile);
    for (const ir::Graph& graph : {test::three_convs(), line_with_a_branch()})
      for (const char* strategy : {"gpu", "mulayer", "codl"}) {
        CAPTURE(device, strategy);
        PartitionOptions options;
        options.strategy = strategy;
        Schedule schedule = value_of(make_schedule(
            graph, value_of(partition(graph, predictor, options)), predictor, "test"));
        REQUIRE(test::error_of(predict(schedule, profile)) == "");
        const PlanFigures figures = value_of(figures_of(schedule, profile));
        CHECK(figures.longest_slice_us <= figures.gpu_share * figures.predicted_us * (1 + 1e-9));
        CHECK((figures.longest_slice_us > 0) == (figures.gpu_share > 0));
      }
  }
}

}  // namespace
}  // namespace codl::compiler
