// The version of the compiler and its tools, as --version prints it and plans record it.
#pragma once

namespace codl::compiler {

// Returns "0.1.0": project(VERSION) of the top CMakeLists.txt.
const char* codlc_version();

}  // namespace codl::compiler
