// Values of flags that have a unit: times, bytes, percentages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/flags.h"

namespace codl::tools {

// A unit that a number is written with: what one of it is to the target.
struct Unit {
  std::string name;  // "ms"; upper and lower case are the same
  double factor;
};
// Numbers with a unit: a bare number would be a guess, and is an input error that names the units.
struct Quantity {
  std::vector<Unit> units;  // errors give bounds in the first
  double least;             // least value of the target
  double most;
};
// "60%", at `percent` of the target for each.
Quantity percent_quantity(double percent, double least_percent = 0, double most_percent = 100);

FlagValue quantity_value(std::string form, double* target, Quantity quantity);
FlagValue quantity_value(std::string form, std::optional<double>* target, Quantity quantity,
                         std::string default_text);
// "90s", "10m", at least one second.
FlagValue duration_value(double* target_s);

// Input errors: no unit of these, no number, or out of range.
double parse_quantity(const std::string& flag, const std::string& value, const Quantity& quantity);

}  // namespace codl::tools
