#include "tools/flags.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "test/support/catch.h"
#include "tools/quantity.h"
#include "tools/tool_error.h"

namespace codl::tools {
namespace {

enum class Dim { Auto, Height };

struct Values {
  std::string name;
  std::string output;
  std::vector<std::string> inputs;
  std::vector<int32_t> cores;
  bool is_json = false;
  int32_t count = 7;
  std::optional<double> share;
  Dim dim = Dim::Auto;
  std::optional<Dim> list;
  double budget_s = 300;
  std::vector<std::string> operands;
  std::optional<std::string> answer;
};

CommandLine command_line_of(Values* values) {
  CommandLine line;
  line.tool = "tool";
  line.version = "1.2.3";
  line.usage = {"PLAN [flags]"};
  line.summary = "Does something. In a way.";
  line.examples = {{"tool net.codl", "does it"}};
  line.groups = {
      {"Texts",
       {{"name", text_value("TEXT", &values->name, "nobody"), "a text"},
        {"output", text_value("FILE", &values->output), "a file", "o"},
        {"input", texts_value("TEXT", &values->inputs), "several"},
        {"json", switch_value(&values->is_json), "print 'JSON' - [one line]: so"}},
       {{"seldom", text_value("TEXT", &values->name), "be rare", "S", "It has details."}}},
      {"Numbers",
       {{"count", integer_value("N", &values->count, 1, 99), "a count"},
        {"share", number_value("R", &values->share, 0, 1, "by prediction"), "a share"},
        {"cores", cores_value(&values->cores, "not pinned"), "cores"},
        {"budget", duration_value(&values->budget_s), "time"},
        {"dim", choice_value(&values->dim, {{"auto", Dim::Auto}, {"height", Dim::Height}}), "one"},
        {"list",
         optional_choice_value<Dim>(&values->list, {{"text", Dim::Auto}, {"json", Dim::Height}}),
         "a list"}}}};
  line.exit_codes = "0 ok";
  return line;
}

Values parse(const std::vector<std::string>& arguments) {
  Values values;
  const Arguments parsed = parse_command_line(command_line_of(&values), arguments);
  values.operands = parsed.operands;
  values.answer = parsed.answer;
  return values;
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const ToolError& error) {
    CHECK(error.code == ExitCode::Input);
    return error.what();
  }
  return "accepted";
}
std::string refusal_of(const std::vector<std::string>& arguments) {
  return message_of([&] { parse(arguments); });
}

using Texts = std::vector<std::string>;

TEST_CASE("a value follows its flag behind '=' or as the next argument") {
  CHECK(parse({"--name=x=y"}).name == "x=y");
  CHECK(parse({"--name", "x"}).name == "x");
  CHECK(parse({"--name=--json"}).name == "--json");
  CHECK(parse({"-o", "x"}).output == "x");
  CHECK(parse({"-o=x"}).output == "x");
  CHECK(parse({"--output", "-"}).output == "-");
  CHECK(parse({"--json", "plan"}).is_json);
  CHECK(parse({"--json", "plan"}).operands == Texts{"plan"});
  CHECK(parse({"--input=a", "--input", "b"}).inputs == Texts{"a", "b"});
  CHECK(parse({"--list", "x"}).operands == Texts{"x"});
  CHECK(parse({"--list"}).list == Dim::Auto);
  CHECK(parse({"--list=json"}).list == Dim::Height);
  CHECK(parse({"--dim=height"}).dim == Dim::Height);
}

TEST_CASE("'-' and what follows '--' are operands") {
  CHECK(parse({"a", "-", "--", "--json", "@x"}).operands == Texts{"a", "-", "--json", "@x"});
}

TEST_CASE("wrong flags are refused, with the nearest") {
  CHECK(
      refusal_of({"--nmae=x"}) ==
      "command line: expected a flag that --help-all lists, found '--nmae' (did you mean --name?)");
  CHECK(
      refusal_of({"-name=x"}) ==
      "command line: expected a flag that --help-all lists, found '-name' (did you mean --name?)");
  CHECK(refusal_of({"-n"}) == "command line: expected a flag that --help-all lists, found '-n'");
  CHECK(refusal_of({"--xyzzyplugh"}) ==
        "command line: expected a flag that --help-all lists, found '--xyzzyplugh'");
  CHECK(refusal_of({"--name"}) == "--name: expected TEXT, found nothing");
  CHECK(refusal_of({"--name="}) == "--name: expected TEXT, found nothing behind '='");
  CHECK(refusal_of({"--name", "--json"}) ==
        "--name: expected TEXT, found '--json' (a value like this needs --name=)");
  CHECK(refusal_of({"--json=1"}) == "--json: expected no value, found '1'");
  CHECK(refusal_of({"-o=x", "--output=y"}) ==
        "--output: expected to be given once, found it again");
  CHECK(refusal_of({"--json", "--json"}) == "--json: expected to be given once, found it again");
  CHECK(refusal_of({"--dim=hieght"}) ==
        "--dim: expected auto or height, found 'hieght' (did you mean height?)");
}

TEST_CASE("only -h and --help ask for help, and wrong flags come first") {
  for (const char* flag : {"-h", "--help"}) {
    const Values values = parse({flag});
    REQUIRE(values.answer);
    for (const char* text :
         {"usage: tool PLAN [flags]", "Texts:", "  -o, --output=FILE", "(default: 7)",
          "(default: nobody)", "(repeatable)", "--dim=auto|height", "[=text|json]"})
      CHECK(values.answer->find(text) != std::string::npos);
    CHECK(values.answer->find("--seldom") == std::string::npos);
  }
  CHECK(parse({"--version"}).answer == "tool 1.2.3\n");
  for (const char* flag : {"--h", "--hlep", "-help", "--helpme", "-hx", "-H"})
    CHECK(refusal_of({flag}).find("a flag that --help-all lists") != std::string::npos);
  CHECK(refusal_of({"--help", "--no-such"}) != "accepted");
}

TEST_CASE("all help lists every flag, in each format") {
  for (const char* flag :
       {"--help-all", "--help-all=man", "--help-all=bash", "--help-all=zsh", "--help-all=fish"}) {
    CAPTURE(flag);
    const Values values = parse({flag});
    REQUIRE(values.answer);
    std::string text = *values.answer;
    for (size_t at; (at = text.find("\\-")) != std::string::npos;) text.erase(at, 1);
    for (const char* name : {"name", "output", "json", "seldom", "dim", "help-all", "version"})
      CHECK((text.find("--" + std::string(name)) != std::string::npos ||
             text.find("-l " + std::string(name)) != std::string::npos));
  }
  CHECK(parse({"--help-all"}).answer->find("be rare. It has details.") != std::string::npos);
}

TEST_CASE("completions quote what shells would read") {
  CHECK(parse({"--help-all=fish"})
            .answer->find("complete -c tool -l json -d 'print \\'JSON\\' - [one line]: so'\n") !=
        std::string::npos);
  CHECK(parse({"--help-all=zsh"})
            .answer->find("'--json[print '\\''JSON'\\'' - \\[one line\\]\\: so]'") !=
        std::string::npos);
  CHECK(parse({"--help-all=bash"}).answer->find("    --dim) choices=\"auto height\" ;;\n") !=
        std::string::npos);
}

TEST_CASE("help fits a terminal") {
  const std::string text = *parse({"--help-all"}).answer;
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    CHECK(end - begin <= 80);
    begin = end + 1;
  }
}

TEST_CASE("numbers are whole and in range") {
  CHECK(parse({"--count=50"}).count == 50);
  CHECK(parse({"--share=0.25"}).share == 0.25);
  CHECK(parse_uint64("--seed", "18446744073709551615") == ~uint64_t{0});
  for (const char* text : {"0", "-1", "5x", " 5", "0x5", "1e3", "100", "99999999999999999999"})
    CHECK(refusal_of({std::string("--count=") + text}).find("an integer from 1 to 99") !=
          std::string::npos);
  for (const char* text : {"-0.1", "1.1", "nan", "inf", "half", "0.5x", "1e999"})
    CHECK(refusal_of({std::string("--share=") + text}).find("a number from 0 to 1") !=
          std::string::npos);
  for (const char* text : {"", "-1", "18446744073709551616"})
    CHECK(message_of([&] { parse_uint64("--seed", text); }) != "accepted");
}

TEST_CASE("times are seconds or minutes") {
  CHECK(parse({"--budget=90s"}).budget_s == 90);
  CHECK(parse({"--budget=10m"}).budget_s == 600);
  for (const char* text : {"m", "0s", "-1m", "1h", "1ms", "soon"})
    CHECK(refusal_of({std::string("--budget=") + text}) != "accepted");
  CHECK(refusal_of({"--budget=90"}) ==
        "--budget: expected a number with its unit, s or m, found '90'");
  CHECK(refusal_of({"--budget=0.5s"}) == "--budget: expected 1s to 1000000000s, found '0.5s'");
}

TEST_CASE("a number of a quantity has a unit") {
  const Quantity slice = {{{"us", 1}, {"ms", 1e3}, {"s", 1e6}}, 0, 1e12};
  const auto us = [&](const char* text) { return parse_quantity("--slice", text, slice); };
  CHECK(us("4ms") == 4000);
  CHECK(us("4 ms") == 4000);
  CHECK(us("0.5S") == 500000);
  CHECK(us("1e3us") == 1000);
  for (const char* text : {"4", "", "ms", "4min", "4  ms", "four ms", "-1ms", "1ms2", "nanms"})
    CHECK(message_of([&] { us(text); }) != "accepted");
  CHECK(message_of([&] { us("4"); }) ==
        "--slice: expected a number with its unit, us, ms or s, found '4'");
  const Quantity load = percent_quantity(0.01, 0, 90);
  CHECK(parse_quantity("--load", "60%", load) == 0.6);
  CHECK(message_of([&] { parse_quantity("--load", "60", load); }) ==
        "--load: expected a number with its unit, %, found '60'");
  CHECK(message_of([&] { parse_quantity("--load", "91%", load); }) ==
        "--load: expected 0% to 90%, found '91%'");
}

TEST_CASE("cores are numbers and ranges") {
  CHECK(parse_cores("--c", "3") == std::vector<int32_t>{3});
  CHECK(parse_cores("--c", "0,4-6,2") == std::vector<int32_t>{0, 4, 5, 6, 2});
  for (const char* text :
       {"", ",", "0,", "first", "4-2", "-1", "1-", "1-2-3", "0-99999999", "1,1", "0-3,2"})
    CHECK(message_of([&] { parse_cores("--c", text); }) != "accepted");
}

TEST_CASE("a response file's words are arguments") {
  const auto split = [](std::string_view text) { return split_arguments(text, "@f"); };
  CHECK(split(" a\tb\r\nc\n").size() == 3);
  CHECK(split("").empty());
  CHECK(split(R"(--name='a "b" \n' x)") == Texts{R"(--name=a "b" \n)", "x"});
  CHECK(split(R"("a \"b\" \\ \n")") == Texts{R"(a "b" \ \n)"});
  CHECK(split(R"(a\ b \'c)") == Texts{"a b", "'c"});
  CHECK(split("'' \"\"") == Texts{"", ""});
  CHECK(split("'a\nb'") == Texts{"a\nb"});
  CHECK(message_of([&] { split("'a"); }) == "@f: expected a closing ', found the end");
  CHECK(message_of([&] { split("a \"b"); }) == "@f: expected a closing \", found the end");
  CHECK(message_of([&] { split("a\\"); }) ==
        "@f: expected a character behind the last backslash, found the end");
  CHECK(message_of([&] { split(std::string_view("a\0b", 3)); }) ==
        "@f: expected text, found a zero byte");
}

TEST_CASE("response files may name others, to a bound") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("codl_flags_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(folder / name, std::ios::binary) << text;
    return "@" + (folder / name).string();
  };
  const std::string inner = write("inner", "--name='a b'");
  const std::string outer = write("outer", "x " + inner + " y");
  const Values values = parse({"first", outer, "last"});
  CHECK(values.name == "a b");
  CHECK(values.operands == Texts{"first", "x", "y", "last"});

  const std::string loop = write("loop", "@" + (folder / "loop").string());
  CHECK(refusal_of({loop}).find("at most 8 deep") != std::string::npos);
  // Each calls the next twice: 2^8 files in all, but no more bytes than are allowed.
  for (int i = 0; i < 7; ++i) {
    const std::string next = "@" + (folder / ("wide" + std::to_string(i + 1))).string() + " ";
    write("wide" + std::to_string(i), next + next);
  }
  write("wide7", std::string(20000, 'x'));
  CHECK(refusal_of({"@" + (folder / "wide0").string()}).find("1048576 bytes") != std::string::npos);
  CHECK(refusal_of({write("many", std::string(1 << 18, 'x').replace(1, 1, " "))}) == "accepted");
  std::string words;
  for (int i = 0; i < 70000; ++i) words += "x ";
  CHECK(refusal_of({write("words", words)}).find("at most 65536 arguments") != std::string::npos);
  CHECK(refusal_of({"@/dev/zero"}).find("1048576 bytes") != std::string::npos);
  CHECK(refusal_of({"@" + (folder / "missing").string()}).find("a file of arguments") !=
        std::string::npos);
  CHECK(refusal_of({"@" + folder.string()}).find("a file of arguments") != std::string::npos);
  CHECK(parse({"@"}).operands == Texts{"@"});
  std::filesystem::remove_all(folder);
}

TEST_CASE("the nearest name is one that was likely meant") {
  const Texts names = {"host", "sd855", "sd865", "kirin990"};
  CHECK(nearest("sd85", names) == "sd855");
  CHECK(nearest("hots", names) == "host");
  CHECK(nearest("kirin-990", names) == "kirin990");
  CHECK(nearest("HOST", names) == "host");
  CHECK(nearest("KIRIN-990", names) == "kirin990");
  CHECK(nearest("zzz", names).empty());
  CHECK(nearest("", names).empty());
  CHECK(nearest(std::string(100000, 'x'), names).empty());
}

}  // namespace
}  // namespace codl::tools
