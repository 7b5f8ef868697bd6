#include "tools/flags.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>

#include "tools/files.h"
#include "tools/help.h"
#include "tools/other_names.h"
#include "tools/tool_error.h"

namespace codl::tools {
namespace {

// Linux has no more cores (CONFIG_NR_CPUS).
constexpr int32_t kMaxCore = 8191;

// Response files have limits: far beyond any command line, but soon reached by a file that names
// itself or never ends.
constexpr int kMaxResponseFileDepth = 8;
constexpr size_t kMaxResponseFileBytes = 1 << 20;  // a whole command line has at most so many
constexpr size_t kMaxArguments = 1 << 16;

// True if all of `text` is a number that fits.
template <typename Number>
bool read_number(std::string_view text, Number* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

// Returns the shortest text: 0.5, 90, 1e+09.
std::string text_of(double value) {
  char digits[32];
  std::snprintf(digits, sizeof(digits), "%g", value);
  return digits;
}

// Reads "4" or "4-7" as first, last.
bool read_core_range(std::string_view text, int32_t* first, int32_t* last) {
  const size_t dash = text.find('-');
  if (!read_number(text.substr(0, dash), first)) return false;
  *last = *first;
  if (dash != std::string_view::npos && !read_number(text.substr(dash + 1), last)) return false;
  return *first >= 0 && *first <= *last && *last <= kMaxCore;
}

// ---- response files ----

class ResponseFiles {
 public:
  explicit ResponseFiles(const ReadResponseFile& read) : read_(read) {}

  void expand(const std::vector<std::string>& arguments, int depth) {
    for (const std::string& argument : arguments) {
      is_ended_ |= argument == "--";
      if (is_ended_ || argument.size() < 2 || argument[0] != '@') {
        if (expanded_.size() == kMaxArguments)
          fail_input("command line", "at most " + std::to_string(kMaxArguments) + " arguments",
                     "more");
        expanded_.push_back(argument);
        continue;
      }
      if (depth == kMaxResponseFileDepth)
        fail_input(argument,
                   "response files at most " + std::to_string(kMaxResponseFileDepth) +
                       " deep in each other",
                   "one more");
      const std::string contents = read_(argument.substr(1), bytes_left_);
      if (contents.size() > bytes_left_)
        fail_input(argument,
                   "at most " + std::to_string(kMaxResponseFileBytes) +
                       " bytes in the response files of a command line",
                   "more");
      bytes_left_ -= contents.size();
      expand(split_arguments(contents, argument), depth + 1);
    }
  }
  std::vector<std::string> take() { return std::move(expanded_); }

 private:
  const ReadResponseFile& read_;
  std::vector<std::string> expanded_;
  size_t bytes_left_ = kMaxResponseFileBytes;
  bool is_ended_ = false;  // "--" ended the flags
};

// ---- parsing ----

// Returns "--name", and "-x" if the flag has a short name.
std::vector<std::string> spellings(const Flag& flag) {
  std::vector<std::string> all = {"--" + flag.name};
  if (!flag.short_name.empty()) all.push_back("-" + flag.short_name);
  return all;
}

bool is_spelling(const Flag& flag, std::string_view text) {
  const std::vector<std::string> all = spellings(flag);
  return std::find(all.begin(), all.end(), text) != all.end();
}

// Turns "--input_Shape" into "input-shape".
std::string bare(std::string name) {
  name.erase(0, std::min(name.find_first_not_of('-'), name.size()));
  for (char& c : name)
    if (c == '_')
      c = '-';
    else if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
  return name;
}

class Parser {
 public:
  explicit Parser(const CommandLine& command_line)
      : flags_(all_flags(command_line)), tool_(command_line.tool) {}

  std::vector<std::string> parse(const std::vector<std::string>& arguments) {
    std::vector<std::string> operands;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const std::string& argument = arguments[i];
      if (argument == "--") {
        operands.insert(operands.end(), arguments.begin() + static_cast<ptrdiff_t>(i) + 1,
                        arguments.end());
        break;
      }
      if (argument.size() < 2 || argument[0] != '-') {
        operands.push_back(argument);
        continue;
      }
      const size_t equals = argument.find('=');
      const std::string given = argument.substr(0, equals);
      const Flag& flag = find(given);
      if (!given_.insert(&flag).second && !flag.value.repeats)
        fail_input(given, "to be given once", "it again");
      if (flag.value.form.empty()) {
        if (equals != std::string::npos)
          fail_input(given, "no value", quoted(argument.substr(equals + 1)));
        flag.value.read(given, "");
      } else if (equals != std::string::npos) {
        if (equals + 1 == argument.size()) fail_input(given, flag.value.form, "nothing behind '='");
        flag.value.read(given, argument.substr(equals + 1));
      } else if (flag.value.may_stand_alone) {
        flag.value.read(given, "");
      } else {
        if (i + 1 == arguments.size()) fail_input(given, flag.value.form, "nothing");
        const std::string& value = arguments[++i];
        if (value.compare(0, 2, "--") == 0 || value.empty())
          fail_input(given, flag.value.form,
                     value.empty() ? "an empty argument"
                                   : quoted(value) + " (a value like this needs " + given + "=)");
        flag.value.read(given, value);
      }
    }
    return operands;
  }

 private:
  const Flag& find(const std::string& given) const {
    std::vector<std::string> known;
    for (const Flag* flag : flags_) {
      if (is_spelling(*flag, given)) return *flag;
      known.push_back("--" + flag->name);
    }
    fail_input("command line", "a flag that --help-all lists", quoted(given) + hint(given, known));
  }

  // Returns what was likely meant, in brackets: the flag with other dashes or letters, what does
  // here what other tools call so, the nearest of the known ones, or "".
  std::string hint(const std::string& given, const std::vector<std::string>& known) const {
    const std::string name = bare(given);
    if (std::find(known.begin(), known.end(), "--" + name) == known.end())
      if (const std::string here = flag_here(name, tool_); !here.empty())
        return " (here: " + here + ")";
    return suggestion("--" + name, known);
  }

  std::vector<const Flag*> flags_;
  const std::string& tool_;
  std::set<const Flag*> given_;
};

// ---- help ----

struct Asked {
  bool help = false;
  std::optional<HelpFormat> all;
  bool version = false;
};

FlagGroup general_group(Asked* asked) {
  return {"General",
          {{"help", switch_value(&asked->help), "print the most used flags, and exit", "h"},
           {"help-all",
            optional_choice_value<HelpFormat>(&asked->all, {{"text", HelpFormat::Text},
                                                            {"man", HelpFormat::Man},
                                                            {"bash", HelpFormat::Bash},
                                                            {"zsh", HelpFormat::Zsh},
                                                            {"fish", HelpFormat::Fish}}),
            "print all flags, and exit", "",
            "man: as a manual page; bash, zsh, fish: as the shell's completions."},
           {"version", switch_value(&asked->version), "print the version, and exit"}}};
}

}  // namespace

std::string read_response_file(const std::string& path, size_t max_bytes) {
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
  std::string contents;
  char block[4096];
  while (file && contents.size() <= max_bytes) {
    const size_t count = std::fread(block, 1, sizeof(block), file.get());
    contents.append(block, count);
    if (count == 0) break;
  }
  if (!file || std::ferror(file.get()) != 0)
    fail_input("@" + path, "a file of arguments that can be read", std::strerror(errno));
  // A pipe, as from a shell's <(...), cannot be replaced by an output.
  struct stat entry = {};
  if (fstat(fileno(file.get()), &entry) == 0 && S_ISREG(entry.st_mode)) note_input(path);
  return contents;
}

std::vector<std::string> expand_response_files(const std::vector<std::string>& arguments,
                                               const ReadResponseFile& read) {
  ResponseFiles files(read);
  files.expand(arguments, 0);
  return files.take();
}

std::vector<std::string> split_arguments(std::string_view text, const std::string& where) {
  constexpr std::string_view kBlanks = " \t\r\n\f\v";
  std::vector<std::string> arguments;
  bool is_inside = false;  // true inside an argument
  char quote = '\0';
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\0') fail_input(where, "text", "a zero byte");
    if (quote == '\0' && kBlanks.find(c) != std::string_view::npos) {
      is_inside = false;
      continue;
    }
    if (!is_inside) arguments.emplace_back();
    is_inside = true;
    if (c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == '\\' && quote != '\'') {
      const bool is_escape =
          quote == '\0' || (i + 1 < text.size() && std::strchr("\\\"", text[i + 1]));
      if (is_escape && i + 1 == text.size())
        fail_input(where, "a character behind the last backslash", "the end");
      arguments.back() += is_escape ? text[++i] : c;
    } else {
      arguments.back() += c;
    }
  }
  if (quote != '\0') fail_input(where, std::string("a closing ") + quote, "the end");
  return arguments;
}

Arguments parse_command_line(const CommandLine& command_line,
                             const std::vector<std::string>& arguments,
                             const ReadResponseFile& read) {
  Asked asked;
  CommandLine whole = command_line;
  whole.groups.push_back(general_group(&asked));
  Arguments result;
  result.operands = Parser(whole).parse(expand_response_files(arguments, read));
  if (asked.help)
    result.answer = short_help(whole);
  else if (asked.all)
    result.answer = full_help(whole, *asked.all);
  else if (asked.version)
    result.answer = command_line.tool + " " + command_line.version + "\n";
  return result;
}

std::vector<const Flag*> all_flags(const CommandLine& command_line) {
  std::vector<const Flag*> flags;
  for (const FlagGroup& group : command_line.groups)
    for (const std::vector<Flag>* some : {&group.flags, &group.more})
      for (const Flag& flag : *some) flags.push_back(&flag);
  return flags;
}

std::string only_operand(const Arguments& arguments, const std::string& name) {
  if (arguments.operands.size() > 1)
    fail_input("command line", "one " + name,
               quoted(arguments.operands[0]) + " and " + quoted(arguments.operands[1]));
  return arguments.operands.empty() ? "" : arguments.operands[0];
}

FlagValue switch_value(bool* target) {
  return {"", "", [=](const std::string&, const std::string&) { *target = true; }};
}

FlagValue text_value(std::string form, std::string* target, std::string default_text) {
  return {std::move(form), target->empty() ? std::move(default_text) : *target,
          [=](const std::string&, const std::string& value) { *target = value; }};
}

FlagValue optional_text_value(std::string form, std::optional<std::string>* target,
                              std::string default_text) {
  FlagValue value{std::move(form), std::move(default_text),
                  [=](const std::string&, const std::string& text) { *target = text; }};
  value.may_stand_alone = true;
  return value;
}

FlagValue texts_value(std::string form, std::vector<std::string>* target) {
  FlagValue value{std::move(form), "",
                  [=](const std::string&, const std::string& text) { target->push_back(text); }};
  value.repeats = true;
  return value;
}

FlagValue cores_value(std::vector<int32_t>* target, std::string default_text) {
  return {"LIST", std::move(default_text), [=](const std::string& flag, const std::string& value) {
            *target = parse_cores(flag, value);
          }};
}

FlagValue number_value(std::string form, double* target, double least, double most) {
  return {std::move(form), text_of(*target),
          [=](const std::string& flag, const std::string& value) {
            *target = parse_number(flag, value, least, most);
          }};
}

FlagValue number_value(std::string form, std::optional<double>* target, double least, double most,
                       std::string default_text) {
  return {std::move(form), std::move(default_text),
          [=](const std::string& flag, const std::string& value) {
            *target = parse_number(flag, value, least, most);
          }};
}

FlagValue integer_value(std::string form, uint64_t* target) {
  return {std::move(form), std::to_string(*target),
          [=](const std::string& flag, const std::string& value) {
            *target = parse_uint64(flag, value);
          }};
}

int64_t parse_integer(const std::string& flag, const std::string& value, int64_t least,
                      int64_t most) {
  int64_t number = 0;
  if (!read_number(value, &number) || number < least || number > most)
    fail_input(flag, "an integer from " + std::to_string(least) + " to " + std::to_string(most),
               quoted(value));
  return number;
}

uint64_t parse_uint64(const std::string& flag, const std::string& value) {
  uint64_t number = 0;
  if (!read_number(value, &number))
    fail_input(flag, "an integer from 0 to 2^64 - 1", quoted(value));
  return number;
}

double parse_number(const std::string& flag, const std::string& value, double least, double most) {
  double number = 0;
  if (!read_number(value, &number) || !(number >= least && number <= most))
    fail_input(flag, "a number from " + text_of(least) + " to " + text_of(most), quoted(value));
  return number;
}

std::vector<int32_t> parse_cores(const std::string& flag, const std::string& value) {
  std::vector<int32_t> cores;
  std::vector<bool> is_given(kMaxCore + 1);
  std::string_view rest = value;
  while (true) {
    const size_t comma = rest.find(',');
    int32_t first = 0;
    int32_t last = 0;
    if (!read_core_range(rest.substr(0, comma), &first, &last))
      fail_input(flag, "a list of cores like 0,2,4-7", quoted(value));
    for (int32_t core = first; core <= last; ++core) {
      if (is_given[static_cast<size_t>(core)])
        fail_input(flag, "each core once", "core " + std::to_string(core) + " again");
      is_given[static_cast<size_t>(core)] = true;
      cores.push_back(core);
    }
    if (comma == std::string_view::npos) return cores;
    rest.remove_prefix(comma + 1);
  }
}

size_t parse_choice(const std::string& flag, const std::string& value,
                    const std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), value);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  std::string expected;
  for (size_t i = 0; i < names.size(); ++i)
    expected += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  fail_input(flag, expected, quoted(value) + suggestion(value, names));
}

}  // namespace codl::tools
