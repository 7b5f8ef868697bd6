// Fuzz target: any bytes are a replay file; if it is one, it is simulated on a phone's profile.
#include "compiler/device/device_profile.h"
#include "compiler/simulate/scenarios/replay.h"
#include "test/fuzz/no_fault.h"

namespace codl::test {
namespace {

const compiler::DeviceProfile& phone() {
  static const compiler::DeviceProfile profile = [] {
    auto loaded = compiler::load_device_profile("sd855");
    if (!loaded) fail(llvm::toString(loaded.takeError()));
    return std::move(*loaded);
  }();
  return profile;
}

void simulate(llvm::StringRef json) {
  auto replay = compiler::parse_replay(json, "fuzz.json");
  if (!replay) return expect_no_fault(replay.takeError());
  auto steps = compiler::queue_steps_of(*replay, phone());
  if (!steps) return expect_no_fault(steps.takeError());
  const compiler::Timeline timeline =
      compiler::run_queues(*steps, phone(), {}, compiler::Clock::Wall);
  if (!(timeline.total_us >= 0))
    fail("expected a time, found " + std::to_string(timeline.total_us));
}

}  // namespace
}  // namespace codl::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  codl::test::simulate({reinterpret_cast<const char*>(data), size});
  return 0;
}
