// Mutates text or a small header, for targets with such inputs: whole tokens swap, repeat,
// disappear or become others that such files hold.
#include <array>
#include <random>

#include "test/fuzz/target.h"

namespace codl::test {
namespace {

// These are numbers at the edges of types, and special texts for readers of JSON, .npy headers and
// flags.
constexpr std::array<const char*, 40> kTokens = {"0",          "-1",
                                                 "1",          "1e308",
                                                 "1e309",      "-1e309",
                                                 "4294967296", "9223372036854775808",
                                                 "0.1",        "1e-320",
                                                 "NaN",        "Infinity",
                                                 "null",       "true",
                                                 "false",      "[]",
                                                 "{}",         "\"\"",
                                                 "[[[[[[[[",   "}}}}",
                                                 "{\"a\":",    ",",
                                                 ":",          "\"",
                                                 "\\u0000",    "\\ud800",
                                                 "True",       "False",
                                                 "'<f4'",      "(2, 3)",
                                                 "(0,)",       "'",
                                                 "--",         "=",
                                                 "@x",         "\x1b[31m",
                                                 "\xc2\x9b",   "\xe2\x80\xae",
                                                 "\xff",       "measured"};

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '.' || c == '-';
}

// Returns the word at or after a random place: [begin, end).
std::pair<size_t, size_t> word_at(const std::string& text, size_t begin) {
  while (begin < text.size() && !is_word(text[begin])) ++begin;
  size_t end = begin;
  while (end < text.size() && is_word(text[end])) ++end;
  return {begin, end};
}

}  // namespace

std::string mutate(const std::string& bytes, uint32_t seed, size_t max_bytes) {
  std::minstd_rand random(seed + 1);
  std::string text = bytes;
  for (uint32_t left = 1 + random() % 3; left > 0; --left) {
    const auto [begin, end] = word_at(text, text.empty() ? 0 : random() % text.size());
    const std::string word = text.substr(begin, end - begin);
    switch (random() % 6) {
      case 0:
        text.replace(begin, end - begin, kTokens[random() % kTokens.size()]);
        break;
      case 1:
        text.insert(begin, kTokens[random() % kTokens.size()]);
        break;
      case 2:
        text.erase(begin, end - begin);
        break;
      case 3: {
        const auto other = word_at(text, text.empty() ? 0 : random() % text.size());
        text.replace(begin, end - begin, text.substr(other.first, other.second - other.first));
        break;
      }
      case 4: {  // repeats a piece
        const size_t count = std::min<size_t>(text.size() - begin, 1 + random() % 64);
        text.insert(begin, text.substr(begin, count));
        break;
      }
      default:  // cuts the text off
        if (random() % 8 == 0) text.resize(begin);
        break;
    }
  }
  if (text.size() > max_bytes) text.resize(max_bytes);
  return text;
}

std::string splice(const std::string& first, const std::string& second, uint32_t seed,
                   size_t max_bytes) {
  std::minstd_rand random(seed + 1);
  std::string text = first.substr(0, first.empty() ? 0 : random() % first.size());
  text += second.substr(second.empty() ? 0 : random() % second.size());
  return text.substr(0, max_bytes);
}

}  // namespace codl::test
