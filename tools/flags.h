// A table describes the command line of a tool: parsing, messages and all help (tools/help.h)
// follow from it.
//
// A flag is --name=value or --name value, or -x=value, -x value if it has a short name; a value
// that begins with "--" needs the '='. A flag is given once unless it says that it repeats. "--"
// ends the flags. "@FILE" stands for the arguments in a file. docs/reference/command_line.md has
// the rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/nearest.h"

namespace codl::tools {

// Says how a flag's value is written and read, and its default.
struct FlagValue {
  std::string form;          // "FILE", "N", "h|oc|auto"; empty: a switch, which has no value
  std::string default_text;  // as in --help; if empty, it is not shown
  // Takes a value; `flag` ("--name") is for input errors. For a switch the value is "".
  std::function<void(const std::string& flag, const std::string& value)> read;
  bool may_stand_alone = false;  // "--name" means read(flag, ""); a value needs '='
  bool repeats = false;
  std::vector<std::string> choices = {};  // every value that it takes, if these are few
};

struct Flag {
  std::string name;  // "num-runs", without dashes
  FlagValue value;
  std::string help;             // its effect, as a command: "print errors only"; no full stop
  std::string short_name = {};  // "o": -o is the same flag
  std::string details = {};     // sentences that --help-all adds
};

struct FlagGroup {
  std::string title;            // the task: "What is computed where"
  std::vector<Flag> flags;      // in --help
  std::vector<Flag> more = {};  // in --help-all only
};

struct Example {
  std::string command;
  std::string what;  // says what the command does
};

struct CommandLine {
  std::string tool;                // "codl-run"
  std::string version;             // --version shows it after the tool's name
  std::vector<std::string> usage;  // one per way to call it: the text after the tool's name
  std::string summary;             // sentences; the first is the title of the manual page
  std::vector<Example> examples = {};
  std::vector<FlagGroup> groups = {};  // --help, --help-all and --version are added
  std::string exit_codes = {};
};

// Returns every flag of every group, in order; they are borrowed.
std::vector<const Flag*> all_flags(const CommandLine& command_line);

// The result of parsing: the flags were read. `answer` is the text for --help, --help-all or
// --version; without one, the operands are left to the tool.
struct Arguments {
  std::optional<std::string> answer;
  std::vector<std::string> operands;
};

// Returns the contents of a response file; throws an input error. At most `max_bytes` are kept; a
// longer result says only that there is more.
using ReadResponseFile = std::function<std::string(const std::string& path, size_t max_bytes)>;
// No output may be this file afterwards.
std::string read_response_file(const std::string& path, size_t max_bytes);

// Replaces each "@FILE" before "--" by the arguments in FILE.
std::vector<std::string> expand_response_files(const std::vector<std::string>& arguments,
                                               const ReadResponseFile& read = read_response_file);

// Splits a response file's text into words between white space. '...' keeps everything, "..."
// everything but \" and \\; outside quotes a backslash keeps the next character. `where` is for
// errors.
std::vector<std::string> split_arguments(std::string_view text, const std::string& where);

// Expands response files and reads every flag, in order. Input errors: an unknown flag, with what
// does it here (tools/other_names.h) or the nearest one; a flag given twice; a missing, superfluous
// or wrong value.
Arguments parse_command_line(const CommandLine& command_line,
                             const std::vector<std::string>& arguments,
                             const ReadResponseFile& read = read_response_file);

// Returns the operand; "" if there is none. `name` ("PLAN") is for the input error about a second
// one.
std::string only_operand(const Arguments& arguments, const std::string& name);

// ---- values ----

FlagValue switch_value(bool* target);
// `default_text` is shown if the target is empty.
FlagValue text_value(std::string form, std::string* target, std::string default_text = "");
FlagValue texts_value(std::string form, std::vector<std::string>* target);
// A text that may be left out; then it is "".
FlagValue optional_text_value(std::string form, std::optional<std::string>* target,
                              std::string default_text);
// Distinct cores, as "0,2,4-7".
FlagValue cores_value(std::vector<int32_t>* target, std::string default_text);
// Takes a number from `least` to `most`.
FlagValue number_value(std::string form, double* target, double least, double most);
FlagValue number_value(std::string form, std::optional<double>* target, double least, double most,
                       std::string default_text);

// Throws an input error if the value is no whole number, or out of range.
int64_t parse_integer(const std::string& flag, const std::string& value, int64_t least,
                      int64_t most);
uint64_t parse_uint64(const std::string& flag, const std::string& value);
double parse_number(const std::string& flag, const std::string& value, double least, double most);
std::vector<int32_t> parse_cores(const std::string& flag, const std::string& value);

FlagValue integer_value(std::string form, uint64_t* target);
// `default_text` is shown in place of the target's number.
template <typename Int>
FlagValue integer_value(std::string form, Int* target, Int least,
                        Int most = std::numeric_limits<Int>::max(), std::string default_text = "") {
  if (default_text.empty()) default_text = std::to_string(*target);
  return {std::move(form), std::move(default_text),
          [=](const std::string& flag, const std::string& value) {
            *target = static_cast<Int>(parse_integer(flag, value, least, most));
          }};
}
template <typename Int>
FlagValue integer_value(std::string form, std::optional<Int>* target, Int least, Int most,
                        std::string default_text) {
  return {std::move(form), std::move(default_text),
          [=](const std::string& flag, const std::string& value) {
            *target = static_cast<Int>(parse_integer(flag, value, least, most));
          }};
}

// Returns the index of `value` in `names`; the input error names the nearest.
size_t parse_choice(const std::string& flag, const std::string& value,
                    const std::vector<std::string>& names);

template <typename Enum>
using Choices = std::vector<std::pair<std::string, Enum>>;

template <typename Enum>
FlagValue choice_value(Enum* target, const Choices<Enum>& choices) {
  std::vector<std::string> names;
  std::string form;
  std::string default_text;
  for (const auto& [name, value] : choices) {
    names.push_back(name);
    form += (form.empty() ? "" : "|") + name;
    if (value == *target) default_text = name;
  }
  FlagValue result{std::move(form), std::move(default_text),
                   [=](const std::string& flag, const std::string& value) {
                     *target = choices[parse_choice(flag, value, names)].second;
                   }};
  result.choices = std::move(names);
  return result;
}
// Takes one of the choices; without the flag the target stays empty.
template <typename Enum>
FlagValue choice_value(std::optional<Enum>* target, const Choices<Enum>& choices,
                       std::string default_text) {
  Enum chosen = choices[0].second;
  FlagValue value = choice_value(&chosen, choices);
  value.default_text = std::move(default_text);
  value.read = [=](const std::string& flag, const std::string& text) {
    std::vector<std::string> names;
    for (const auto& choice : choices) names.push_back(choice.first);
    *target = choices[parse_choice(flag, text, names)].second;
  };
  return value;
}
// A choice whose value may be left out; then it is the first of `choices`.
template <typename Enum>
FlagValue optional_choice_value(std::optional<Enum>* target, const Choices<Enum>& choices) {
  std::vector<std::string> names;
  std::string form;
  for (const auto& choice : choices) {
    names.push_back(choice.first);
    form += (form.empty() ? "" : "|") + choice.first;
  }
  FlagValue value{std::move(form), choices[0].first,
                  [=](const std::string& flag, const std::string& text) {
                    *target = choices[text.empty() ? 0 : parse_choice(flag, text, names)].second;
                  }};
  value.may_stand_alone = true;
  value.choices = std::move(names);
  return value;
}

}  // namespace codl::tools
