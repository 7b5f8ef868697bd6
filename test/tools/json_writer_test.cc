#include "tools/json_writer.h"

#include <cmath>
#include <limits>

#include "test/support/catch.h"

namespace codl::tools {
namespace {

TEST_CASE("commas stand between items, at every depth") {
  JsonWriter json;
  json.begin_object();
  json.key("a").integer(-1);
  json.key("b").begin_array();
  json.begin_object();
  json.end_object();
  json.string("x");
  json.boolean(true);
  json.end_array();
  json.key("c").number(0.1);
  json.end_object();
  CHECK(json.text() == R"({"a":-1,"b":[{},"x",true],"c":0.1})");
}

TEST_CASE("what a body writes is inside, and numbers are as short as they read back") {
  JsonWriter json;
  json.object([&] {
    json.key("a").array([&] {
      json.number(0.1F);
      json.number(0.1);
      json.number(1e300);
    });
    json.key("b").object([] {});
  });
  CHECK(json.text() == R"({"a":[0.1,0.1,1e+300],"b":{}})");
}

TEST_CASE("quotes, backslashes and control characters are escaped, UTF-8 is not") {
  JsonWriter json;
  json.string("a\"b\\c\n\x01\x7f\xc3\xa9");
  CHECK(json.text() == "\"a\\\"b\\\\c\\u000a\\u0001\\u007f\xc3\xa9\"");
}

TEST_CASE("indented texts are what they were, whatever is escaped in them") {
  JsonWriter json;
  json.begin_object();
  json.key("a\\").string("\\");
  json.key("b").string("\\\"{,:");
  json.key("c").begin_array();
  json.string("]\\");
  json.integer(1);
  json.end_array();
  json.end_object();
  CHECK(pretty_json(json.text(), 1) == R"({
  "a\\": "\\",
  "b": "\\\"{,:",
  "c": ["]\\", 1]
}
)");
}

TEST_CASE("a number that JSON cannot carry is null") {
  for (double value : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    JsonWriter json;
    json.number(value);
    CHECK(json.text() == "null");
  }
}

}  // namespace
}  // namespace codl::tools
