// Reads the command line of codl-profile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/flags.h"

namespace codl::profiler {

inline constexpr char kTool[] = "codl-profile";

enum class MapLayout { Auto, Image, Buffer };

struct ProfileFlags {
  std::string output;
  std::string evaluation;
  std::string samples;  // empty: beside the output
  std::string name;
  std::string description;
  double budget_s = 300;
  bool facts_only = false;
  bool resumes = false;
  bool fits_only = false;
  bool replaces = false;
  bool cpu_only = false;
  std::vector<std::string> plans;
  std::string kernels;
  int32_t samples_per_kernel = 0;  // 0: the usual number
  int32_t seed = 0;
  int32_t core_count = 0;    // cores that this process may use
  int32_t thread_count = 0;  // 0: one thread for each core that it may use
  MapLayout layout = MapLayout::Auto;
  std::vector<int32_t> cpu_cores;
  std::vector<int32_t> gpu_cores;
  std::string platform;
  std::string device;
};

tools::CommandLine command_line_of(ProfileFlags* flags);

}  // namespace codl::profiler
