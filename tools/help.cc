#include "tools/help.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace codl::tools {
namespace {

// A terminal has 80 columns; what a flag does begins at the column that half of the flags fit
// before.
constexpr size_t kColumns = 80;
constexpr size_t kHelpColumn = 30;

constexpr char kResponseFiles[] =
    "@FILE stands for the arguments in FILE, between white space; '...' and \"...\" keep blanks.";

// Writes `text` from `column` on, where the present line already is, in lines of kColumns.
std::string wrapped(const std::string& text, size_t column) {
  std::string out;
  size_t at = column;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (at > column && at + 1 + word.size() > kColumns) {
      out += '\n' + std::string(column, ' ');
      at = column;
    } else if (at > column) {
      out += ' ';
      ++at;
    }
    out += word;
    at += word.size();
    begin = end + 1;
  }
  return out;
}

// Returns "[=FORM]", "=FORM" or nothing, as it follows a flag's name.
std::string form_of(const Flag& flag) {
  if (flag.value.form.empty()) return "";
  return flag.value.may_stand_alone ? "[=" + flag.value.form + "]" : "=" + flag.value.form;
}

std::string help_of(const Flag& flag, bool has_details) {
  std::string text = flag.help;
  if (has_details && !flag.details.empty()) text += ". " + flag.details;
  std::string facts = flag.value.repeats ? "repeatable" : "";
  if (!flag.value.default_text.empty())
    facts += (facts.empty() ? "" : ", ") +
             std::string(flag.value.may_stand_alone ? "without a value: " : "default: ") +
             flag.value.default_text;
  return facts.empty() ? text : text + " (" + facts + ")";
}

std::string paragraph_of(const Flag& flag, bool has_details) {
  std::string head = "  ";
  if (!flag.short_name.empty()) head += "-" + flag.short_name + ", ";
  head += "--" + flag.name + form_of(flag);
  if (head.size() + 2 > kHelpColumn)
    head += '\n' + std::string(kHelpColumn, ' ');
  else
    head += std::string(kHelpColumn - head.size(), ' ');
  return head + wrapped(help_of(flag, has_details), kHelpColumn) + "\n";
}

std::string text_of(const CommandLine& line, bool is_full) {
  std::string text = wrapped(line.summary, 0) + "\n\n";
  if (!line.examples.empty()) text += "Example:\n";
  for (const Example& example : line.examples)
    text += "  " + example.command + "\n      " + wrapped(example.what, 6) + "\n";
  text += line.examples.empty() ? "" : "\n";
  for (size_t i = 0; i < line.usage.size(); ++i)
    text += (i == 0 ? "usage: " : "       ") + line.tool + " " + line.usage[i] + "\n";
  for (const FlagGroup& group : line.groups) {
    if (group.flags.empty() && !is_full) continue;
    text += "\n" + group.title + ":\n";
    for (const Flag& flag : group.flags) text += paragraph_of(flag, is_full);
    if (is_full)
      for (const Flag& flag : group.more) text += paragraph_of(flag, is_full);
  }
  if (is_full) text += "\n" + wrapped(kResponseFiles, 0) + "\n";
  return text + "\n" + wrapped("Exit codes: " + line.exit_codes, 0) + "\n";
}

// ---- man ----

// As roff shows it unchanged.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  // A line that begins so would be a request.
  return !out.empty() && (out[0] == '.' || out[0] == '\'') ? "\\&" + out : out;
}

std::string man_page(const CommandLine& line) {
  std::string title = line.tool;
  std::transform(title.begin(), title.end(), title.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string text =
      ".TH " + title + " 1 \"\" \"" + roff(line.tool + " " + line.version) + "\" codl\n";
  const size_t end = line.summary.find('.');
  text += ".SH NAME\n" + roff(line.tool) + " \\- " + roff(line.summary.substr(0, end)) + "\n";
  text += ".SH SYNOPSIS\n.nf\n";
  for (const std::string& usage : line.usage) text += roff(line.tool + " " + usage) + "\n";
  text += ".fi\n.SH DESCRIPTION\n" + roff(line.summary) + "\n.SH EXAMPLES\n";
  for (const Example& example : line.examples)
    text += ".TP\n.B " + roff(example.command) + "\n" + roff(example.what) + "\n";
  text += ".SH OPTIONS\n";
  for (const FlagGroup& group : line.groups) {
    text += ".SS \"" + roff(group.title) + "\"\n";
    for (const std::vector<Flag>* some : {&group.flags, &group.more})
      for (const Flag& flag : *some)
        text += ".TP\n.B " +
                roff((flag.short_name.empty() ? "" : "-" + flag.short_name + ", ") + "--" +
                     flag.name + form_of(flag)) +
                "\n" + roff(help_of(flag, true)) + "\n";
  }
  return text + ".PP\n" + roff(kResponseFiles) + "\n.SH EXIT STATUS\n" + roff(line.exit_codes) +
         "\n";
}

// ---- completions ----

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string header(const CommandLine& line, const char* shell) {
  return "# Completions of " + line.tool + "; " + line.tool + " --help-all=" + shell +
         " prints them.\n";
}

// Bash has '=' between words, so that a value is a word of its own.
std::string bash_completions(const CommandLine& line) {
  std::string name = "_" + line.tool;
  std::replace(name.begin(), name.end(), '-', '_');
  std::string flags, cases;
  for (const Flag* flag : all_flags(line)) {
    const bool needs_value = !flag->value.form.empty() && !flag->value.may_stand_alone;
    flags += (flags.empty() ? "--" : " --") + flag->name + (needs_value ? "=" : "");
    if (!flag->value.choices.empty())
      cases += "    --" + flag->name + ") choices=\"" + joined(flag->value.choices) + "\" ;;\n";
  }
  return header(line, "bash") + name + R"(() {
  local word=${COMP_WORDS[COMP_CWORD]} flag= choices=
  if [[ $word == "=" ]]; then
    flag=${COMP_WORDS[COMP_CWORD-1]} word=
  elif [[ ${COMP_WORDS[COMP_CWORD-1]} == "=" ]]; then
    flag=${COMP_WORDS[COMP_CWORD-2]}
  fi
  case $flag in
)" + cases +
         R"(  esac
  [[ -z $flag && $word == -* ]] && choices=")" +
         flags + R"("
  COMPREPLY=($(compgen -W "$choices" -- "$word"))
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
  return 0
}
complete -o default -F )" +
         name + " " + line.tool + "\n";
}

// Returns `text` with `escape` before each character of `special`.
std::string escaped(const std::string& text, std::string_view special, const char* escape = "\\") {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += escape;
    out += c;
  }
  return out;
}

std::string zsh_completions(const CommandLine& line) {
  std::string text = "#compdef " + line.tool + "\n" + header(line, "zsh") + "_arguments";
  for (const Flag* flag : all_flags(line)) {
    const FlagValue& value = flag->value;
    std::string spec = (value.repeats ? "*--" : "--") + flag->name;
    if (!value.form.empty()) spec += value.may_stand_alone ? "=-" : "=";
    spec += "[" + escaped(flag->help, "[]:\\") + "]";
    if (!value.form.empty())
      spec += (value.may_stand_alone ? "::value:" : ":value:") +
              (value.choices.empty() ? "_files" : "(" + joined(value.choices) + ")");
    text +=
        " \\\n  '" + escaped(spec, "'", "'\\'") + "'";  // a ' ends the quotes and begins them anew
  }
  return text + " \\\n  '*:file:_files'\n";
}

std::string fish_completions(const CommandLine& line) {
  std::string text = header(line, "fish");
  for (const Flag* flag : all_flags(line)) {
    text += "complete -c " + line.tool + " -l " + flag->name;
    if (!flag->short_name.empty())
      text += (flag->short_name.size() == 1 ? " -s " : " -o ") + flag->short_name;
    if (!flag->value.choices.empty())
      text += " -x -a '" + joined(flag->value.choices) + "'";
    else if (!flag->value.form.empty())
      text += " -r";
    text += " -d '" + escaped(flag->help, "'\\") + "'\n";
  }
  return text;
}

}  // namespace

std::string short_help(const CommandLine& command_line) { return text_of(command_line, false); }

std::string full_help(const CommandLine& command_line, HelpFormat format) {
  switch (format) {
    case HelpFormat::Text:
      break;
    case HelpFormat::Man:
      return man_page(command_line);
    case HelpFormat::Bash:
      return bash_completions(command_line);
    case HelpFormat::Zsh:
      return zsh_completions(command_line);
    case HelpFormat::Fish:
      return fish_completions(command_line);
  }
  return text_of(command_line, true);
}

}  // namespace codl::tools
