#include "tools/printable.h"

#include <cstddef>
#include <cstdint>

namespace codl::tools {
namespace {

constexpr char kHex[] = "0123456789abcdef";
constexpr uint32_t kNoCodePoint = 0xffffffff;

struct Decoded {
  uint32_t code_point;  // if kNoCodePoint, no character begins at the first byte
  size_t bytes;
};

// Accepts only shortest forms, and no surrogates: RFC 3629.
Decoded decode(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const size_t count = first < 0xc2   ? 0
                       : first < 0xe0 ? 2
                       : first < 0xf0 ? 3
                       : first < 0xf5 ? 4
                                      : 0;
  if (count == 0 || text.size() < count) return {kNoCodePoint, 1};
  uint32_t code_point = first & (0x7fu >> count);
  for (size_t i = 1; i < count; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {kNoCodePoint, 1};
    code_point = code_point << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t kMin[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code_point >= 0xd800 && code_point < 0xe000;
  if (code_point < kMin[count] || code_point > 0x10ffff || is_surrogate) return {kNoCodePoint, 1};
  return {code_point, count};
}

// Returns whether it is of Unicode's categories Cc, Zl and Zp, or one of those characters of Cf
// that are invisible or reorder text.
bool is_hidden(uint32_t code_point) {
  constexpr struct {
    uint32_t first, last;
  } kHidden[] = {{0x00, 0x1f},         // C0
                 {0x7f, 0x9f},         // DEL and C1
                 {0xad, 0xad},         // soft hyphen
                 {0x61c, 0x61c},       // Arabic letter mark
                 {0x180e, 0x180e},     // Mongolian vowel separator
                 {0x200b, 0x200f},     // zero width, left-to-right and right-to-left marks
                 {0x2028, 0x202e},     // separators, embeddings and overrides
                 {0x2060, 0x206f},     // invisible operators, isolates
                 {0xfeff, 0xfeff},     // byte order mark
                 {0xfff9, 0xfffb},     // interlinear annotations
                 {0xe0000, 0xe007f}};  // tags
  for (const auto& range : kHidden)
    if (code_point >= range.first && code_point <= range.last) return true;
  return false;
}

void append_unit(uint32_t unit, std::string* out) {
  *out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) *out += kHex[unit >> shift & 15];
}

void append_escape(uint32_t code_point, std::string* out) {
  if (code_point < 0x10000) return append_unit(code_point, out);
  append_unit(0xd800 + ((code_point - 0x10000) >> 10), out);
  append_unit(0xdc00 + (code_point & 0x3ff), out);
}

enum class Form { Line, Lines, Json };

std::string escape(std::string_view text, Form form) {
  std::string out;
  out.reserve(text.size() + 2);
  while (!text.empty()) {
    const auto [code_point, bytes] = decode(text);
    if (code_point == kNoCodePoint) {
      const auto byte = static_cast<uint8_t>(text[0]);
      if (form == Form::Json)
        out += "\\ufffd";
      else
        out.append({'\\', 'x', kHex[byte >> 4], kHex[byte & 15]});
    } else if (form == Form::Json && (code_point == '"' || code_point == '\\')) {
      out += '\\';
      out += text[0];
    } else if (is_hidden(code_point) && !(form == Form::Lines && code_point == '\n')) {
      append_escape(code_point, &out);
    } else {
      out += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return escape(text, Form::Line); }
std::string printable_lines(std::string_view text) { return escape(text, Form::Lines); }
std::string json_string(std::string_view text) { return '"' + escape(text, Form::Json) + '"'; }

}  // namespace codl::tools
