#include "compiler/report/plan_report.h"

#include "compiler/pipeline.h"
#include "llvm/Support/JSON.h"
#include "test/support/catch.h"
#include "test/support/graphs.h"
#include "test/support/onnx_text.h"

namespace codl::compiler {
namespace {

using llvm::json::Object;

// Reports two convolutions, each split in the middle along rows.
Object report_of(BoundaryFirst boundary_first) {
  CompileOptions options;
  options.wants_report = true;
  options.partition.strategy = "segments";
  options.partition.split_dim = SplitDim::Height;
  options.partition.ratio = 0.5;
  options.partition.max_chain = 1;
  options.partition.boundary_first = boundary_first;
  const char* model = R"(g (float[1,64,32,32] x) => (float[1,64,32,32] y)
      <float[64,64,3,3] v, float[64,64,3,3] w> {
        a = Conv<pads = [1, 1, 1, 1]>(x, v)
        y = Conv<pads = [1, 1, 1, 1]>(a, w) })";
  auto result =
      compile(test::onnx_model(model), "model", test::test_profile(Sharing::FineSvm), options);
  REQUIRE(static_cast<bool>(result));
  auto json = llvm::json::parse(result->report_json);
  REQUIRE(static_cast<bool>(json));
  return *json->getAsObject();
}

const Object& variant_of(const Object& report) {
  return *(*report.getArray("variants"))[0].getAsObject();
}

// Returns the number of a node's steps with the kernel, and the sum of their times.
std::pair<int, double> steps_of(const Object& report, llvm::StringRef node,
                                llvm::StringRef kernel) {
  std::pair<int, double> sum;
  for (const llvm::json::Value& value : *variant_of(report).getArray("steps")) {
    const Object& step = *value.getAsObject();
    if (*step.getString("node") != node || step.getString("kernel") != kernel) continue;
    ++sum.first;
    sum.second += *step.getNumber("predicted_us");
  }
  return sum;
}

TEST_CASE("a part whose boundary is computed first is one of the report, with both steps' time") {
  const Object first = report_of(BoundaryFirst::Always), last = report_of(BoundaryFirst::Never);
  int boundaries = 0;
  for (const Object* report : {&first, &last}) {
    CHECK(*variant_of(*report).getInteger("split_nodes") == 2);
    CHECK(*variant_of(*report).getNumber("gpu_mac_share") == 0.5);
    for (const llvm::json::Value& value : *report->getArray("operators")) {
      const Object& node = *value.getAsObject();
      if (*node.getString("op") != "Conv2d") continue;
      CHECK(*node.getInteger("macs") == 64 * 64 * 9 * 32 * 32);
      const llvm::json::Array& parts = *node.getArray("parts");
      REQUIRE(parts.size() == 2);
      for (const llvm::json::Value& of : parts) {
        const Object& part = *of.getAsObject();
        const Object* boundary = part.getObject("boundary");
        const auto [count, us] =
            steps_of(*report, *node.getString("node"), *part.getString("kernel"));
        CHECK(count == (boundary != nullptr ? 2 : 1));
        CHECK(*part.getNumber("predicted_us") == Approx(us).margin(0.002));
        CHECK(*part.getNumber("share") == 0.5);
        CHECK(*part.getInteger("end") - *part.getInteger("begin") == 16);
        if (boundary == nullptr) continue;
        ++boundaries;
        CHECK(report == &first);
        CHECK(*boundary->getInteger("end") - *boundary->getInteger("begin") == 1);
      }
    }
  }
  CHECK(boundaries == 2);  // both from the first convolution
}

}  // namespace
}  // namespace codl::compiler
