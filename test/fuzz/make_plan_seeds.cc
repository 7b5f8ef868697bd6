// Makes plans for the fuzz target of plans: models compiled for devices of every layout and kind of
// sharing, with both variants.
//
//   make_plan_seeds DIR MODEL.onnx...
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <tuple>

#include "compiler/device/device_profile.h"
#include "compiler/pipeline.h"

namespace {

using namespace codl;
using namespace codl::compiler;

constexpr size_t kMaxSeedBytes = 1 << 18;

// Returns false if the profile cannot be read.
bool compile_for(const char* device, const std::string& model, const std::string& stem) {
  auto profile = load_device_profile(device);
  if (!profile) {
    std::fprintf(stderr, "%s\n", llvm::toString(profile.takeError()).c_str());
    return false;
  }
  const std::vector<EntryRequest> two = {{"n=4", {}, {{"n", 4}}}, {"n=6", {}, {{"n", 6}}}};
  for (const auto& [dim, entries, end] :
       {std::tuple(SplitDim::Height, std::vector<EntryRequest>(1), ".h.codl"),
        std::tuple(SplitDim::OutputChannel, std::vector<EntryRequest>(1), ".oc.codl"),
        // Only models with an open dim of that name.
        std::tuple(SplitDim::Height, two, ".n.codl")}) {
    CompileOptions options;
    options.entries = entries;
    options.partition.split_dim = dim;
    options.partition.ratio = 0.5;
    options.partition.search_budget = 0;  // plans need not be good
    auto result = compile(model, "seed.onnx", *profile, options);
    if (!result) {
      llvm::consumeError(result.takeError());
      continue;
    }
    if (result->plan.size() > kMaxSeedBytes) continue;
    std::ofstream file(stem + end, std::ios::binary);
    file.write(reinterpret_cast<const char*>(result->plan.data()),
               static_cast<std::streamsize>(result->plan.size()));
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 1;
  std::filesystem::create_directories(argv[1]);
  const std::pair<const char*, const char*> devices[] = {
      {"svm", "host-pair"},
      {"image", CODL_TEST_PROFILES "/sd855_images.json"},
      {"sub", CODL_TEST_PROFILES "/host_sub_buffer.json"},
      {"separate", CODL_TEST_PROFILES "/host_separate.json"}};
  for (int i = 2; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    const std::string model{std::istreambuf_iterator<char>(file), {}};
    const auto& [name, device] = devices[static_cast<size_t>(i) % std::size(devices)];
    const auto stem = std::filesystem::path(argv[1]) /
                      (std::filesystem::path(argv[i]).stem().string() + "." + name);
    if (!compile_for(device, model, stem.string())) return 1;
  }
  return 0;
}
