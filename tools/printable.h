// The one place where text that came from a file or from the command line is made fit for a
// terminal.
#pragma once

#include <string>
#include <string_view>

namespace codl::tools {

// The text with everything that would move the cursor, change colours, reverse the order of letters
// or show nothing written out: control characters (C0, DEL, C1), bidirectional controls, invisible
// characters and line separators as \uXXXX (beyond U+FFFF two of them, as in JSON), bytes that are
// no UTF-8 as \xXX. All else stays, backslashes too, so that doing it twice changes nothing.
std::string printable(std::string_view text);

// The same, but '\n' stays: for text of several lines, in which each name went through printable().
std::string printable_lines(std::string_view text);

// A JSON string with its quotes. Bytes that are no UTF-8 become U+FFFD, as JSON has no others.
std::string json_string(std::string_view text);

}  // namespace codl::tools
