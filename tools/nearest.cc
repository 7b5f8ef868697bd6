#include "tools/nearest.h"

#include <algorithm>
#include <cstddef>

namespace codl::tools {
namespace {

// Returns how many letters to insert, drop, replace or swap with their neighbour turn one into the
// other.
// Source: optimal string alignment distance, after Damerau, "A technique for computer detection and
// correction of spelling errors", CACM 7(3), 1964.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i)
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] =
          std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

// Changes ASCII letters only.
std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

}  // namespace

std::vector<std::string> all_nearest(std::string_view text, const std::vector<std::string>& names) {
  constexpr size_t kMaxBytes = 256;  // no misspelt name is longer
  if (text.size() > kMaxBytes) return {};
  const std::string lower = lower_case(text);
  std::vector<std::string> found;
  // A third of the letters may be wrong; with fewer than three letters, one.
  size_t least = std::max<size_t>(1, text.size() / 3);
  for (const std::string& name : names)
    if (const size_t letters = distance(lower, lower_case(name));
        letters <= least && letters < name.size()) {
      if (letters < least) found.clear();
      least = letters;
      found.push_back(name);
    }
  return found;
}

std::string nearest(std::string_view text, const std::vector<std::string>& names) {
  const std::vector<std::string> found = all_nearest(text, names);
  return found.empty() ? "" : found.front();
}

std::string suggestion(std::string_view text, const std::vector<std::string>& names,
                       const std::string& prefix) {
  const std::string name = nearest(text, names);
  return name.empty() ? "" : " (did you mean " + prefix + name + "?)";
}

}  // namespace codl::tools
