#include "tools/quantity.h"

#include <strings.h>

#include <charconv>
#include <cstdio>
#include <string_view>
#include <utility>

#include "tools/tool_error.h"

namespace codl::tools {
namespace {

// Returns `value` of a target in the unit: "5m", "60%".
std::string text_of(double value, const Unit& unit) {
  char digits[32];
  std::snprintf(digits, sizeof(digits), "%.13g", value / unit.factor);
  return digits + unit.name;
}

bool read_number(std::string_view text, double* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Quantity percent_quantity(double percent, double least_percent, double most_percent) {
  return {{{"%", percent}}, percent * least_percent, percent * most_percent};
}

FlagValue quantity_value(std::string form, double* target, Quantity quantity) {
  return {std::move(form), text_of(*target, quantity.units.front()),
          [=](const std::string& flag, const std::string& value) {
            *target = parse_quantity(flag, value, quantity);
          }};
}

FlagValue quantity_value(std::string form, std::optional<double>* target, Quantity quantity,
                         std::string default_text) {
  return {std::move(form), std::move(default_text),
          [=](const std::string& flag, const std::string& value) {
            *target = parse_quantity(flag, value, quantity);
          }};
}

FlagValue duration_value(double* target_s) {
  return quantity_value("TIME", target_s, {{{"s", 1}, {"m", 60}}, 1, 1e9});
}

double parse_quantity(const std::string& flag, const std::string& value, const Quantity& quantity) {
  const size_t last = value.find_last_of("0123456789.");
  const size_t digits = last == std::string::npos ? 0 : last + 1;
  std::string_view unit = std::string_view(value).substr(digits);
  if (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  std::string names;
  for (size_t i = 0; i < quantity.units.size(); ++i) {
    const Unit& known = quantity.units[i];
    names += (i == 0 ? "" : i + 1 == quantity.units.size() ? " or " : ", ") + known.name;
    if (unit.size() != known.name.size() ||
        strncasecmp(unit.data(), known.name.data(), unit.size()) != 0)
      continue;
    double number = 0;
    if (!read_number(std::string_view(value).substr(0, digits), &number)) continue;
    if (number * known.factor >= quantity.least && number * known.factor <= quantity.most)
      return number * known.factor;
    fail_input(flag,
               text_of(quantity.least, quantity.units.front()) + " to " +
                   text_of(quantity.most, quantity.units.front()),
               "'" + value + "'");
  }
  fail_input(flag, "a number with its unit, " + names, "'" + value + "'");
}

}  // namespace codl::tools
