// The files of verify_plan share this: the state of a verification and the order of its parts. It
// is internal to schema/.
#pragma once

#include "schema/plan_fields.h"
#include "schema/plan_layout.h"
#include "schema/verify_plan.h"

namespace codl {

// Holds the plan being checked, the counts so far, and the first fault. The check_ functions return
// false at the first fault, which they have recorded here.
struct PlanCheck {
  const plan::PlanDef* plan = nullptr;
  const plan::EntryDef* entry = nullptr;  // being checked
  CheckStep check_step = nullptr;
  uint64_t data_bytes = 0;
  bool is_kernel_named[kKernelCount + 1] = {};  // indexed by kernel id: whether PlanDef::kernels
                                                // lists it
  uint64_t step_count = 0;                      // so far, over all variants of all entries
  uint64_t tensor_count = 0;
  uint64_t wait_count = 0;

  // Says where the check stands, as PlanFault reports it.
  const char* where = "head";
  int64_t entry_index = -1;  // -1 in a plan of one entry
  int64_t variant_index = -1;
  int64_t index = -1;
  PlanFault fault;

  void at(const char* place, int64_t place_index) {
    where = place;
    index = place_index;
  }

  bool expect(bool holds, const char* expected, int64_t found,
              PlanFault::Kind kind = PlanFault::Corrupt) {
    if (!holds) fault = {kind, where, expected, entry_index, variant_index, index, found};
    return holds;
  }
};

// Returns the value of an unsigned 64-bit field for PlanFault::found.
constexpr int64_t as_found(uint64_t value) { return static_cast<int64_t>(value); }

// Converts microseconds: a number that is no whole number of 64 bits becomes the nearest one, NaN
// the least.
constexpr int64_t as_found(float us) {
  if (us >= 9e18f) return INT64_MAX;
  if (!(us > -9e18f)) return INT64_MIN;
  return us < 0 && us > -1 ? -1 : static_cast<int64_t>(us);
}

// Compares two names. What std::string_view has for it may become a function of libstdc++'s name.
inline bool are_equal(const flatbuffers::String& a, const flatbuffers::String& b) {
  return a.size() == b.size() && __builtin_memcmp(a.data(), b.data(), a.size()) == 0;
}

// Counts the items of a vector that may be absent.
template <typename T>
uint32_t count_of(const flatbuffers::Vector<T>* items) {
  return items == nullptr ? 0 : items->size();
}

// Returns false for NaN and infinity, too, which JSON cannot carry.
constexpr bool is_latency(float latency_us) { return latency_us >= 0 && latency_us < 3e38f; }

// Returns whether the layout's memory may hold a window of the value's rows.
constexpr bool has_rows(Layout layout) {
  return layout == Layout::Nhwc || layout == Layout::Image2d;
}

// Returns tensor number `operand` of a step whose operands have been checked.
inline const plan::TensorDef& operand_of(const plan::VariantDef& variant, const plan::StepDef& step,
                                         uint32_t operand) {
  return *variant.tensors()->Get(step.operands()->Get(operand));
}

// verify_entries.cc: needs the inputs and outputs of this entry and of those before it checked.
bool check_entry_is_new(PlanCheck& c, uint32_t entry_index);
// Needs the entry's inputs, outputs and extents checked.
bool check_states(PlanCheck& c);

// verify_tensors.cc

// Checks a value's dims: rank, each dim (at least `least`), and their product are within limits.
bool check_dims(PlanCheck& c, const flatbuffers::Vector<int32_t>* dims, int32_t least = 1);

// Needs inputs, outputs, blobs, arenas and images checked.
bool check_tensors(PlanCheck& c, const plan::VariantDef& variant);

// True if writing one checked tensor changes bytes of the other.
bool share_bytes(const plan::TensorDef& a, const plan::TensorDef& b);

// verify_steps.cc: needs the tensors checked.
bool check_steps(PlanCheck& c, const plan::VariantDef& variant);

// verify_maps.cc: needs the steps checked.
bool check_maps(PlanCheck& c, const plan::VariantDef& variant);

}  // namespace codl
