#include "compiler/device/quirks.h"

#include <string>

#include "llvm/ADT/STLExtras.h"
#include "schema/tables.h"
#include "test/support/catch.h"

namespace codl::compiler {
namespace {

// Returns the message of avoid_quirks()'s error about this text, or "".
std::string read_text(const std::string& text, DeviceProfile& profile) {
  return llvm::toString(avoid_quirks(text, "quirks.json", profile));
}

TEST_CASE("kernels that a self-test found to be wrong are not used") {
  auto profile = load_device_profile("host");
  REQUIRE(!!profile);
  CHECK(read_text(R"({"plan": "x.codl", "step_count": 3, "quirks": []})", *profile).empty());
  CHECK(profile->unused_kernels.empty());
  CHECK(read_text(R"({"plan": "x.codl", "quirks": [{"step": "conv", "kernel":
      "conv2d_f32_cl_tiled", "tile": [16, 2], "output_dims": [1, 8, 4, 4], "message": "m"}]})",
                  *profile)
            .empty());
  REQUIRE(profile->unused_kernels.size() == 1);
  CHECK(profile->unused_kernels[0] == 73);  // schema/kernels.def
  // Kernels count once, however often a report names them.
  CHECK(read_text(
            R"({"quirks": [{"kernel": "conv2d_f32_cl_tiled"}, {"kernel": "conv2d_f32_cl_tiled"}]})",
            *profile)
            .empty());
  CHECK(profile->unused_kernels.size() == 1);
}

TEST_CASE("without the kernels that move values nothing is left to the GPU") {
  auto profile = load_device_profile("host");
  REQUIRE(!!profile);
  CHECK(read_text(R"({"quirks": [{"kernel": "convert_f32_cl_buffer"}]})", *profile).empty());
  for (const KernelInfo& info : kKernelInfos)
    if (info.processor == Processor::Gpu)
      CHECK(llvm::is_contained(profile->unused_kernels, info.id));
}

TEST_CASE("a file that is no quirk list is refused") {
  auto profile = load_device_profile("host");
  REQUIRE(!!profile);
  CHECK_THAT(read_text("{}", *profile), Catch::Contains("quirks"));
  CHECK_THAT(read_text(R"({"quirks": [{"kernel": "conv2d_f32_cpu"}]})", *profile),
             Catch::Contains("expected a GPU kernel of schema/kernels.def"));
  CHECK_THAT(read_text("[", *profile), Catch::Contains("quirks"));
  CHECK(profile->unused_kernels.empty());
}

}  // namespace
}  // namespace codl::compiler
