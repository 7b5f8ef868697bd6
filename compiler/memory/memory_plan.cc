#include "compiler/memory/memory_plan.h"

#include <algorithm>

#include "compiler/memory/lifetimes.h"
#include "compiler/support/error.h"
#include "kernels/common/tensor_view.h"
#include "llvm/ADT/STLExtras.h"
#include "schema/plan_layout.h"

namespace codl::compiler {

namespace {

uint64_t align_up(uint64_t bytes, uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

std::vector<TensorId> tensors_in(const Schedule& schedule, Storage storage) {
  std::vector<TensorId> tensors;
  for (TensorId id = 0; id < schedule.tensors.size(); ++id)
    if (schedule.tensors[id].storage == storage) tensors.push_back(id);
  return tensors;
}

// The largest key first; ties by first step, then number, so that the plan is a function of the
// schedule.
template <typename Key>
void sort_by(std::vector<TensorId>& tensors, const Lifetimes& lifetimes, Key key) {
  llvm::stable_sort(tensors, [&](TensorId a, TensorId b) {
    if (key(a) != key(b)) return key(a) > key(b);
    return lifetimes.first_step(a) < lifetimes.first_step(b);
  });
}

// Bytes [begin, end) of an arena.
struct Extent {
  uint64_t begin;
  uint64_t end;
};

// The smallest gap between extents that come in the order of their begins, for so many bytes.
class BestFit {
 public:
  explicit BestFit(uint64_t bytes) : bytes_(bytes) {}
  void add(const Extent& extent) {
    if (extent.begin > end_ && extent.begin - end_ >= bytes_ && extent.begin - end_ < best_gap_) {
      best_offset_ = end_;
      best_gap_ = extent.begin - end_;
    }
    end_ = std::max(end_, extent.end);
  }
  // The gap's offset, or the end if there is none.
  uint64_t offset() const { return best_gap_ != UINT64_MAX ? best_offset_ : end_; }

 private:
  uint64_t bytes_;
  uint64_t best_offset_ = 0;
  uint64_t best_gap_ = UINT64_MAX;
  uint64_t end_ = 0;  // of the extents so far
};

// Places tensors of one arena, each where its home is. Borrows the schedule and the lifetimes.
class ArenaPlanner {
 public:
  ArenaPlanner(const Schedule& schedule, const Lifetimes& lifetimes, Storage storage,
               uint64_t alignment)
      : schedule_(schedule),
        lifetimes_(lifetimes),
        alignment_(alignment),
        tensors_(tensors_in(schedule, storage)) {
    llvm::erase_if(tensors_, [&](TensorId id) { return lifetimes.home(id) != id; });
  }

  // Writes the offsets of its homes; returns the arena's size.
  //
  // Greedy, after Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference",
  // 2020 (arXiv:2001.03288), section 5, with the tightest gap in place of the first: by size, and
  // by crowding (their "breadth", for lanes that have no common order of steps). Neither is always
  // better; the smaller arena is taken.
  uint64_t place(std::vector<uint64_t>& offset_bytes) {
    sort_by(tensors_, lifetimes_, [&](TensorId id) { return bytes_of(id); });
    const uint64_t arena_bytes = place_in_order(offset_bytes);
    if (arena_bytes == least_bytes()) return arena_bytes;
    std::vector<uint64_t> crowding(schedule_.tensors.size());
    for (TensorId id : tensors_) crowding[id] = bytes_alive_with(id);
    sort_by(tensors_, lifetimes_, [&](TensorId id) { return crowding[id]; });
    std::vector<uint64_t> other_offsets = offset_bytes;
    const uint64_t other_bytes = place_in_order(other_offsets);
    if (other_bytes >= arena_bytes) return arena_bytes;
    offset_bytes = std::move(other_offsets);
    return other_bytes;
  }

 private:
  uint64_t bytes_of(TensorId id) const {
    return align_up(schedule_.tensors[id].shape.bytes, alignment_);
  }

  // No arena is smaller: tensors that are live at one place of the list share nothing.
  uint64_t least_bytes() const {
    std::vector<uint64_t> born(schedule_.steps.size() + 1), dead(schedule_.steps.size() + 1);
    for (TensorId id : tensors_) {
      if (lifetimes_.first_step(id) == ir::kNoId) continue;
      born[lifetimes_.first_step(id)] += bytes_of(id);
      dead[lifetimes_.last_step(id) + 1] += bytes_of(id);
    }
    uint64_t live = 0, most = 0;
    for (size_t step = 0; step < born.size(); ++step) {
      live += born[step] - dead[step];
      most = std::max(most, live);
    }
    return most;
  }

  // Of the tensor and all that it may not share with.
  uint64_t bytes_alive_with(TensorId id) const {
    uint64_t bytes = 0;
    for (TensorId other : tensors_)
      if (other == id || !lifetimes_.may_share(id, other)) bytes += bytes_of(other);
    return bytes;
  }

  uint64_t place_in_order(std::vector<uint64_t>& offset_bytes) const {
    uint64_t arena_bytes = 0;
    struct Placed {
      TensorId id;
      Extent extent;
    };
    std::vector<Placed> placed;  // by begin
    for (TensorId id : tensors_) {
      BestFit fit(bytes_of(id));
      for (const Placed& other : placed)
        if (!lifetimes_.may_share(id, other.id)) fit.add(other.extent);
      const Extent extent = {fit.offset(), fit.offset() + bytes_of(id)};
      offset_bytes[id] = extent.begin;
      arena_bytes = std::max(arena_bytes, extent.end);
      const auto behind = llvm::partition_point(
          placed, [&](const Placed& other) { return other.extent.begin <= extent.begin; });
      placed.insert(behind, {id, extent});
    }
    return arena_bytes;
  }

  const Schedule& schedule_;
  const Lifetimes& lifetimes_;
  const uint64_t alignment_;
  std::vector<TensorId> tensors_;
};

uint64_t area(uint64_t width, uint64_t height) { return width * height; }

// The cheapest place for an image: the slot that grows least, or a slot of its own if that takes no
// more texels. slots.size() means a new slot.
size_t choose_slot(llvm::ArrayRef<ImageSlot> slots, llvm::ArrayRef<bool> is_free, ImageSlot image) {
  size_t best = slots.size();
  uint64_t best_growth = area(image.width, image.height);
  uint64_t best_waste = 0;  // texels of the slot that the image leaves unused
  for (size_t i = 0; i < slots.size(); ++i) {
    if (!is_free[i]) continue;
    const uint64_t grown =
        area(std::max(slots[i].width, image.width), std::max(slots[i].height, image.height));
    const uint64_t growth = grown - area(slots[i].width, slots[i].height);
    const uint64_t waste = grown - area(image.width, image.height);
    if (growth < best_growth ||
        (growth == best_growth && best != slots.size() && waste < best_waste)) {
      best = i;
      best_growth = growth;
      best_waste = waste;
    }
  }
  return best;
}

llvm::Error place_images(const Schedule& schedule, const Lifetimes& lifetimes,
                         const DeviceProfile& profile, MemoryPlan& plan) {
  const auto image_of = [&](TensorId id) {
    const kernels::OperandShape& shape = schedule.tensors[id].shape;
    return ImageSlot{static_cast<uint32_t>(kernels::image_width(shape)),
                     static_cast<uint32_t>(kernels::image_height(shape))};
  };
  const auto size_of = [&](TensorId id) { return area(image_of(id).width, image_of(id).height); };
  std::vector<std::vector<TensorId>> tenants;  // by slot
  std::vector<TensorId> tensors = tensors_in(schedule, Storage::Image);
  sort_by(tensors, lifetimes, size_of);
  for (TensorId id : tensors) {
    const ImageSlot image = image_of(id);
    if (image.width > static_cast<uint32_t>(profile.image_max_width) ||
        image.height > static_cast<uint32_t>(profile.image_max_height))
      return internal_error(
          "plan_memory", "expected images of at most {0} x {1}, found t{2} of {3} x {4}",
          profile.image_max_width, profile.image_max_height, id, image.width, image.height);
    llvm::SmallVector<bool, 16> is_free;
    for (const std::vector<TensorId>& slot : tenants)
      is_free.push_back(
          llvm::all_of(slot, [&](TensorId tenant) { return lifetimes.may_share(id, tenant); }));
    const size_t slot = choose_slot(plan.images, is_free, image);
    if (slot == plan.images.size()) {
      plan.images.emplace_back();
      tenants.emplace_back();
    }
    plan.images[slot].width = std::max(plan.images[slot].width, image.width);
    plan.images[slot].height = std::max(plan.images[slot].height, image.height);
    tenants[slot].push_back(id);
    plan.offset_bytes[id] = slot;
  }
  return llvm::Error::success();
}

constexpr llvm::StringLiteral kStorageNames[] = {"input",  "output", "host",   "shared",
                                                 "device", "image",  "weights"};

}  // namespace

llvm::Expected<MemoryPlan> plan_memory(const Schedule& schedule, const DeviceProfile& profile) {
  const Lifetimes lifetimes(schedule);
  MemoryPlan plan;
  plan.offset_bytes.resize(schedule.tensors.size());
  plan.host_bytes =
      ArenaPlanner(schedule, lifetimes, Storage::Host, kHostAlignment).place(plan.offset_bytes);
  // Offsets and sizes in steps of kDeviceAlignment: no cache line holds bytes of two tensors, so
  // none is written by both lanes' tensors at once, and each can be a sub-buffer.
  plan.shared_bytes =
      ArenaPlanner(schedule, lifetimes, Storage::Shared, kDeviceAlignment).place(plan.offset_bytes);
  plan.device_bytes =
      ArenaPlanner(schedule, lifetimes, Storage::Device, kDeviceAlignment).place(plan.offset_bytes);
  for (TensorId id = 0; id < schedule.tensors.size(); ++id)
    plan.offset_bytes[id] = plan.offset_bytes[lifetimes.home(id)];
  for (uint64_t arena_bytes : {plan.host_bytes, plan.shared_bytes, plan.device_bytes})
    if (arena_bytes > kMaxArenaBytes)
      return unsupported_error("plan_memory", "expected arenas of at most {0} bytes, found {1}",
                               kMaxArenaBytes, arena_bytes);
  if (llvm::Error error = place_images(schedule, lifetimes, profile, plan)) return error;
  return plan;
}

std::string print(const Schedule& schedule, const MemoryPlan& plan) {
  const Lifetimes lifetimes(schedule);
  std::string text;
  llvm::raw_string_ostream os(text);
  for (TensorId id = 0; id < schedule.tensors.size(); ++id) {
    const Tensor& tensor = schedule.tensors[id];
    if (!is_planned(tensor.storage)) continue;
    const StepId first = lifetimes.first_step(id);
    const std::string name = first == ir::kNoId ? "unused" : schedule.steps[first].name;
    os << "t" << id << " " << name << " " << kStorageNames[static_cast<size_t>(tensor.storage)];
    if (tensor.storage == Storage::Image)
      os << " number=" << plan.offset_bytes[id] << " width=" << kernels::image_width(tensor.shape)
         << " height=" << kernels::image_height(tensor.shape);
    else
      os << " offset=" << plan.offset_bytes[id] << " bytes=" << tensor.shape.bytes;
    if (first != ir::kNoId) os << " steps=[" << first << "," << lifetimes.last_step(id) << "]";
    os << "\n";
  }
  os << "host_bytes=" << plan.host_bytes << " shared_bytes=" << plan.shared_bytes
     << " device_bytes=" << plan.device_bytes << "\n";
  for (size_t i = 0; i < plan.images.size(); ++i)
    os << "image " << i << " " << plan.images[i].width << "x" << plan.images[i].height << "\n";
  return text;
}

}  // namespace codl::compiler
