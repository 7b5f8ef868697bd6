// Finds the 256 numbers that are nearest to what a value of a network is on inputs.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/graph.h"
#include "llvm/ADT/ArrayRef.h"

namespace codl::compiler {

// Counts numbers from `lowest` to `highest`. Zeros are left out: every grid has zero.
class Histogram {
 public:
  Histogram(float lowest, float highest);
  void add(llvm::ArrayRef<float> numbers);  // all within the limits
  void add(const Histogram& other);         // has the same limits

  float lowest() const { return lowest_; }
  float highest() const { return highest_; }
  // Returns the sum of the squared differences between the numbers and the nearest of the grid.
  double squared_error(const ir::Grid& grid) const;

 private:
  float lowest_, highest_;
  std::vector<uint64_t> counts_;  // indexed by bin
};

// Returns the grid from `low` to `high`, or from and to zero if that is outside. Its ends are moved
// so that zero is on it.
ir::Grid grid_from(float low, float high);

// Returns the grid of least squared error that is found. It leaves out what is far from most
// numbers if the others gain more by the smaller steps.
ir::Grid nearest_grid(const Histogram& numbers);

}  // namespace codl::compiler
