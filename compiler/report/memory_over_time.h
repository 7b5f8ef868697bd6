// How much of a variant's arenas and images is in use while it runs.
#pragma once

#include <vector>

#include "compiler/simulate/timeline.h"
#include "schema/plan_model.h"

namespace codl::compiler {

// From `us` on.
struct LiveBytes {
  double us = 0;
  uint64_t arena_bytes = 0;  // of tensors between their first and their last step
  uint64_t image_bytes = 0;  // of images with such a tensor
};

// `spans`: by step of the variant. An entry wherever something changes, the last with nothing in
// use.
std::vector<LiveBytes> memory_over_time(const Variant& variant,
                                        llvm::ArrayRef<Timeline::Span> spans);

}  // namespace codl::compiler
