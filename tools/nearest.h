// Finds the name that a misspelt one was likely meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace codl::tools {

// Those of `names` that `text` is equally likely a misspelling of; empty: none is near enough.
std::vector<std::string> all_nearest(std::string_view text, const std::vector<std::string>& names);
// The first of them, or "".
std::string nearest(std::string_view text, const std::vector<std::string>& names);
// " (did you mean sd855?)", or "".
std::string suggestion(std::string_view text, const std::vector<std::string>& names,
                       const std::string& prefix = "");

}  // namespace codl::tools
