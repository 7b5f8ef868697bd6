// Finds the name that a misspelt one was likely meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace codl::tools {

// Returns those of `names` that `text` is most likely a misspelling of; empty if none is near
// enough.
std::vector<std::string> all_nearest(std::string_view text, const std::vector<std::string>& names);
// Returns the first of them, or "".
std::string nearest(std::string_view text, const std::vector<std::string>& names);
// Returns " (did you mean sd855?)", or "".
std::string suggestion(std::string_view text, const std::vector<std::string>& names,
                       const std::string& prefix = "");

}  // namespace codl::tools
