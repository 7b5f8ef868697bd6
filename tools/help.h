// Writes the texts that follow from a tool's flags: its help, its manual page, completions for
// shells.
#pragma once

#include <string>

#include "tools/flags.h"

namespace codl::tools {

enum class HelpFormat { Text, Man, Bash, Zsh, Fish };

// Returns the answer to --help: examples, then each group's `flags`. Lines have at most 80 columns.
std::string short_help(const CommandLine& command_line);

// Returns the answer to --help-all: every flag with its details.
std::string full_help(const CommandLine& command_line, HelpFormat format);

}  // namespace codl::tools
