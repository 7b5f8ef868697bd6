// Fuzz target: any bytes as a device profile. What is accepted is described and predicts.
#include "compiler/device/device_profile.h"
#include "compiler/support/error.h"
#include "test/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace codl::compiler;
  auto profile = parse_device_profile({reinterpret_cast<const char*>(data), size}, "fuzz.json");
  if (!profile)
    llvm::handleAllErrors(profile.takeError(), [](const CompileError& error) {
      if (error.kind() == ErrorKind::Internal)
        codl::test::fail("expected no internal error, found " + error.text().str());
    });
  return 0;
}
