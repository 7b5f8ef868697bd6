#include "compiler/accuracy/ranges.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "schema/quantised.h"

namespace codl::compiler {
namespace {

// A grid of all numbers has 16 of them between two neighbours, one of a quarter of the range 4.
constexpr size_t kBins = 4096;

// Each end of a range is tried at so many places, evenly from zero to the outermost number.
constexpr int kPlaces = 64;

}  // namespace

Histogram::Histogram(float lowest, float highest)
    : lowest_(lowest), highest_(highest), counts_(kBins) {}

void Histogram::add(llvm::ArrayRef<float> numbers) {
  const double width = double{highest_} - lowest_;
  const double bins_per_unit = width > 0 ? kBins / width : 0;
  for (const float number : numbers) {
    if (number == 0) continue;
    const auto bin = static_cast<size_t>((double{number} - lowest_) * bins_per_unit);
    ++counts_[std::min(bin, kBins - 1)];
  }
}

void Histogram::add(const Histogram& other) {
  for (size_t bin = 0; bin < kBins; ++bin) counts_[bin] += other.counts_[bin];
}

double Histogram::squared_error(const ir::Grid& grid) const {
  const double width = (double{highest_} - lowest_) / kBins;
  double sum = 0;
  for (size_t bin = 0; bin < kBins; ++bin) {
    if (counts_[bin] == 0) continue;
    const double middle = lowest_ + (static_cast<double>(bin) + 0.5) * width;
    const int8_t byte = byte_of_number(static_cast<float>(middle), grid.scale, grid.zero_point);
    const double error = number_of_byte(byte, grid.scale, grid.zero_point) - middle;
    sum += static_cast<double>(counts_[bin]) * error * error;
  }
  return sum;
}

ir::Grid grid_from(float low, float high) {
  const double from = std::min(low, 0.0f), to = std::max(high, 0.0f);
  if (from == to) return {1, 0};
  const double scale = std::max((to - from) / 255, double{FLT_MIN});
  const double below = std::clamp(std::nearbyint(-from / scale), 0.0, 255.0);
  return {static_cast<float>(scale), static_cast<int32_t>(below) - 128};
}

ir::Grid nearest_grid(const Histogram& numbers) {
  const float lowest = std::min(numbers.lowest(), 0.0f);
  const float highest = std::max(numbers.highest(), 0.0f);
  float low = lowest, high = highest;
  ir::Grid best = grid_from(low, high);
  double least = numbers.squared_error(best);
  const auto try_range = [&](float from, float to) {
    const ir::Grid grid = grid_from(from, to);
    const double error = numbers.squared_error(grid);
    if (error >= least) return;
    least = error;
    best = grid;
    low = from;
    high = to;
  };
  const auto place = [](int i) { return static_cast<float>(i) / kPlaces; };
  // Both ends together, then each by itself.
  for (int i = kPlaces; i > 0; --i) try_range(place(i) * lowest, place(i) * highest);
  if (lowest < 0 && highest > 0) {
    for (int i = kPlaces; i >= 0; --i) try_range(place(i) * lowest, high);
    for (int i = kPlaces; i >= 0; --i) try_range(low, place(i) * highest);
    for (int i = kPlaces; i >= 0; --i) try_range(place(i) * lowest, high);
  }
  return best;
}

}  // namespace codl::compiler
