#include "compiler/memory/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "compiler/memory/lifetimes.h"
#include "compiler/support/error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "schema/plan_layout.h"
#include "schema/step_shape.h"
#include "schema/types.h"
#include "tools/printable.h"

namespace codl::compiler {

namespace {

std::vector<TensorId> tensors_in(const Variant& variant, Storage storage) {
  std::vector<TensorId> tensors;
  for (TensorId id = 0; id < variant.tensors.size(); ++id)
    if (variant.tensors[id].storage == storage) tensors.push_back(id);
  return tensors;
}

// Sorts by the largest key; ties by first step, then number, so that the plan depends on the
// variant alone.
template <typename Key>
void sort_by(std::vector<TensorId>& tensors, const Lifetimes& lifetimes, Key key) {
  llvm::stable_sort(tensors, [&](TensorId a, TensorId b) {
    if (key(a) != key(b)) return key(a) > key(b);
    return lifetimes.first_step(a) < lifetimes.first_step(b);
  });
}

// Spans bytes [begin, end) of an arena.
struct Extent {
  uint64_t begin;
  uint64_t end;
};

// Holds occupied bytes in order, merged where they touch.
class Extents {
 public:
  void add(Extent extent) {
    const auto first =
        llvm::partition_point(list_, [&](const Extent& known) { return known.end < extent.begin; });
    const auto last = std::partition_point(
        first, list_.end(), [&](const Extent& known) { return known.begin <= extent.end; });
    if (first == last) {
      list_.insert(first, extent);
      return;
    }
    first->begin = std::min(first->begin, extent.begin);
    first->end = std::max(std::prev(last)->end, extent.end);
    list_.erase(std::next(first), last);
  }
  llvm::ArrayRef<Extent> list() const { return list_; }

 private:
  std::vector<Extent> list_;
};

// Holds the extents of tensors with their lifetimes. A tree of step ranges keeps it fast for long
// lifetimes and for many tensors: a tensor is stored at the largest ranges that lie within its
// lifetime, and all ranges above know of it.
class Occupancy {
 public:
  explicit Occupancy(size_t step_count)
      : step_count_(static_cast<StepId>(llvm::PowerOf2Ceil(std::max<size_t>(step_count, 1)))) {}

  void add(const Lifetimes::Window& life, const Extent& extent) {
    if (life.begin == life.end) return;
    if (ranges_.empty()) ranges_.resize(2 * size_t{step_count_});
    visit(1, {0, step_count_}, life, [&](size_t range, bool is_within) {
      ranges_[range].some_steps.add(extent);
      if (is_within) ranges_[range].all_steps.add(extent);
    });
  }

  // Appends the extents that are occupied during at least one step of the window.
  void append(const Lifetimes::Window& window, std::vector<Extent>& taken) const {
    if (ranges_.empty()) return;
    visit(1, {0, step_count_}, window, [&](size_t range, bool is_within) {
      const Range& found = ranges_[range];
      llvm::append_range(taken, (is_within ? found.some_steps : found.all_steps).list());
    });
  }

 private:
  struct Range {
    Extents all_steps;   // occupied in each step of the range
    Extents some_steps;  // occupied in at least one of them
  };

  // Calls at(range, true) for the largest ranges within the window, at(range, false) for those
  // above.
  template <typename At>
  static void visit(size_t range, Lifetimes::Window steps, const Lifetimes::Window& window,
                    const At& at) {
    if (window.end <= steps.begin || steps.end <= window.begin) return;
    const bool is_within = window.begin <= steps.begin && steps.end <= window.end;
    at(range, is_within);
    if (is_within) return;
    const StepId middle = steps.begin + (steps.end - steps.begin) / 2;
    visit(2 * range, {steps.begin, middle}, window, at);
    visit(2 * range + 1, {middle, steps.end}, window, at);
  }

  StepId step_count_;          // a power of 2
  std::vector<Range> ranges_;  // range i has halves 2 i and 2 i + 1; empty before the first add()
};

// Holds the memory of the tensors placed so far. It borrows the lifetimes.
class Occupants {
 public:
  Occupants(const Lifetimes& lifetimes, size_t step_count)
      : lifetimes_(lifetimes),
        by_queue_(kQueueCount, Occupancy(step_count)),
        of_several_queues_(step_count) {}

  void add(TensorId id, const Extent& extent) {
    for (size_t queue = 0; queue < kQueueCount; ++queue)
      by_queue_[queue].add(lifetimes_.life_on(id, queue), extent);
    if (lifetimes_.only_queue(id) == kQueueCount)
      of_several_queues_.add(lifetimes_.life(id), extent);
  }

  // Returns extents that cover exactly the bytes that `id` may not use; in no order.
  std::vector<Extent> beside(TensorId id) const {
    std::vector<Extent> taken;
    for (size_t queue = 0; queue < kQueueCount; ++queue)
      by_queue_[queue].append(lifetimes_.window(id, queue), taken);
    of_several_queues_.append(lifetimes_.life(id), taken);
    return taken;
  }

 private:
  const Lifetimes& lifetimes_;
  std::vector<Occupancy> by_queue_;  // with the lifetimes on that queue
  Occupancy of_several_queues_;      // with the whole lifetimes
};

// Knows how many bytes of tensors that only one queue touches are born or dead at each step.
class Traffic {
 public:
  explicit Traffic(size_t step_count) : born_(step_count + 1), dead_(step_count + 1) {}
  void add(StepId first, StepId last, uint64_t bytes) {
    born_[first + 1] += bytes;
    dead_[last + 1] += bytes;
  }
  // Call it after the last add(); it makes sums of the counts.
  void sum_up() {
    std::partial_sum(born_.begin(), born_.end(), born_.begin());
    std::partial_sum(dead_.begin(), dead_.end(), dead_.begin());
  }
  // Returns the bytes of the tensors that are neither dead before the window nor born after it.
  uint64_t bytes_in(const Lifetimes::Window& window) const {
    return born_[window.end] - dead_[window.begin];
  }

 private:
  std::vector<uint64_t> born_;  // indexed by step: bytes of tensors first touched before it
  std::vector<uint64_t> dead_;  // indexed by step: bytes of tensors last touched before it
};

// Returns the offset of the smallest gap between the extents that holds so many bytes; their end if
// there is none. Sorts the extents.
uint64_t best_fit(std::vector<Extent>& taken, uint64_t bytes) {
  llvm::sort(taken, [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
  uint64_t best_offset = 0;
  uint64_t best_gap = UINT64_MAX;
  uint64_t end = 0;  // end of the extents so far
  for (const Extent& extent : taken) {
    if (extent.begin > end && extent.begin - end >= bytes && extent.begin - end < best_gap) {
      best_offset = end;
      best_gap = extent.begin - end;
    }
    end = std::max(end, extent.end);
  }
  return best_gap != UINT64_MAX ? best_offset : end;
}

// Places the tensors of one arena, each at its home. Borrows the variant and the lifetimes.
class ArenaPlanner {
 public:
  ArenaPlanner(const Variant& variant, const Lifetimes& lifetimes, Storage storage,
               uint64_t alignment)
      : variant_(variant),
        lifetimes_(lifetimes),
        alignment_(alignment),
        tensors_(tensors_in(variant, storage)) {
    llvm::erase_if(tensors_, [&](TensorId id) { return lifetimes.home(id) != id; });
  }

  // Writes the offsets of its homes; returns the arena's size.
  //
  // It is greedy, after Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net
  // Inference", 2020 (arXiv:2001.03288), section 5, with the tightest gap in place of the first. It
  // tries two orders: by size, and by crowding (their "breadth", here for queues without a common
  // order of steps). Neither is always better; the smaller arena is taken.
  uint64_t place(std::vector<uint64_t>& offset_bytes) {
    sort_by(tensors_, lifetimes_, [&](TensorId id) { return bytes_of(id); });
    const uint64_t arena_bytes = place_in_order(offset_bytes);
    if (arena_bytes == least_bytes() || !can_tell_crowding()) return arena_bytes;
    const std::vector<uint64_t> crowding = bytes_alive_with_each();
    sort_by(tensors_, lifetimes_, [&](TensorId id) { return crowding[id]; });
    std::vector<uint64_t> other_offsets = offset_bytes;
    const uint64_t other_bytes = place_in_order(other_offsets);
    if (other_bytes >= arena_bytes) return arena_bytes;
    offset_bytes = std::move(other_offsets);
    return other_bytes;
  }

 private:
  uint64_t bytes_of(TensorId id) const {
    return round_up(variant_.tensors[id].shape.bytes, alignment_);
  }

  // Returns a lower bound of the arena: tensors that are live at one place of the list share
  // nothing.
  uint64_t least_bytes() const {
    std::vector<uint64_t> born(variant_.steps.size() + 1), dead(variant_.steps.size() + 1);
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

  bool is_of_one_queue(TensorId id) const { return lifetimes_.only_queue(id) < kQueueCount; }

  // Each tensor is compared with all that several queues touch. No network has thousands of those.
  bool can_tell_crowding() const {
    return llvm::count_if(tensors_, [&](TensorId id) { return !is_of_one_queue(id); }) <
           kMaxOfSeveralQueues;
  }

  // Returns for each tensor its own bytes plus those of all it may not share memory with.
  std::vector<uint64_t> bytes_alive_with_each() const {
    std::vector<Traffic> by_queue(kQueueCount, Traffic(variant_.steps.size()));
    std::vector<TensorId> others;  // tensors that several queues touch
    for (TensorId id : tensors_)
      if (is_of_one_queue(id))
        by_queue[lifetimes_.only_queue(id)].add(lifetimes_.first_step(id), lifetimes_.last_step(id),
                                                bytes_of(id));
      else
        others.push_back(id);
    for (Traffic& traffic : by_queue) traffic.sum_up();
    std::vector<uint64_t> bytes(variant_.tensors.size());
    for (TensorId id : tensors_) {
      // A tensor of one queue is counted in that queue's window.
      if (!is_of_one_queue(id)) bytes[id] = bytes_of(id);
      for (size_t queue = 0; queue < kQueueCount; ++queue)
        bytes[id] += by_queue[queue].bytes_in(lifetimes_.window(id, queue));
      for (TensorId other : others)
        if (other != id && !lifetimes_.may_share(id, other)) bytes[id] += bytes_of(other);
    }
    return bytes;
  }

  uint64_t place_in_order(std::vector<uint64_t>& offset_bytes) const {
    uint64_t arena_bytes = 0;
    Occupants occupants(lifetimes_, variant_.steps.size());
    for (TensorId id : tensors_) {
      std::vector<Extent> taken = occupants.beside(id);
      const uint64_t offset = best_fit(taken, bytes_of(id));
      const Extent extent = {offset, offset + bytes_of(id)};
      occupants.add(id, extent);
      offset_bytes[id] = extent.begin;
      arena_bytes = std::max(arena_bytes, extent.end);
    }
    return arena_bytes;
  }

  static constexpr ptrdiff_t kMaxOfSeveralQueues = 4096;

  const Variant& variant_;
  const Lifetimes& lifetimes_;
  const uint64_t alignment_;
  std::vector<TensorId> tensors_;
};

// Returns for each slot whether the tensor may use it. Slot i is extent [i, i + 1).
llvm::SmallVector<bool, 64> free_slots(const Occupants& occupants, TensorId id, size_t count) {
  llvm::SmallVector<bool, 64> is_free(count, true);
  for (const Extent& taken : occupants.beside(id))
    std::fill(is_free.begin() + taken.begin, is_free.begin() + taken.end, false);
  return is_free;
}

// Places tensors that are OpenCL buffers, writes their offsets and returns the arena's size. Two
// that take turns lie in the same place, so that two buffers are one or have no byte in common:
// NVIDIA's driver 580 visits all buffers that overlap a kernel's operands at each launch (5.6 us a
// launch without, 68 us where 120 tensors overlap).
//
// It is greedy by size for shared objects (Pisarchyk and Lee, section 4): the largest come first,
// so that no place ever grows.
uint64_t place_device_tensors(const Variant& variant, const Lifetimes& lifetimes,
                              std::vector<uint64_t>& offset_bytes) {
  const auto bytes_of = [&](TensorId id) {
    return round_up(variant.tensors[id].shape.bytes, kDeviceAlignment);
  };
  std::vector<TensorId> tensors = tensors_in(variant, Storage::Device);
  llvm::erase_if(tensors, [&](TensorId id) { return lifetimes.home(id) != id; });
  sort_by(tensors, lifetimes, bytes_of);
  Occupants occupants(lifetimes, variant.steps.size());
  std::vector<uint64_t> slots;  // offsets; their sizes fall
  uint64_t arena_bytes = 0;
  for (TensorId id : tensors) {
    const auto is_free = free_slots(occupants, id, slots.size());
    size_t slot = slots.size();
    while (slot > 0 && !is_free[slot - 1]) --slot;
    if (slot > 0) {
      --slot;  // the last free one is the tightest
    } else {
      slot = slots.size();
      slots.push_back(arena_bytes);
      arena_bytes += bytes_of(id);
    }
    occupants.add(id, {slot, slot + 1});
    offset_bytes[id] = slots[slot];
  }
  return arena_bytes;
}

uint64_t area(uint64_t width, uint64_t height) { return width * height; }

// Returns the cheapest place for an image: the slot of its dtype that grows least, or a slot of its
// own if that takes no more texels. slots.size() means a new slot.
size_t choose_slot(llvm::ArrayRef<ImageSlot> slots, llvm::ArrayRef<bool> is_free, ImageSlot image) {
  size_t best = slots.size();
  uint64_t best_growth = area(image.width, image.height);
  uint64_t best_waste = 0;  // texels of the slot that the image does not use
  for (size_t i = 0; i < slots.size(); ++i) {
    if (!is_free[i] || slots[i].dtype != image.dtype) continue;
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

llvm::Error place_images(Variant& variant, const Lifetimes& lifetimes,
                         const DeviceProfile& profile) {
  const auto image_of = [&](TensorId id) {
    const kernels::OperandShape& shape = variant.tensors[id].shape;
    return ImageSlot{static_cast<uint32_t>(kernels::image_width(shape)),
                     static_cast<uint32_t>(kernels::image_height(shape)), shape.dtype};
  };
  const auto size_of = [&](TensorId id) { return area(image_of(id).width, image_of(id).height); };
  Occupants occupants(lifetimes, variant.steps.size());
  std::vector<TensorId> tensors = tensors_in(variant, Storage::Image);
  llvm::erase_if(tensors, [&](TensorId id) { return lifetimes.home(id) != id; });
  sort_by(tensors, lifetimes, size_of);
  for (TensorId id : tensors) {
    const ImageSlot image = image_of(id);
    if (image.width > static_cast<uint32_t>(profile.image_max_width) ||
        image.height > static_cast<uint32_t>(profile.image_max_height))
      return internal_error(
          "plan_memory", "expected images of at most {0} x {1}, found t{2} of {3} x {4}",
          profile.image_max_width, profile.image_max_height, id, image.width, image.height);
    const size_t slot =
        choose_slot(variant.images, free_slots(occupants, id, variant.images.size()), image);
    if (slot == variant.images.size()) variant.images.push_back({0, 0, image.dtype});
    variant.images[slot].width = std::max(variant.images[slot].width, image.width);
    variant.images[slot].height = std::max(variant.images[slot].height, image.height);
    occupants.add(id, {slot, slot + 1});
    variant.tensors[id].index = static_cast<uint32_t>(slot);
  }
  for (TensorId id : tensors_in(variant, Storage::Image))
    variant.tensors[id].index = variant.tensors[lifetimes.home(id)].index;
  return llvm::Error::success();
}

}  // namespace

llvm::Error plan_memory(Variant& variant, const DeviceProfile& profile) {
  const Lifetimes lifetimes(variant);
  variant.images.clear();
  std::vector<uint64_t> offset_bytes(variant.tensors.size());
  variant.host_bytes =
      ArenaPlanner(variant, lifetimes, Storage::Host, kHostAlignment).place(offset_bytes);
  // Offsets and sizes are multiples of kDeviceAlignment. So no cache line holds bytes of two
  // tensors, which both queues could write at once, and each tensor can be a sub-buffer.
  variant.shared_bytes =
      ArenaPlanner(variant, lifetimes, Storage::Shared, kDeviceAlignment).place(offset_bytes);
  variant.device_bytes = place_device_tensors(variant, lifetimes, offset_bytes);
  for (TensorId id = 0; id < variant.tensors.size(); ++id)
    variant.tensors[id].offset_bytes =
        offset_bytes[lifetimes.home(id)] + lifetimes.offset_in_home(id);
  for (uint64_t arena_bytes : {variant.host_bytes, variant.shared_bytes, variant.device_bytes})
    if (arena_bytes > kMaxArenaBytes)
      return unsupported_error("plan_memory", "expected arenas of at most {0} bytes, found {1}",
                               kMaxArenaBytes, arena_bytes);
  return place_images(variant, lifetimes, profile);
}

std::string print_memory(const Variant& variant) {
  const Lifetimes lifetimes(variant);
  std::string text;
  llvm::raw_string_ostream os(text);
  for (TensorId id = 0; id < variant.tensors.size(); ++id) {
    const Tensor& tensor = variant.tensors[id];
    if (!is_planned(tensor.storage)) continue;
    const StepId first = lifetimes.first_step(id);
    const std::string name = first == ir::kNoId ? "unused" : variant.steps[first].name;
    os << "t" << id << " " << tools::printable(name) << " " << name_of(tensor.storage);
    if (tensor.storage == Storage::Image)
      os << " number=" << tensor.index << " width=" << kernels::image_width(tensor.shape)
         << " height=" << kernels::image_height(tensor.shape);
    else
      os << " offset=" << tensor.offset_bytes << " bytes=" << tensor.shape.bytes;
    if (first != ir::kNoId) os << " steps=[" << first << "," << lifetimes.last_step(id) << "]";
    os << "\n";
  }
  os << "host_bytes=" << variant.host_bytes << " shared_bytes=" << variant.shared_bytes
     << " device_bytes=" << variant.device_bytes << "\n";
  for (size_t i = 0; i < variant.images.size(); ++i)
    os << "image " << i << " " << variant.images[i].width << "x" << variant.images[i].height << " "
       << dtype_name(variant.images[i].dtype) << "\n";
  return text;
}

}  // namespace codl::compiler
