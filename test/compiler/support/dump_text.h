// Changes dumps for comparisons.
#pragma once

#include <regex>
#include <string>

namespace codl::compiler {

// Removes predicted times, which every calibration changes.
inline std::string without_times(const std::string& dump) {
  return std::regex_replace(dump, std::regex(" (predicted=)?[0-9.]+us"), "");
}

}  // namespace codl::compiler
