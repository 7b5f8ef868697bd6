// Which GPU steps of a variant a run gives the device in one call (VariantDef::is_recorded). The
// runtime records by this rule, and codlc predicts by it.
#pragma once

#include <cstdint>

namespace codl {

// Describes a step for the rule.
struct RecordedStep {
  bool is_gpu_kernel = false;  // a GPU step that is enqueued as a kernel
  bool has_waits = false;
  bool is_waited_for = false;  // a step of another queue waits for it
};

// Returns the end of the steps that are given with step `begin`, itself included: the kernels
// behind it in the list as far as none waits, or is waited for by another queue, before the last.
// `facts(i)`: those of step i.
template <typename Facts>
uint32_t end_of_recorded(uint32_t begin, uint32_t count, const Facts& facts) {
  RecordedStep last = facts(begin);
  uint32_t end = begin + 1;
  for (; end < count && last.is_gpu_kernel && !last.is_waited_for; ++end) {
    last = facts(end);
    if (!last.is_gpu_kernel || last.has_waits) break;
  }
  return end;
}

}  // namespace codl
