// Finds the grid that the weights of an output channel lie on, which quantisation left them: the
// numbers alone say it, whatever passes multiplied a channel by.
#pragma once

#include <cstdint>

#include "schema/types.h"

namespace codl::kernels {

// Sets *out_scale to the scale of which all `count` weights w[i * step] are multiples by integers
// from -128 to 127, up to few of their last digits. False if there is none. Zeros alone have the
// scale 1.
bool find_channel_grid(const float* w, int64_t count, int64_t step, float* out_scale);

// Describes the grid of some weights: (integer - zero) * scale, with unsigned integers.
struct WeightGrid {
  float scale = 1;
  int32_t zero = 0;
};

// Does the same for integers of `bits` bits with a zero point among them.
bool find_block_grid(const float* w, int64_t count, int64_t step, int32_t bits, WeightGrid* out);

// Returns the blocks that take least memory of those in which the columns of w [depth, columns] lie
// on grids; none if there are none, or if they may be no quantised weights: where each block has
// few different ones, as of a permutation, and where all blocks have one scale of 4 bits, as
// numbers that somebody counted.
WeightBlocks find_blocks(const float* w, int64_t depth, int64_t columns);

}  // namespace codl::kernels
