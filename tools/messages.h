// Prints the tools' messages and ends the tools.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace codl::tools {

// Prints lines of text or JSON on text_stream(), through printable_lines(). Input error if they do
// not fit.
void print(std::string_view text);
// Does the same, or prints to the output `path` if it is not empty. All text outputs use it.
void print_to(const std::string& path, std::string_view text);

// Returns the text that printf would print.
__attribute__((format(printf, 1, 2))) std::string formatted(const char* format, ...);

// Returns "1 run" or "3 runs".
std::string counted(int64_t count, std::string_view noun);

enum class Severity { Note, Warning, Error };

// Prints one line on stderr: "codlc: error: TEXT", through printable().
void print_message(std::string_view tool, Severity severity, std::string_view text);

// Runs a tool's main. A ToolError becomes one line on stderr and its exit code; anything else that
// is thrown becomes an internal error, even if it cannot be caught. Standard streams that the
// caller closed stay closed to the tool's files. `body` returns the exit code; `tool` must stay
// valid.
int run_tool(const char* tool, int argc, char** argv,
             int (*body)(const std::vector<std::string>& arguments));

// The part of run_tool() that ends a body: returns its exit code, or reports what it throws and
// returns that exit code.
int run_guarded(const char* tool, const std::function<int()>& body);

}  // namespace codl::tools
