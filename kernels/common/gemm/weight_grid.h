// Finds the grid that the weights of an output channel lie on, which quantisation left them: the
// numbers alone say it, whatever passes multiplied a channel by.
#pragma once

#include <cstdint>

namespace codl::kernels {

// Sets *out_scale to the scale of which all `count` weights w[i * step] are multiples by integers
// from -128 to 127, up to few of their last digits. False if there is none. Zeros alone have the
// scale 1.
bool find_channel_grid(const float* w, int64_t count, int64_t step, float* out_scale);

}  // namespace codl::kernels
