// Writes JSON, for all programs: those that run on devices are built without the compiler's
// libraries.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace codl::tools {

// Writes commas and quotes; the caller keeps begin and end in balance. The output is one compact
// line.
//
//   JsonWriter json;
//   json.begin_object();
//   json.key("name").string("x");
//   json.key("dims").begin_array();
//   json.integer(1);
//   json.end_array();
//   json.end_object();
class JsonWriter {
 public:
  JsonWriter& key(std::string_view name);
  void string(std::string_view text);
  void integer(int64_t value);
  void number(float value);
  void number(double value);  // shortest form that reads back equal; null if not finite
  void boolean(bool value);
  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }
  // `body` writes what is inside.
  template <typename Body>
  void object(const Body& body) {
    begin_object();
    body();
    end_object();
  }
  template <typename Body>
  void array(const Body& body) {
    begin_array();
    body();
    end_array();
  }

  const std::string& text() const { return text_; }

 private:
  template <typename Number>
  void digits(Number value);
  void separate();
  void open(char bracket);
  void close(char bracket);

  std::string text_;
  std::vector<bool> has_items_;  // one per open bracket
  bool after_key_ = false;
};

// Compact JSON with line ends and indentation down to `depth` levels; what is deeper stays in a
// line.
std::string pretty_json(std::string_view json, size_t depth);

}  // namespace codl::tools
