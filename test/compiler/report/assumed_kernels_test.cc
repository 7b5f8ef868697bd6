#include "compiler/report/assumed_kernels.h"

#include "compiler/pipeline.h"
#include "kernels/kernel_table.h"
#include "test/support/catch.h"
#include "test/support/graphs.h"
#include "test/support/onnx_text.h"

namespace codl::compiler {
namespace {

std::string warning_of(const DeviceProfile& profile, const char* strategy = "optimal") {
  CompileOptions options;
  options.partition.strategy = strategy;
  options.partition.search_budget = 0;  // which kernels are used does not depend on a good plan
  auto result = compile(test::onnx_model(R"(g (float[1,8,32,32] x) => (float[1,8,16,16] y)
                                  <float[8,8,3,3] w, int64 axis = {2}> {
                                    a = Conv<pads = [1, 1, 1, 1]>(x, w)
                                    b = CumSum(a, axis)
                                    y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(b)
                                  })",
                                         20),
                        "model", profile, options);
  if (!result) return llvm::toString(result.takeError());
  return result->reports[0].assumed_kernels_warning;
}

// All kernels have the given origin, except `assumed`.
DeviceProfile profile_of(Origin origin, llvm::StringRef assumed = "") {
  DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  for (const KernelInfo& kernel : kKernelInfos)
    profile.kernels[kernel.id - 1].origin = assumed == kernel.symbol ? Origin::Assumed : origin;
  return profile;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST_CASE("a profile of assumed numbers is warned of, with how many kernels and which") {
  const std::string text = warning_of(profile_of(Origin::Assumed));
  INFO(text);
  CHECK(has(text, "profile test: the times of "));
  CHECK(has(text, "are assumed, not measured: "));
  CHECK(has(text, "conv2d_f32_cl_buffer"));
  CHECK(has(text, "more (codl-profile"));
  CHECK(text.find('\n') == std::string::npos);
  CHECK_FALSE(has(warning_of(profile_of(Origin::Assumed), "cpu"), "_cl_"));
}

TEST_CASE("what was measured, fitted or published is not warned of") {
  for (const Origin origin : {Origin::Measured, Origin::Fitted, Origin::Published})
    CHECK(warning_of(profile_of(origin)) == "");
}

TEST_CASE("a kernel that the network has no use for is not warned of") {
  CHECK(warning_of(profile_of(Origin::Fitted, "softmax_f32_cpu")) == "");
  CHECK(has(warning_of(profile_of(Origin::Fitted, "pool2d_f32_cpu")), "the times of 1 of the "));
  CHECK(has(warning_of(profile_of(Origin::Fitted, "pool2d_f32_cpu")),
            "not measured: pool2d_f32_cpu (codl-profile"));
  CHECK(
      has(warning_of(profile_of(Origin::Fitted, "pool2d_f32_cl_buffer")), "pool2d_f32_cl_buffer"));
  CHECK(warning_of(profile_of(Origin::Fitted, "pool2d_f32_cl_buffer"), "cpu") == "");
}

TEST_CASE("plain loops are warned of elsewhere") {
  CHECK(warning_of(profile_of(Origin::Fitted, "cumulate_any_cpu")) == "");
}

}  // namespace
}  // namespace codl::compiler
