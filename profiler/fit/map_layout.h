// Decides which layout maps should have on a GPU.
#pragma once

#include <vector>

#include "profiler/fit/profile_json.h"

namespace codl::profiler {

// True if the GPU steps of the samples that have maps are faster with images. It compares the sums,
// once with images and once with buffers, of the fits' predictions for the fastest kernel of each
// layout. Steps for which either layout lacks a fitted kernel do not count, nor do conversions.
bool images_are_faster(const std::vector<Sample>& samples, const std::vector<KernelFit>& fits,
                       const ProcessorFacts& processor);

}  // namespace codl::profiler
