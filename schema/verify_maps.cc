// Who holds a shared sub-buffer, the host or the device.
#include "schema/plan_check.h"

namespace codl {

using plan::Lane;
using plan::StepDef;
using plan::StepKind;
using plan::Storage;
using plan::TensorDef;
using plan::VariantDef;

namespace {

// Follows a SubBuffer variant through its list of steps: which shared tensors the host holds, and
// what each lane knows to be done in the other. A sub-buffer is the device's at the start and at
// the end.
//
// The list's order alone is not enough: the lanes run at the same time. A CPU step must come behind
// the Map by a wait (its own, or that of an earlier CPU step), and the Unmap behind the CPU step.
class MapTracker {
 public:
  MapTracker(PlanCheck& check, const VariantDef& variant) : c_(check), variant_(variant) {}

  // Takes the steps in order.
  bool step(const StepDef& step) {
    note_waits(step);
    switch (step.kind()) {
      case StepKind::Map:
        return map(step);
      case StepKind::Unmap:
        return unmap(step);
      case StepKind::Kernel:
        return step.lane() == Lane::Cpu ? cpu_kernel(step) : gpu_kernel(step);
      default:
        return true;
    }
  }

  bool end() {
    return c_.expect(mapped_count_ == 0, "every mapped tensor unmapped at the end",
                     mapped_count_ == 0 ? 0 : mapped_[0].tensor);
  }

 private:
  struct Mapped {
    uint32_t tensor = 0;
    plan::MapAccess access = plan::MapAccess::Read;
    int64_t map_step = 0;
    int64_t last_cpu_step = -1;  // that touched it
  };

  void note_waits(const StepDef& step) {
    for (uint32_t wait : *step.waits()) {
      const Lane waited = variant_.steps()->Get(wait)->lane();
      if (step.lane() == Lane::Cpu && waited == Lane::Gpu && wait > gpu_done_) gpu_done_ = wait;
      if (step.lane() == Lane::Gpu && waited == Lane::Cpu && wait > cpu_done_) cpu_done_ = wait;
    }
  }

  // Null if the tensor is not mapped.
  Mapped* find(uint32_t tensor) {
    for (uint32_t i = 0; i < mapped_count_; ++i)
      if (mapped_[i].tensor == tensor) return &mapped_[i];
    return nullptr;
  }

  // True if the host holds bytes of the tensor, by whatever name; `to_write`: holds them to write.
  bool is_held_by_host(const TensorDef& tensor, bool to_write) const {
    for (uint32_t i = 0; i < mapped_count_; ++i) {
      const Mapped& mapped = mapped_[i];
      if (to_write && mapped.access == plan::MapAccess::Read) continue;
      if (share_bytes(*variant_.tensors()->Get(mapped.tensor), tensor)) return true;
    }
    return false;
  }

  bool map(const StepDef& step) {
    const uint32_t tensor = step.operands()->Get(0);
    if (!c_.expect(find(tensor) == nullptr, "a tensor that is not mapped yet", tensor) ||
        !c_.expect(!is_held_by_host(*variant_.tensors()->Get(tensor), false),
                   "a tensor that shares no byte with a mapped one", tensor) ||
        !c_.expect(mapped_count_ < kMaxMapped, "at most 256 tensors mapped at the same time",
                   mapped_count_))
      return false;
    mapped_[mapped_count_++] = {tensor, step.map_access(), c_.index, -1};
    return true;
  }

  bool unmap(const StepDef& step) {
    const uint32_t tensor = step.operands()->Get(0);
    Mapped* mapped = find(tensor);
    if (!c_.expect(mapped != nullptr, "a tensor that is mapped", tensor) ||
        !c_.expect(mapped->last_cpu_step <= cpu_done_,
                   "a wait for the last CPU step that touches the tensor", mapped->last_cpu_step))
      return false;
    *mapped = mapped_[--mapped_count_];
    return true;
  }

  bool cpu_kernel(const StepDef& step) {
    const uint32_t operand_count = step.operands()->size();
    for (uint32_t i = 0; i < operand_count; ++i) {
      const uint32_t tensor = step.operands()->Get(i);
      if (variant_.tensors()->Get(tensor)->storage() != Storage::Shared) continue;
      const bool is_output = i + 1 == operand_count;
      Mapped* mapped = find(tensor);
      if (!c_.expect(mapped != nullptr, "shared operands of a CPU step mapped", tensor) ||
          !c_.expect(mapped->map_step <= gpu_done_,
                     "a wait for the Map of each shared operand of a CPU step", tensor) ||
          !c_.expect(!is_output || mapped->access != plan::MapAccess::Read,
                     "an output mapped for writing", tensor))
        return false;
      mapped->last_cpu_step = c_.index;
    }
    return true;
  }

  // Both sides may read what is mapped for reading (OpenCL 1.2, section 5.4.2.1).
  bool gpu_kernel(const StepDef& step) {
    const uint32_t operand_count = step.operands()->size();
    for (uint32_t i = 0; i < operand_count; ++i) {
      const bool is_output = i + 1 == operand_count;
      const TensorDef& operand = operand_of(variant_, step, i);
      if (!c_.expect(!is_held_by_host(operand, !is_output),
                     "operands of a GPU step not mapped, or inputs mapped for reading", i))
        return false;
    }
    return true;
  }

  PlanCheck& c_;
  const VariantDef& variant_;
  Mapped mapped_[kMaxMapped];
  uint32_t mapped_count_ = 0;
  int64_t gpu_done_ = -1;  // last step of the GPU lane known to be done to the CPU lane
  int64_t cpu_done_ = -1;  // the reverse
};

}  // namespace

bool check_maps(PlanCheck& c, const VariantDef& variant) {
  if (variant.sharing() != plan::Sharing::SubBuffer) return true;
  MapTracker tracker(c, variant);
  for (uint32_t i = 0; i < variant.steps()->size(); ++i) {
    c.at("step", i);
    if (!tracker.step(*variant.steps()->Get(i))) return false;
  }
  c.at("variant", -1);
  return tracker.end();
}

}  // namespace codl
