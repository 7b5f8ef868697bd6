#include "tools/printable.h"

#include "test/support/catch.h"

namespace codl::tools {
namespace {

TEST_CASE("what a terminal would obey is written out") {
  CHECK(printable("a\x1b[31mb") == "a\\u001b[31mb");
  CHECK(printable("a\nb\tc\rd\x7f") == "a\\u000ab\\u0009c\\u000dd\\u007f");
  CHECK(printable(std::string_view("\0", 1)) == "\\u0000");
  CHECK(printable("\xc2\x80\xc2\x9b\xc2\x9f") == "\\u0080\\u009b\\u009f");
  CHECK(printable("\xd8\x9c") == "\\u061c");
  CHECK(printable("\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\xaa\xe2\x80\xae") ==
        "\\u200e\\u200f\\u202a\\u202e");
  CHECK(printable("\xe2\x81\xa6\xe2\x81\xa9\xe2\x80\xa8") == "\\u2066\\u2069\\u2028");
  CHECK(printable("\xf3\xa0\x80\x81") == "\\udb40\\udc01");
}

TEST_CASE("bytes that are no UTF-8 are written out") {
  CHECK(printable("\x9b") == "\\x9b");
  CHECK(printable("\xff\xfe") == "\\xff\\xfe");
  CHECK(printable("\xc3") == "\\xc3");
  CHECK(printable("\xe2\x80") == "\\xe2\\x80");
  CHECK(printable("\xc1\x9b") == "\\xc1\\x9b");                    // longer than necessary
  CHECK(printable("\xe0\x82\x9b") == "\\xe0\\x82\\x9b");           // the same
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // a surrogate
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
}

TEST_CASE("other text stays, and doing it twice changes nothing") {
  const std::string text = "conv1/BiasAdd:0 \\ \"x\" \xc3\xa9 \xe4\xb8\xad \xf0\x9f\x98\x80";
  CHECK(printable(text) == text);
  const std::string shown = printable("\x1b\xff\xc2\x9b");
  CHECK(printable(shown) == shown);
}

TEST_CASE("lines keep their ends") {
  CHECK(printable_lines("a\nb\r\n\x1b") == "a\nb\\u000d\n\\u001b");
}

TEST_CASE("JSON strings are JSON whatever they hold") {
  CHECK(json_string("a\"\\\n\x7f") == "\"a\\\"\\\\\\u000a\\u007f\"");
  CHECK(json_string("\xff\xc2\x9b") == "\"\\ufffd\\u009b\"");
}

}  // namespace
}  // namespace codl::tools
