// Tells a build system the inputs of a tool: rules of Make, which Ninja reads as well.
#pragma once

#include <string>
#include <vector>

namespace codl::tools {

// Returns "target: prerequisite prerequisite", one line each, with blanks, '#', '$' and backslashes
// before blanks written as GNU Make reads them. Each prerequisite appears once, in order. Input
// error for a path with a line end, which Make cannot express.
std::string make_rule(const std::string& target, const std::vector<std::string>& prerequisites);

}  // namespace codl::tools
