// Gives the version of the compiler and its tools, which --version prints and plans record.
#pragma once

namespace codl::compiler {

// Returns "0.1.0": project(VERSION) of the top CMakeLists.txt.
const char* codlc_version();

}  // namespace codl::compiler
