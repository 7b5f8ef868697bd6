#include "compiler/support/json_reader.h"

#include "test/support/catch.h"
#include "test/support/expected.h"

namespace codl::compiler {
namespace {

// Returns the error's line that `read` of a text ends with, or "".
template <typename Read>
std::string error_of(llvm::StringRef text, Read read) {
  auto document = JsonDocument::parse(text, "x.json");
  if (!document) return llvm::toString(document.takeError());
  read((*document)->root());
  return llvm::toString((*document)->finish());
}

TEST_CASE("a document that is read whole gives its values and no error") {
  std::string name;
  double number = 0;
  int64_t integer = 0;
  size_t choice = 0;
  bool has_other = true;
  CHECK(error_of(R"({"name": "n", "number": 2.5, "integer": 7, "choice": "b"})",
                 [&](const JsonValue& root) {
                   name = root.member("name").as_string();
                   number = root.member("number").as_number();
                   integer = root.member("integer").as_integer(0, 7);
                   choice = root.member("choice").as_choice({"a", "b"});
                   has_other = static_cast<bool>(root.optional_member("other"));
                 }) == "");
  CHECK(name == "n");
  CHECK(number == 2.5);
  CHECK(integer == 7);
  CHECK(choice == 1);
  CHECK_FALSE(has_other);
}

TEST_CASE("keys come in the file's order") {
  std::vector<std::string> keys;
  CHECK(error_of(R"({"b": 1, "a": 2})", [&](const JsonValue& root) { keys = root.keys(); }) == "");
  CHECK(keys == std::vector<std::string>{"b", "a"});
}

TEST_CASE("elements of an array have their index as pointer") {
  std::vector<std::string> texts;
  CHECK(error_of(R"({"list": ["a", "b", 3]})", [&](const JsonValue& root) {
          for (const JsonValue& element : root.member("list").elements())
            texts.push_back(element.as_string());
        }).find("/list/2: expected a string, found 3") != std::string::npos);
  CHECK(texts == std::vector<std::string>{"a", "b", ""});
  CHECK(error_of(R"({"list": {}})", [](const JsonValue& root) {
          CHECK(root.member("list").elements().empty());
        }).find("/list: expected an array, found an object") != std::string::npos);
}

TEST_CASE("text that is no JSON is named with its line") {
  const auto nothing = [](const JsonValue&) {};
  CHECK(error_of("{\n \"a\": }", nothing) == "x.json: line 2: expected JSON, found '\"a\": }'");
  CHECK(error_of("{\"a\": 1", nothing) ==
        "x.json: line 1: expected JSON, found the end of the file");
  CHECK(error_of("", nothing) == "x.json: line 1: expected JSON, found the end of the file");
  CHECK(error_of("{\"a\": 1e999}", nothing) == "x.json: line 1: expected JSON, found '1e999'");
}

TEST_CASE("a key that an object has twice is an error") {
  CHECK(error_of(R"({"a": {"b": 1, "b": 2}})", [](const JsonValue&) {}) ==
        "x.json: expected each key once, found key \"b\" twice");
}

TEST_CASE("an object of more keys than any file has is refused before it is built") {
  const auto object_of = [](size_t count) {
    std::string text = "{\"inner\": [{";
    for (size_t i = 0; i < count; ++i)
      text += (i == 0 ? "\"k" : ", \"k") + std::to_string(i) + "\": 0";
    return text + "}]}";
  };
  const auto read = [](const JsonValue& root) {
    for (const JsonValue& object : root.member("inner").elements()) object.keys();
  };
  CHECK(error_of(object_of(JsonDocument::kMaxKeys), read) == "");
  CHECK(error_of(object_of(JsonDocument::kMaxKeys + 1), read) ==
        "x.json: expected at most 256 keys of an object, found more");
}

TEST_CASE("a missing key is an error at the object") {
  CHECK(error_of(R"({"gpu": {}})", [](const JsonValue& root) {
          root.member("gpu").member("gate").as_string();
        }) == "x.json: /gpu: expected the key \"gate\", found none");
  CHECK(error_of("{}", [](const JsonValue& root) { root.member("name").as_string(); }) ==
        "x.json: expected the key \"name\", found none");
}

TEST_CASE("an unknown key is an error that lists the known ones") {
  CHECK(error_of(R"({"gpu": {"gate": "x", "gaet": "y"}})", [](const JsonValue& root) {
          root.member("gpu").member("gate").as_string();
          root.member("gpu").optional_member("layout");
        }) == "x.json: /gpu: expected a key of \"gate\" or \"layout\", found \"gaet\"");
}

TEST_CASE("a value of the wrong kind is an error at its pointer") {
  const auto of = [](llvm::StringRef value, auto read) {
    return error_of(("{\"a/b\": " + value + "}").str(),
                    [&](const JsonValue& root) { read(root.member("a/b")); });
  };
  const auto number = [](const JsonValue& value) { value.as_number(); };
  const auto integer = [](const JsonValue& value) { value.as_integer(1, 64); };
  CHECK(of("1", [](const JsonValue& value) { value.as_string(); }) ==
        "x.json: /a~1b: expected a string, found 1");
  CHECK(of("-1", number) == "x.json: /a~1b: expected a number from 0 to 10^12, found -1");
  CHECK(of("\"1\"", number) == "x.json: /a~1b: expected a number from 0 to 10^12, found \"1\"");
  CHECK(of("0", integer) == "x.json: /a~1b: expected a whole number from 1 to 64, found 0");
  CHECK(of("65", integer) == "x.json: /a~1b: expected a whole number from 1 to 64, found 65");
  CHECK(of("1.5", integer) == "x.json: /a~1b: expected a whole number from 1 to 64, found 1.5");
  CHECK(of("18446744073709551615", integer) ==
        "x.json: /a~1b: expected a whole number from 1 to 64, found 18446744073709551615");
  CHECK(
      of("\"foo\"", [](const JsonValue& value) {
        value.as_choice({"fine_svm", "sub_buffer", "separate"});
      }) == "x.json: /a~1b: expected \"fine_svm\", \"sub_buffer\" or \"separate\", found \"foo\"");
  CHECK(of("[1]", [](const JsonValue& value) { value.member("c"); }) ==
        "x.json: /a~1b: expected an object, found an array");
  CHECK(of("null", [](const JsonValue& value) { value.keys(); }) ==
        "x.json: /a~1b: expected an object, found null");
}

TEST_CASE("a document over another takes over members and members of members, but for a null") {
  const auto over = [](const char* own, const char* base) {
    const auto document = test::value_of(JsonDocument::parse(own, "own.json"));
    document->inherit(*test::value_of(JsonDocument::parse(base, "base.json")));
    const JsonValue object = document->root().optional_member("o");
    std::string keys = object ? "o:" : "";
    if (object)
      for (const std::string& key : object.keys()) keys += " " + key;
    return keys;
  };
  const char* const base = R"({"o": {"a": 1, "b": {"c": 2}}})";
  CHECK(over("{}", base) == "o: a b");
  CHECK(over(R"({"o": null})", base).empty());
  CHECK(over(R"({"o": {"d": 3}})", base) == "o: d a b");
  CHECK(over(R"({"o": {"b": null}})", base) == "o: a");
}

TEST_CASE("the first error stands") {
  CHECK(error_of(R"({"a": 1, "b": 2, "c": 3})", [](const JsonValue& root) {
          root.member("a").as_string();
          root.member("b").as_string();
        }) == "x.json: /a: expected a string, found 1");
}

}  // namespace
}  // namespace codl::compiler
