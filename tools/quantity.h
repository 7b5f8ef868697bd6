// Reads values of flags that have a unit: times, bytes, percentages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/flags.h"

namespace codl::tools {

// A unit of a number: the factor turns it into the target's unit.
struct Unit {
  std::string name;  // "ms"; upper and lower case are the same
  double factor;
};
// Describes a number with a unit. A bare number would be a guess; the input error names the units.
struct Quantity {
  std::vector<Unit> units;  // errors give bounds in the first
  double least;             // least value of the target
  double most;
};
// Reads "60%", with `percent` of the target for each percent.
Quantity percent_quantity(double percent, double least_percent = 0, double most_percent = 100);

FlagValue quantity_value(std::string form, double* target, Quantity quantity);
FlagValue quantity_value(std::string form, std::optional<double>* target, Quantity quantity,
                         std::string default_text);
// Reads "90s", "10m", at least one second.
FlagValue duration_value(double* target_s);

// Throws an input error for another unit, no number, or a number out of range.
double parse_quantity(const std::string& flag, const std::string& value, const Quantity& quantity);

}  // namespace codl::tools
