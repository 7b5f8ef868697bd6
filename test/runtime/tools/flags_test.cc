#include "runtime/tools/flags.h"

#include "test/support/catch.h"
#include "tools/tool_error.h"

namespace codl::tools {
namespace {

struct Parsed {
  std::vector<std::string> positional;
  std::string name;
  bool is_json = false;
};

Parsed parse(const std::vector<std::string>& arguments) {
  Parsed parsed;
  parsed.positional = parse_flags(
      {{"name", "TEXT", "a text", [&](const std::string& value) { parsed.name = value; }},
       {"json", "", "a switch", [&](const std::string&) { parsed.is_json = true; }}},
      arguments);
  return parsed;
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

TEST_CASE("a value follows its flag behind '=' or as the next argument") {
  CHECK(parse({"--name=x=y"}).name == "x=y");
  CHECK(parse({"--name", "x"}).name == "x");
  CHECK(parse({"--name", "--json"}).name == "--json");
  CHECK(parse({"--name="}).name.empty());
  CHECK(parse({"--json", "plan"}).is_json);
  CHECK(parse({"--json", "plan"}).positional == std::vector<std::string>{"plan"});
}

TEST_CASE("'-' and what follows '--' are positional") {
  CHECK(parse({"a", "-", "--", "--json"}).positional ==
        std::vector<std::string>{"a", "-", "--json"});
}

TEST_CASE("wrong flags are refused in one line") {
  CHECK(message_of([] { parse({"--nmae=x"}); }) ==
        "command line: expected a flag that --help lists, found --nmae");
  CHECK(message_of([] { parse({"-n"}); }) ==
        "command line: expected a flag that --help lists, found -n");
  CHECK(message_of([] { parse({"--name"}); }) == "--name: expected TEXT, found nothing");
  CHECK(message_of([] { parse({"--json=1"}); }) == "--json: expected no value, found 1");
}

TEST_CASE("numbers are whole and in range") {
  CHECK(parse_int32("n", "50", 1) == 50);
  CHECK(parse_uint64("seed", "18446744073709551615") == ~uint64_t{0});
  for (const char* text : {"", "0", "-1", "5x", " 5", "0x5", "1e3", "2147483648"})
    CHECK(message_of([&] { parse_int32("n", text, 1); }) != "accepted");
  for (const char* text : {"", "-1", "18446744073709551616"})
    CHECK(message_of([&] { parse_uint64("n", text); }) != "accepted");
}

TEST_CASE("cores are numbers and ranges") {
  CHECK(parse_cores("c", "3") == std::vector<int32_t>{3});
  CHECK(parse_cores("c", "0,4-6,2") == std::vector<int32_t>{0, 4, 5, 6, 2});
  for (const char* text : {"", ",", "0,", "first", "4-2", "-1", "1-", "1-2-3", "0-99999999"})
    CHECK(message_of([&] { parse_cores("c", text); }) != "accepted");
}

}  // namespace
}  // namespace codl::tools
