// Holds a number of a device profile and says where it comes from.
#pragma once

#include <string>

namespace codl::compiler {

// Says where a number comes from. Predicted numbers are never written as measured. The surest comes
// first:
//   Measured   by this project, on the device that the source names
//   Fitted     such that a model meets measurements of others; the source says which
//   Published  read from a paper or data sheet
//   Assumed    the source says why
enum class Origin { Measured, Fitted, Published, Assumed };
// Profiles, sample files and texts for people use these names.
inline constexpr const char* kOriginNames[] = {"measured", "fitted", "published", "assumed"};

struct Quantity {
  double value = 0;  // finite, 0 or more
  Origin origin = Origin::Assumed;
  std::string source;  // text, resolved from the profile's table of sources
};

}  // namespace codl::compiler
