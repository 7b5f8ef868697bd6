// Whole files in, whole files out.
#pragma once

#include <string>
#include <string_view>

namespace codl::tools {

// An input error names the path.
std::string read_file(const std::string& path);

// Written under a temporary name in the same folder and renamed: nobody sees half a file, and
// nothing is left behind on failure. A link stays one. What is there and no file (/dev/null, a
// pipe) is written to and never replaced.
void write_file(const std::string& path, std::string_view contents);

}  // namespace codl::tools
