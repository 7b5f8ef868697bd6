// Makes text from files or the command line safe for a terminal. This is the only place that does
// so.
#pragma once

#include <string>
#include <string_view>

namespace codl::tools {

// Writes out everything that would move the cursor, change colours, reverse the order of letters or
// be invisible: control characters (C0, DEL, C1), bidirectional controls, invisible characters and
// line separators become \uXXXX (beyond U+FFFF two of them, as in JSON), bytes that are no UTF-8
// become \xXX. All else stays, even backslashes, so doing it twice changes nothing.
std::string printable(std::string_view text);

// Does the same, but '\n' stays: for text of several lines whose names went through printable().
std::string printable_lines(std::string_view text);

// Returns a JSON string with its quotes. Bytes that are no UTF-8 become U+FFFD, because JSON has no
// others.
std::string json_string(std::string_view text);

}  // namespace codl::tools
