// Flags that people bring from other compilers and runtimes.
#pragma once

#include <string>
#include <string_view>

namespace codl::tools {

// Returns what does here what the flag `name` does elsewhere, as `tool` sees it: "--precision=fp16"
// in codlc, "codlc --precision=fp16" in other tools. `name` is in lower case, with '-' between
// words and none in front. "" for a name that nobody uses.
std::string flag_here(std::string_view name, std::string_view tool);

}  // namespace codl::tools
