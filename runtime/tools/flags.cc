#include "runtime/tools/flags.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "tools/tool_error.h"

namespace codl::tools {
namespace {

// Linux has no more (CONFIG_NR_CPUS).
constexpr int32_t kMaxCore = 8191;

// True if all of `text` is a number that fits.
template <typename Int>
bool read_number(std::string_view text, Int* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

// "4" or "4-7" -> first, last.
bool read_core_range(std::string_view text, int32_t* first, int32_t* last) {
  const size_t dash = text.find('-');
  if (!read_number(text.substr(0, dash), first)) return false;
  *last = *first;
  if (dash != std::string_view::npos && !read_number(text.substr(dash + 1), last)) return false;
  return *first >= 0 && *first <= *last && *last <= kMaxCore;
}

}  // namespace

std::vector<std::string> parse_flags(const std::vector<Flag>& flags,
                                     const std::vector<std::string>& arguments) {
  std::vector<std::string> positional;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") {
      positional.insert(positional.end(), arguments.begin() + static_cast<ptrdiff_t>(i) + 1,
                        arguments.end());
      break;
    }
    if (argument.size() < 2 || argument[0] != '-') {
      positional.push_back(argument);
      continue;
    }
    const size_t equals = argument.find('=');
    const std::string given = argument.substr(0, equals);
    const auto flag = std::find_if(flags.begin(), flags.end(),
                                   [&](const Flag& known) { return "--" + known.name == given; });
    if (flag == flags.end()) fail_input("command line", "a flag that --help lists", given);
    const bool has_value = equals != std::string::npos;
    if (flag->value_name.empty()) {
      if (has_value) fail_input(given, "no value", argument.substr(equals + 1));
      flag->set("");
    } else if (has_value) {
      flag->set(argument.substr(equals + 1));
    } else {
      if (i + 1 == arguments.size()) fail_input(given, flag->value_name, "nothing");
      flag->set(arguments[++i]);
    }
  }
  return positional;
}

std::string describe_flags(const std::vector<Flag>& flags) {
  std::vector<std::string> heads;
  size_t width = 0;
  for (const Flag& flag : flags) {
    heads.push_back("--" + flag.name + (flag.value_name.empty() ? "" : "=" + flag.value_name));
    width = std::max(width, heads.back().size());
  }
  std::string text;
  for (size_t i = 0; i < flags.size(); ++i)
    text += "  " + heads[i] + std::string(width - heads[i].size() + 2, ' ') + flags[i].help + "\n";
  return text;
}

int32_t parse_int32(const std::string& flag, const std::string& value, int32_t least) {
  int32_t number = 0;
  if (!read_number(value, &number) || number < least)
    fail_input("--" + flag, "an integer of at least " + std::to_string(least), "'" + value + "'");
  return number;
}

uint64_t parse_uint64(const std::string& flag, const std::string& value) {
  uint64_t number = 0;
  if (!read_number(value, &number))
    fail_input("--" + flag, "an integer from 0 to 2^64 - 1", "'" + value + "'");
  return number;
}

std::vector<int32_t> parse_cores(const std::string& flag, const std::string& value) {
  std::vector<int32_t> cores;
  std::string_view rest = value;
  while (true) {
    const size_t comma = rest.find(',');
    int32_t first = 0;
    int32_t last = 0;
    if (!read_core_range(rest.substr(0, comma), &first, &last))
      fail_input("--" + flag, "a list of cores like 0,2,4-7", "'" + value + "'");
    for (int32_t core = first; core <= last; ++core) cores.push_back(core);
    if (comma == std::string_view::npos) return cores;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace codl::tools
