// Finds how much of a variant's arenas and images is in use while it runs.
#pragma once

#include <vector>

#include "compiler/simulate/timing/timeline.h"
#include "schema/plan_model.h"

namespace codl::compiler {

// Holds the bytes in use from `us` on.
struct LiveBytes {
  double us = 0;
  uint64_t arena_bytes = 0;  // tensors between their first and their last step
  uint64_t image_bytes = 0;  // images with such a tensor
};

// Returns an entry wherever something changes, the last with nothing in use. `spans` is indexed by
// step of the variant.
std::vector<LiveBytes> memory_over_time(const Variant& variant,
                                        llvm::ArrayRef<Timeline::Span> spans);

}  // namespace codl::compiler
