// The least weighted ends of the two processors, as ordered_bound.cc looks at them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace codl::compiler {

inline constexpr double kUnreachedUs = std::numeric_limits<double>::infinity();

// Weights are 0, 1 / kWeightSteps, ... 1: of the CPU's end; the GPU's has the rest.
inline constexpr size_t kWeightSteps = 64;
inline constexpr size_t kAllCpu = kWeightSteps;
inline constexpr size_t kAllGpu = 0;
using ByWeight = std::array<double, kWeightSteps + 1>;

constexpr double weight_at(size_t index) { return static_cast<double>(index) / kWeightSteps; }
size_t index_of_weight(double weight);  // the nearest; below 0 and above 1 the last ones
ByWeight unreached();

// The least weighted ends behind some nodes, by where the last of them has left its value.
struct Front {
  ByWeight cpu = unreached();
  ByWeight gpu = unreached();
  ByWeight channels = unreached();
  std::vector<ByWeight> rows;  // by its cuts
  // Of `rows`: the least of the first cuts up to one, of the last from one on, of all.
  std::vector<ByWeight> rows_up_to;
  std::vector<ByWeight> rows_from;
  ByWeight any_rows = unreached();
  ByWeight any = unreached();    // wherever it is
  std::vector<uint8_t> weights;  // indices of those that are reached

  // From `cpu`, `gpu`, `channels` and `rows` the others.
  void finish();
};

// What goes from one processor to the other before a segment.
struct Crossing {
  bool to_gpu = false;
  bool to_cpu = false;
  double map_us = 0;  // on the GPU's queue
  // The weight may change without a wait: all that is done before it is done when the segment
  // begins, or the segment begins when all that is.
  bool is_free = false;
  // Rows are handed over while the last node before computes the others: a weight that changes
  // follows no more than that node's start. What it leaves out then, of the GPU's part where the
  // CPU waits, and the reverse.
  bool hands_over = false;
  double gpu_part_us = 0;
  double cpu_part_us = 0;
};

// What a segment takes.
struct Addition {
  double cpu_us = 0;
  double gpu_us = 0;
  double always_us = 0;                 // whatever the weight
  const ByWeight* others_us = nullptr;  // more of it, weighted; null: none
  // The index of the weight that it is looked at with, if that can be reached from the one before
  // it; else with that.
  size_t target = 0;

  double us(size_t weight) const {
    const double us = weight_at(weight) * cpu_us + (1 - weight_at(weight)) * gpu_us + always_us;
    return others_us != nullptr ? us + (*others_us)[weight] : us;
  }
};

// Lowers `into` to what a segment comes to behind `from`, which is one of the front's.
//
// With a weight w before and v behind it, as much as they differ follows a wait: of the CPU for the
// GPU where it rises. Where both wait for each other, as much as can follows waits to and fro.
void add_segment(const Front& front, const ByWeight& from, const Crossing& crossing,
                 const Addition& addition, double sync_us, ByWeight& into);

}  // namespace codl::compiler
