// Runs a fuzz target over files and, with --mutate=N, over N mutants of each, as a test can without
// libFuzzer.
//
//   replay_<target> [--mutate=N] [--seed=S] FILE...
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "test/fuzz/target.h"
#include "tools/files.h"
#include "tools/tool_error.h"

namespace {
constexpr size_t kMaxBytes = 1 << 20;        // limit of a mutant
constexpr uint64_t kMaxFileBytes = 1 << 26;  // limit of a file, also of the examples' models

void run(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}
}  // namespace

int main(int argc, char** argv) {
  uint32_t mutants = 0;
  uint32_t first_seed = 1;
  int files = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--mutate=", 9) == 0) {
      mutants = static_cast<uint32_t>(std::atoi(argv[i] + 9));
      continue;
    }
    if (std::strncmp(argv[i], "--seed=", 7) == 0) {
      first_seed = static_cast<uint32_t>(std::atoi(argv[i] + 7));
      continue;
    }
    std::string bytes;
    try {
      bytes = codl::tools::read_file(argv[i], kMaxFileBytes);
    } catch (const codl::tools::ToolError& error) {
      std::fprintf(stderr, "replay: error: %s\n", error.what());
      return 1;
    }
    std::printf("%s\n", argv[i]);
    std::fflush(stdout);
    run(bytes);
    std::string mutant = bytes;
    for (uint32_t seed = first_seed; seed < first_seed + mutants; ++seed) {
      mutant = codl::test::mutate(seed % 4 == 1 ? bytes : mutant, seed, kMaxBytes);
      if (mutant.empty()) mutant = bytes;
      run(mutant);
    }
    ++files;
  }
  std::printf("%d files, %u mutants of each: no fault\n", files, mutants);
  return files > 0 ? 0 : 1;
}
