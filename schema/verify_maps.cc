// Tracks who holds a shared sub-buffer, the host or the device.
#include <cstring>

#include "schema/plan_check.h"

namespace codl {

using plan::StepDef;
using plan::TensorDef;
using plan::VariantDef;

namespace {

// Sub-buffers that share no byte, in the order of their bytes: whether one of them has some byte is
// asked for every operand, so it takes a binary search. Holds numbers of slots, not the ranges: a
// new one moves few bytes.
class DisjointRanges {
 public:
  uint32_t count() const { return count_; }

  // Returns where the slots of ranges that begin before `offset` end.
  template <typename BeginOf>
  uint32_t lower_bound(uint64_t offset, BeginOf begin_of) const {
    uint32_t first = 0;
    for (uint32_t length = count_; length != 0;) {
      const uint32_t half = length / 2;
      if (begin_of(slots_[first + half]) < offset) {
        first += half + 1;
        length -= half + 1;
      } else {
        length = half;
      }
    }
    return first;
  }
  uint16_t slot(uint32_t place) const { return slots_[place]; }

  void insert(uint32_t place, uint16_t slot) {
    std::memmove(slots_ + place + 1, slots_ + place, (count_ - place) * sizeof(slots_[0]));
    slots_[place] = slot;
    ++count_;
  }
  void erase(uint32_t place) {
    --count_;
    std::memmove(slots_ + place, slots_ + place + 1, (count_ - place) * sizeof(slots_[0]));
  }

 private:
  uint16_t slots_[kMaxMapped];
  uint32_t count_ = 0;
};

// Follows a SubBuffer variant through its list of steps: which shared tensors the host holds, and
// what each queue knows to be done in the other. A sub-buffer is the device's at the start and at
// the end.
//
// The list's order alone is not enough: the queues run at the same time. A CPU step must come
// behind the Map by a wait (its own, or that of an earlier CPU step), and the Unmap behind the CPU
// step.
class MapTracker {
 public:
  MapTracker(PlanCheck& check, const VariantDef& variant) : c_(check), variant_(variant) {
    for (uint32_t i = 0; i < kMaxMapped; ++i) free_[i] = static_cast<uint16_t>(i);
  }

  // Takes the steps in order.
  bool step(const StepDef& step) {
    note_waits(step);
    switch (kind_of(step)) {
      case StepKind::Map:
        return map(step);
      case StepKind::Unmap:
        return unmap(step);
      case StepKind::Kernel:
        return queue_of(step) == Queue::Cpu ? cpu_kernel(step) : gpu_kernel(step);
      default:
        return true;
    }
  }

  bool end() {
    return c_.expect(all_.count() == 0, "every mapped tensor unmapped at the end",
                     all_.count() == 0 ? 0 : mapped_[all_.slot(0)].tensor);
  }

 private:
  struct Mapped {
    uint32_t tensor = 0;
    MapAccess access = MapAccess::Read;
    int64_t map_step = 0;
    int64_t last_cpu_step = -1;  // that touched it
  };

  void note_waits(const StepDef& step) {
    for (uint32_t wait : *step.waits()) {
      const Queue waited = queue_of(*variant_.steps()->Get(wait));
      if (queue_of(step) == Queue::Cpu && waited == Queue::Gpu && wait > gpu_done_)
        gpu_done_ = wait;
      if (queue_of(step) == Queue::Gpu && waited == Queue::Cpu && wait > cpu_done_)
        cpu_done_ = wait;
    }
  }

  const TensorDef& tensor(uint32_t index) const { return *variant_.tensors()->Get(index); }

  uint32_t place_of(const DisjointRanges& ranges, uint64_t offset) const {
    return ranges.lower_bound(
        offset, [&](uint16_t slot) { return tensor(mapped_[slot].tensor).offset_bytes(); });
  }

  // Returns null if the tensor is not mapped, by this name.
  Mapped* find(uint32_t index) {
    const uint32_t place = place_of(all_, tensor(index).offset_bytes());
    if (place == all_.count()) return nullptr;
    Mapped& mapped = mapped_[all_.slot(place)];
    return mapped.tensor == index ? &mapped : nullptr;
  }

  // True if one of the ranges has bytes of the tensor, by whatever name. Only the last that begins
  // before it and the first that does not can be the only one.
  bool have_bytes_of(const DisjointRanges& ranges, const TensorDef& other) const {
    if (storage_of(other) != Storage::Shared) return false;
    const uint32_t place = place_of(ranges, other.offset_bytes());
    return (place > 0 && share_bytes(tensor(mapped_[ranges.slot(place - 1)].tensor), other)) ||
           (place < ranges.count() &&
            share_bytes(tensor(mapped_[ranges.slot(place)].tensor), other));
  }

  bool map(const StepDef& step) {
    const uint32_t index = step.operands()->Get(0);
    if (!c_.expect(find(index) == nullptr, "a tensor that is not mapped yet", index) ||
        !c_.expect(!have_bytes_of(all_, tensor(index)),
                   "a tensor that shares no byte with a mapped one", index) ||
        !c_.expect(all_.count() < kMaxMapped, "at most 256 tensors mapped at the same time",
                   all_.count()))
      return false;
    const uint16_t slot = free_[all_.count()];
    mapped_[slot] = {index, map_access_of(step), c_.index, -1};
    const uint64_t offset = tensor(index).offset_bytes();
    all_.insert(place_of(all_, offset), slot);
    if (map_access_of(step) != MapAccess::Read) to_write_.insert(place_of(to_write_, offset), slot);
    return true;
  }

  bool unmap(const StepDef& step) {
    const uint32_t index = step.operands()->Get(0);
    const Mapped* mapped = find(index);
    if (!c_.expect(mapped != nullptr, "a tensor that is mapped", index) ||
        !c_.expect(mapped->last_cpu_step <= cpu_done_,
                   "a wait for the last CPU step that touches the tensor", mapped->last_cpu_step))
      return false;
    const uint64_t offset = tensor(index).offset_bytes();
    if (mapped->access != MapAccess::Read) to_write_.erase(place_of(to_write_, offset));
    all_.erase(place_of(all_, offset));
    free_[all_.count()] = static_cast<uint16_t>(mapped - mapped_);
    return true;
  }

  bool cpu_kernel(const StepDef& step) {
    const uint32_t operand_count = step.operands()->size();
    for (uint32_t i = 0; i < operand_count; ++i) {
      const uint32_t index = step.operands()->Get(i);
      if (storage_of(tensor(index)) != Storage::Shared) continue;
      const bool is_output = i + 1 == operand_count;
      Mapped* mapped = find(index);
      if (!c_.expect(mapped != nullptr, "shared operands of a CPU step mapped", index) ||
          !c_.expect(mapped->map_step <= gpu_done_,
                     "a wait for the Map of each shared operand of a CPU step", index) ||
          !c_.expect(!is_output || mapped->access != MapAccess::Read,
                     "an output mapped for writing", index))
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
      if (!c_.expect(!have_bytes_of(is_output ? all_ : to_write_, operand_of(variant_, step, i)),
                     "operands of a GPU step not mapped, or inputs mapped for reading", i))
        return false;
    }
    return true;
  }

  PlanCheck& c_;
  const VariantDef& variant_;
  Mapped mapped_[kMaxMapped];
  uint16_t free_[kMaxMapped];  // slots of mapped_; those in use come first
  DisjointRanges all_;
  DisjointRanges to_write_;  // the writable ones among them
  int64_t gpu_done_ = -1;    // last step of the GPU queue known to be done to the CPU queue
  int64_t cpu_done_ = -1;    // the reverse
};

}  // namespace

bool check_maps(PlanCheck& c, const VariantDef& variant) {
  if (sharing_of(variant) != Sharing::SubBuffer) return true;
  MapTracker tracker(c, variant);
  for (uint32_t i = 0; i < variant.steps()->size(); ++i) {
    c.at("step", i);
    if (!tracker.step(*variant.steps()->Get(i))) return false;
  }
  c.at("variant", -1);
  return tracker.end();
}

}  // namespace codl
