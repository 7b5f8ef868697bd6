// Which layout maps should have on a GPU.
#pragma once

#include <vector>

#include "profiler/fit/profile_json.h"

namespace codl::profiler {

// Whether the GPU steps of the samples that have maps, all of them once with images and once with
// buffers, are faster with images: by the sums of what the fits predict for the fastest kernel of
// each layout. Steps that either layout has no fitted kernel for do not count, nor do conversions.
bool images_are_faster(const std::vector<Sample>& samples, const std::vector<KernelFit>& fits,
                       const ProcessorFacts& processor);

}  // namespace codl::profiler
