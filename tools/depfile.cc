#include "tools/depfile.h"

#include <set>

#include "tools/tool_error.h"

namespace codl::tools {
namespace {

// Escapes as GCC and Clang do: backslashes mean themselves except before a blank or '#'.
std::string escaped(const std::string& path) {
  std::string text;
  size_t backslashes = 0;
  for (const char c : path) {
    if (c == '\n' || c == '\r') fail_input(path, "a path without line ends for a depfile", "one");
    if (c == ' ' || c == '\t' || c == '#') text.append(backslashes + 1, '\\');
    if (c == '$') text += '$';
    backslashes = c == '\\' ? backslashes + 1 : 0;
    text += c;
  }
  return text;
}

}  // namespace

std::string make_rule(const std::string& target, const std::vector<std::string>& prerequisites) {
  std::string text = escaped(target) + ":";
  std::set<std::string> seen;
  for (const std::string& path : prerequisites)
    if (seen.insert(path).second) text += " \\\n  " + escaped(path);
  return text + "\n";
}

}  // namespace codl::tools
