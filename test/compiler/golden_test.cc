// Prints the decisions for six small networks on three devices: partition, schedule and memory, as
// `codlc --dump` prints them except for predicted times. A changed decision shows as a change of
// these files; whoever means it runs
//
//   CODL_UPDATE_GOLDEN=1 build/release/bin/test_compiler "decisions*"
//
// and reads the difference.
#include "test/compiler/support/golden.h"

#include <cstdlib>
#include <fstream>

#include "compiler/device/device_profile.h"
#include "compiler/pipeline.h"
#include "llvm/Support/raw_ostream.h"
#include "test/compiler/support/dump_text.h"
#include "test/support/catch.h"
#include "test/support/expected.h"

namespace codl::compiler {
namespace {

std::string decisions(const std::string& onnx, const DeviceProfile& profile, const char* stage) {
  CompileOptions options;
  options.prints.dump = stage;
  options.partition.search_budget = 100;  // with sanitizers each plan that is judged takes its time
  std::string text;
  llvm::raw_string_ostream os(text);
  options.prints.to = &os;
  test::value_of(compile(onnx, "golden", profile, options));
  return without_times(os.str());
}

TEST_CASE("decisions for six networks on three devices are those on record") {
  const std::string network =
      GENERATE("residual", "mobile", "unet", "detector", "attention", "style");
  const std::string device = GENERATE("sd855", "kirin990", "host-2core-pocl");
  const DeviceProfile profile = test::value_of(load_device_profile(device));
  const std::string onnx = golden_model(network);
  std::string found;
  for (const char* stage : {"partition", "schedule", "memory"})
    found += std::string("# ") + stage + "\n" + decisions(onnx, profile, stage);
  const std::string path = kGoldenFolder + "/" + network + "." + device + ".txt";
  if (std::getenv("CODL_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << found;
  INFO(path);
  CHECK(found == golden_text(path));
}

}  // namespace
}  // namespace codl::compiler
