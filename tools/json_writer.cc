#include "tools/json_writer.h"

#include <charconv>
#include <cmath>

#include "tools/printable.h"

namespace codl::tools {

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  text_ += json_string(name);
  text_ += ':';
  after_key_ = true;
  return *this;
}

void JsonWriter::string(std::string_view text) {
  separate();
  text_ += json_string(text);
}

void JsonWriter::integer(int64_t value) {
  separate();
  text_ += std::to_string(value);
}

void JsonWriter::number(float value) { digits(value); }
void JsonWriter::number(double value) { digits(value); }

template <typename Number>
void JsonWriter::digits(Number value) {
  separate();
  if (!std::isfinite(value)) {
    text_ += "null";
    return;
  }
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer), value);
  text_.append(buffer, result.ptr);
}

void JsonWriter::boolean(bool value) {
  separate();
  text_ += value ? "true" : "false";
}

void JsonWriter::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (has_items_.empty()) return;
  if (has_items_.back()) text_ += ',';
  has_items_.back() = true;
}

void JsonWriter::open(char bracket) {
  separate();
  text_ += bracket;
  has_items_.push_back(false);
}

void JsonWriter::close(char bracket) {
  has_items_.pop_back();
  text_ += bracket;
}

std::string pretty_json(std::string_view json, size_t depth) {
  std::string text;
  size_t level = 0;
  bool is_quoted = false;
  const auto new_line = [&] { text += '\n' + std::string(2 * level, ' '); };
  for (size_t i = 0; i < json.size(); ++i) {
    const char character = json[i];
    if (is_quoted) {
      text += character;
      if (character == '\\' && i + 1 < json.size()) text += json[++i];
      is_quoted = character != '"';
      continue;
    }
    const bool closes = character == '}' || character == ']';
    if (closes && level-- <= depth) new_line();
    text += character;
    is_quoted = character == '"';
    if (character == '{' || character == '[') {
      if (++level <= depth) new_line();
    } else if (character == ',') {
      if (level <= depth)
        new_line();
      else
        text += ' ';
    } else if (character == ':') {
      text += ' ';
    }
  }
  return text + '\n';
}

}  // namespace codl::tools
