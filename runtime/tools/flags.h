// Command line flags: --flag=value or --flag value, and positional arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace codl::tools {

struct Flag {
  std::string name;        // "num-runs", without dashes
  std::string value_name;  // "N"; empty for a flag without a value
  std::string help;        // one line, default included
  std::function<void(const std::string& value)> set;
};

// Calls `set` of every flag given, in order; returns the other arguments. A flag that is not in the
// list, a missing or a superfluous value is an input error. "--" ends the flags.
std::vector<std::string> parse_flags(const std::vector<Flag>& flags,
                                     const std::vector<std::string>& arguments);

// One line per flag.
std::string describe_flags(const std::vector<Flag>& flags);

// Values; `flag` names the flag in errors.
int32_t parse_int32(const std::string& flag, const std::string& value, int32_t least);
uint64_t parse_uint64(const std::string& flag, const std::string& value);
// Cores: "0,2,4-7".
std::vector<int32_t> parse_cores(const std::string& flag, const std::string& value);

}  // namespace codl::tools
