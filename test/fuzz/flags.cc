// Fuzz target: a command line. The bytes up to the first zero are its arguments, one a line;
// further zeros end the response files "0", "1", ... that "@0", "@1" name; any other name is the
// first's. The arguments are refused in one line, or read equally twice; readable ones are written
// as a response file and split into the same arguments again.
#include "tools/flags.h"

#include <sstream>

#include "test/fuzz/target.h"
#include "tools/printable.h"
#include "tools/quantity.h"
#include "tools/tool_error.h"

namespace {

using namespace codl::tools;

enum class Kind { First, Second };

// There is a flag of every kind.
struct Values {
  bool is_on = false;
  std::string text;
  std::vector<std::string> texts;
  std::vector<int32_t> cores;
  double seconds = 1;
  double share = 0;
  std::optional<double> percent;
  int32_t count = 3;
  std::optional<uint32_t> limit;
  uint64_t seed = 0;
  Kind kind = Kind::First;
  std::optional<Kind> list;
  Arguments arguments;

  bool operator==(const Values& other) const {
    return is_on == other.is_on && text == other.text && texts == other.texts &&
           cores == other.cores && seconds == other.seconds && share == other.share &&
           percent == other.percent && count == other.count && limit == other.limit &&
           seed == other.seed && kind == other.kind && list == other.list &&
           arguments.answer == other.arguments.answer &&
           arguments.operands == other.arguments.operands;
  }
};

CommandLine command_line_of(Values* values) {
  const Choices<Kind> kinds = {{"first", Kind::First}, {"second", Kind::Second}};
  CommandLine line;
  line.tool = "fuzz";
  line.version = "1";
  line.usage = {"[flags]"};
  line.summary = "Reads arguments.";
  line.exit_codes = "0 ok";
  line.groups = {
      {"Texts",
       {{"on", switch_value(&values->is_on), "a switch", "n"},
        {"output", text_value("FILE", &values->text), "a text", "o"},
        {"input", texts_value("TEXT", &values->texts), "texts"}}},
      {"Numbers",
       {{"cpu-cores", cores_value(&values->cores, "none"), "cores"},
        {"time-budget", duration_value(&values->seconds), "a time"},
        {"share", number_value("R", &values->share, 0, 1), "a number"},
        {"percent", quantity_value("PERCENT", &values->percent, percent_quantity(1), "none"),
         "a number"},
        {"count", integer_value("N", &values->count, -5, 100000), "an integer"},
        {"limit", integer_value<uint32_t>("N", &values->limit, 0, UINT32_MAX, "none"),
         "an integer"},
        {"seed", integer_value("N", &values->seed), "an integer"},
        {"kind", choice_value(&values->kind, kinds), "a choice"},
        {"list", optional_choice_value<Kind>(&values->list, kinds), "a choice"}}}};
  return line;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

// Quotes an argument for a response file, whatever it holds.
std::string quoted(const std::string& argument) {
  std::string text = "\"";
  for (char c : argument) text += (c == '"' || c == '\\' ? "\\" : "") + std::string(1, c);
  return text + "\"";
}

void check_message(const ToolError& error) {
  const std::string shown = printable(error.what());
  if (error.code != ExitCode::Input) codl::test::fail("expected an input error, found " + shown);
  if (shown.find(": expected ") == std::string::npos || shown.find(", found ") == std::string::npos)
    codl::test::fail("expected 'where: expected X, found Y', found " + shown);
  for (const unsigned char c : shown)
    if (c < 0x20 || c == 0x7f) codl::test::fail("expected one printable line, found another");
  if (printable(shown) != shown) codl::test::fail("expected what is shown to stay so");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::vector<std::string> parts = split({reinterpret_cast<const char*>(data), size}, '\0');
  const std::vector<std::string> arguments =
      parts.empty() ? std::vector<std::string>() : split(parts[0], '\n');
  const auto read = [&](const std::string& name, size_t) {
    const size_t index = name.size() == 1 && name[0] >= '0' && name[0] <= '9'
                             ? static_cast<size_t>(name[0] - '0')
                             : 0;
    return 1 + index < parts.size() ? parts[1 + index] : std::string();
  };
  const auto parse = [&](const std::vector<std::string>& given) {
    Values values;
    values.arguments = parse_command_line(command_line_of(&values), given, read);
    return values;
  };
  try {
    const std::vector<std::string> expanded = expand_response_files(arguments, read);
    std::string text;
    for (const std::string& argument : expanded) text += quoted(argument) + "\n";
    if (split_arguments(text, "again") != expanded)
      codl::test::fail("expected the arguments that were written, found others");
    const Values values = parse(arguments);
    if (!(values == parse(arguments))) codl::test::fail("expected the same again, found another");
    if (values.count < -5 || values.count > 100000 || !(values.share >= 0 && values.share <= 1))
      codl::test::fail("expected numbers in their range, found others");
  } catch (const ToolError& error) {
    check_message(error);
  }
  return 0;
}
