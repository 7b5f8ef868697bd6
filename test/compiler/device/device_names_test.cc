#include "compiler/device/device_names.h"

#include "llvm/ADT/STLExtras.h"
#include "test/support/catch.h"
#include "test/support/expected.h"

namespace codl::compiler {
namespace {

using test::value_of;

bool is_gpu(const char* listed, const char* reported) {
  DeviceProfile profile;
  profile.gpu_name = listed;
  return is_gpu_of(profile, reported);
}

TEST_CASE("a driver's name for a GPU is compared by its letters, digits and model") {
  CHECK(is_gpu("Adreno 640", "QUALCOMM Adreno(TM) 640"));
  CHECK(is_gpu("Adreno 640", "Adreno (TM) 640"));
  CHECK(is_gpu("Mali-G76 MC16", "Mali-G76 r0p0"));
  CHECK(is_gpu("Mali-G720 MC12", "Mali-G720-Immortalis MC12 r0p0"));
  CHECK(is_gpu("pthread-haswell-AMD EPYC, 1 units", "pthread-haswell-AMD EPYC"));
  CHECK(is_gpu("pthread, PoCL on the same cores", "pthread-skylake-avx512-AMD EPYC"));

  CHECK_FALSE(is_gpu("Adreno 640", "QUALCOMM Adreno(TM) 6400"));
  CHECK_FALSE(is_gpu("Adreno 640", "QUALCOMM Adreno(TM) 740"));
  CHECK_FALSE(is_gpu("Adreno 640", "pthread-haswell-AMD EPYC"));
  CHECK_FALSE(is_gpu("Mali-G76 MC16", "Mali-G78 MC16"));
  CHECK_FALSE(is_gpu("pthread-haswell-AMD EPYC, 1 units", "pthread-skylake-avx512-AMD EPYC"));
  CHECK_FALSE(is_gpu("", "Mali-G76"));
}

TEST_CASE("a driver that reports no number may have any GPU of the family") {
  CHECK(is_gpu("Adreno 640", "QUALCOMM Adreno(TM)"));
  CHECK_FALSE(is_gpu("Mali-G76 MC16", "QUALCOMM Adreno(TM)"));
}

TEST_CASE("a template describes any GPU") {
  DeviceProfile profile;
  profile.gpu_name = "an OpenCL GPU";
  profile.kind = DeviceKind::Template;
  CHECK(is_gpu_of(profile, "Mali-G76"));
}

TEST_CASE("each profile's GPU has the name that its driver reports") {
  size_t count = 0;
  for (const std::string& name : list_devices()) {
    const DeviceProfile profile = value_of(load_device_profile(name));
    const auto reported = llvm::find_if(
        profile.facts, [](const DeviceFact& fact) { return fact.name == "gpu opencl_name"; });
    if (reported == profile.facts.end()) continue;
    CAPTURE(name, profile.gpu_name, reported->value);
    CHECK(is_gpu_of(profile, reported->value));
    ++count;
  }
  CHECK(count > 10);
}

}  // namespace
}  // namespace codl::compiler
