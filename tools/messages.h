// Prints the tools' messages and ends the tools.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace codl::tools {

// Lines of text or JSON on text_stream(), printable_lines() of them. An input error if they do not
// fit.
void print(std::string_view text);
// The same, to the output `path` instead if it is not empty: every output that is text.
void print_to(const std::string& path, std::string_view text);

// Returns the text that printf would print.
__attribute__((format(printf, 1, 2))) std::string formatted(const char* format, ...);

enum class Severity { Note, Warning, Error };

// One line on stderr: "codlc: error: TEXT", printable() of it.
void print_message(std::string_view tool, Severity severity, std::string_view text);

// Runs a tool's main: a ToolError becomes one line on stderr and its exit code, and what is thrown
// beside it an internal error, also where it cannot be caught. Standard streams that the caller
// closed stay closed to the tool's files. `body` returns the exit code; `tool` lives on.
int run_tool(const char* tool, int argc, char** argv,
             int (*body)(const std::vector<std::string>& arguments));

// The part of run_tool() that ends a body: returns its exit code, or reports what it throws and
// returns that exit code.
int run_guarded(const char* tool, const std::function<int()>& body);

}  // namespace codl::tools
