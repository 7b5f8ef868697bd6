// Tells a build system the inputs of a tool: rules of Make, which Ninja reads as well.
#pragma once

#include <string>
#include <vector>

namespace codl::tools {

// "target: prerequisite prerequisite", one line each, with blanks, '#', '$' and backslashes before
// blanks written as GNU Make reads them. Each prerequisite once, in their order. An input error
// for a path with a line end, which Make cannot have.
std::string make_rule(const std::string& target, const std::vector<std::string>& prerequisites);

}  // namespace codl::tools
