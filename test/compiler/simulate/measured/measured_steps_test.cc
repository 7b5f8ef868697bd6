#include "compiler/simulate/measured/measured_steps.h"

#include "llvm/Support/FormatVariadic.h"
#include "test/support/catch.h"
#include "test/support/expected.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

// Returns the error about measurements that this machine made of a plan for the profile's device.
std::string error_of(const DeviceProfile& profile, const char* gpu, const char* cpu,
                     const char* measured_on = "") {
  const std::string json = llvm::formatv(
      R"({{"plan_device": "{0}", "opencl_device": "{1}", "cpu_architecture": "{2}",
          "variant": "cpu", "median_us": 1, "steps": []})",
      profile.name, gpu, cpu);
  return test::error_of(read_measured_steps(json, "b.json", profile, measured_on));
}

TEST_CASE("measurements of another machine than the device are refused unless it is named") {
  DeviceProfile phone = test::test_profile(Sharing::FineSvm);
  phone.kind = DeviceKind::Phone;
  phone.gpu_name = "Adreno 640";
  CHECK(error_of(phone, "QUALCOMM Adreno(TM) 640", "aarch64") == "");
  CHECK(error_of(phone, "pthread-AMD EPYC", "x86_64") ==
        "b.json: /opencl_device: expected \"Adreno 640\" of device test, or one that --measured-on "
        "names, found \"pthread-AMD EPYC\"");
  CHECK(error_of(phone, "pthread-AMD EPYC", "x86_64", "pthread") == "");
  CHECK(error_of(phone, "QUALCOMM Adreno(TM) 640", "aarch64", "pthread") ==
        "b.json: /opencl_device: expected text that has \"pthread\", as --measured-on says, found "
        "\"QUALCOMM Adreno(TM) 640\"");
}

TEST_CASE("measurements of a CPU alone tell no more than its architecture") {
  DeviceProfile phone = test::test_profile(Sharing::FineSvm);
  CHECK(error_of(phone, "", "x86_64") == "");  // no phone yet
  phone.kind = DeviceKind::Phone;
  CHECK(error_of(phone, "", "aarch64") == "");
  CHECK(error_of(phone, "", "x86_64") ==
        "b.json: /cpu_architecture: expected \"aarch64\" of phone test, or one that --measured-on "
        "names, found \"x86_64\"");
  CHECK(error_of(phone, "", "x86_64", "x86_64") == "");
}

}  // namespace
}  // namespace codl::compiler
