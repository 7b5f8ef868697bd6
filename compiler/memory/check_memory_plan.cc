// Judges a memory plan by the definition alone, step by step. It shares nothing with the planner
// but StepOrder.
//
// "Every step that touches a is done before any that touches b" is transitive. So the tensors that
// use one byte in turn need not be compared each with each: in the order of their first steps,
// comparing each with the one before is enough.
#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "compiler/ir/types.h"
#include "compiler/memory/memory_plan.h"
#include "compiler/schedule/step_order.h"
#include "compiler/support/error.h"
#include "llvm/ADT/STLExtras.h"
#include "schema/plan_layout.h"
#include "schema/step_shape.h"

namespace codl::compiler {

namespace {

uint64_t alignment_of(Storage storage) {
  return storage == Storage::Host ? kHostAlignment : kDeviceAlignment;
}

uint64_t arena_bytes_of(const Variant& variant, Storage storage) {
  if (storage == Storage::Host) return variant.host_bytes;
  return storage == Storage::Shared ? variant.shared_bytes : variant.device_bytes;
}

// Returns an offset, or the number of an image.
uint64_t place_of(const Tensor& tensor) {
  return tensor.storage == Storage::Image ? tensor.index : tensor.offset_bytes;
}

llvm::Error check_place(const Variant& variant, TensorId id) {
  const Tensor& tensor = variant.tensors[id];
  const uint64_t place = place_of(tensor);
  const std::string where = "memory: t" + std::to_string(id);
  if (is_arena(tensor.storage)) {
    if (place % alignment_of(tensor.storage) != 0)
      return internal_error(where, "expected an offset that is a multiple of {0}, found {1}",
                            alignment_of(tensor.storage), place);
    const uint64_t arena_bytes = arena_bytes_of(variant, tensor.storage);
    if (place > arena_bytes || tensor.shape.bytes > arena_bytes - place)
      return internal_error(where, "expected {0} bytes at {1} inside an arena of {2}, found {3}",
                            tensor.shape.bytes, place, arena_bytes, place + tensor.shape.bytes);
  }
  if (tensor.storage == Storage::Image) {
    if (place >= variant.images.size())
      return internal_error(where, "expected an image number below {0}, found {1}",
                            variant.images.size(), place);
    const ImageSlot& slot = variant.images[place];
    if (kernels::image_width(tensor.shape) > slot.width ||
        kernels::image_height(tensor.shape) > slot.height)
      return internal_error(where, "expected an image of {0} x {1} or more, found {2} x {3}",
                            kernels::image_width(tensor.shape), kernels::image_height(tensor.shape),
                            slot.width, slot.height);
    if (tensor.shape.dtype != slot.dtype)
      return internal_error(where, "expected an image of {0}, found one of {1}",
                            dtype_name(tensor.shape.dtype), dtype_name(slot.dtype));
  }
  return llvm::Error::success();
}

// Describes when steps touch a tensor.
struct Life {
  StepId first = ir::kNoId;  // in the list
  // For each queue, every step that touches the tensor has a smaller number.
  std::array<StepId, kQueueCount> end{};
  // For each queue, all steps with a smaller number are done before any that touches the tensor
  // starts.
  StepOrder::Done done_before;

  void add(StepId step, size_t queue, const StepOrder::Done& done) {
    if (first == ir::kNoId) {
      first = step;
      done_before = done;
    }
    end[queue] = std::max(end[queue], step + 1);
    for (size_t i = 0; i < end.size(); ++i)
      done_before.count[i] = std::min(done_before.count[i], done.count[i]);
  }
  bool is_over_before(const Life& later) const {
    for (size_t i = 0; i < end.size(); ++i)
      if (end[i] > later.done_before.count[i]) return false;
    return true;
  }
};

// Describes the memory that a tensor occupies: bytes of an arena, or an image as a unit.
struct Place {
  uint64_t begin;
  uint64_t end;
};

Place extent_of(const Tensor& tensor) {
  const uint64_t begin = place_of(tensor);
  return {begin, begin + (tensor.storage == Storage::Image ? 1 : tensor.shape.bytes)};
}

// Knows which tensor used a memory last, byte by byte.
class Tenants {
 public:
  // Puts `id` in its place. Calls leave(tenant) for each tensor that was there.
  template <typename Leave>
  void move_in(TensorId id, const Place& place, Leave leave) {
    if (place.begin == place.end) return;
    cut(place.begin);
    cut(place.end);
    const auto begin = at_.lower_bound(place.begin);
    const auto end = at_.lower_bound(place.end);
    for (auto it = begin; it != end; ++it)
      if (it->second.second != ir::kNoId) leave(it->second.second);
    at_.erase(begin, end);
    at_[place.begin] = {place.end, id};
  }

 private:
  // Splits an extent that lies across the offset.
  void cut(uint64_t offset) {
    auto behind = at_.upper_bound(offset);
    if (behind == at_.begin()) return;
    auto& [begin, extent] = *std::prev(behind);
    if (begin == offset || extent.first <= offset) return;
    at_[offset] = extent;
    extent.first = offset;
  }

  std::map<uint64_t, std::pair<uint64_t, TensorId>> at_;  // keyed by begin; holds end and tenant
};

// Puts each window's home, the result of a Concat, into `homes`. A step that writes a window writes
// channels of the result that no other step writes, because each window lies where the Concat would
// copy it to.
llvm::Error find_windows(const Variant& variant, std::vector<TensorId>& homes) {
  for (StepId id = static_cast<StepId>(variant.steps.size()); id-- > 0;) {
    const Step& step = variant.steps[id];
    if (step.kernel == nullptr || step.kernel->op != OpKind::Concat) continue;
    const Tensor& y = variant.tensors[step.operands.back()];
    uint64_t channels = 0;  // sum over the operands before this one
    for (size_t i = 0; i + 1 < step.operands.size(); ++i) {
      const Tensor& x = variant.tensors[step.operands[i]];
      if (kernels::is_window_of(x.shape, y.shape)) {
        const bool is_on_host = y.storage == Storage::Host;
        const uint64_t behind = is_on_host ? channels * dtype_bytes(y.shape.dtype) : 0;
        const auto first = static_cast<int32_t>(is_on_host ? 0 : channels) + y.shape.first_channel;
        if (x.storage != y.storage || x.index != y.index || x.shape.dtype != y.shape.dtype ||
            x.shape.row_begin != y.shape.row_begin || x.shape.row_end != y.shape.row_end ||
            x.shape.first_channel != first || x.offset_bytes != y.offset_bytes + behind)
          return internal_error("memory: t" + std::to_string(step.operands[i]),
                                "expected a window of t{0} behind {1} channels, found offsets {2} "
                                "and {3}",
                                step.operands.back(), channels, x.offset_bytes, y.offset_bytes);
        homes[step.operands[i]] = homes[step.operands.back()];
      }
      if (x.shape.rank > 1) channels += static_cast<uint64_t>(x.shape.dims[1]);
    }
  }
  return llvm::Error::success();
}

// Returns for each tensor the one in whose place it lies. Reshapes and Slices of one queue share
// their operand's bytes (writing one writes the other), and a window lies inside its tensor. All
// others have a place of their own.
llvm::Expected<std::vector<TensorId>> homes_found_in(const Variant& variant) {
  std::vector<TensorId> homes(variant.tensors.size());
  std::iota(homes.begin(), homes.end(), 0);
  if (llvm::Error error = find_windows(variant, homes)) return error;
  for (const Step& step : variant.steps) {
    if (step.kernel == nullptr) continue;
    kernels::OperandShape shapes[kernels::kMaxOperands];
    const kernels::StepShape shape = variant.shape_of(step, shapes);
    const int64_t bytes = kernels::run_in_input(shape);
    if (bytes < 0) continue;
    const TensorId x = step.operands[0], y = step.operands[1];
    const Storage storage = variant.tensors[x].storage;
    const bool may_stay = step.queue == Queue::Cpu ? storage == Storage::Host ||
                                                         (storage == Storage::Shared && bytes == 0)
                                                   : storage == Storage::Device;
    if (may_stay && storage == variant.tensors[y].storage &&
        place_of(variant.tensors[x]) + static_cast<uint64_t>(bytes) == place_of(variant.tensors[y]))
      homes[y] = homes[x];
    else if (shape.is_in_place)  // its prediction has no copy
      return internal_error("memory: t" + std::to_string(y),
                            "expected its place {0} bytes behind t{1}'s, found offsets {2} and {3}",
                            bytes, x, place_of(variant.tensors[y]), place_of(variant.tensors[x]));
  }
  return homes;
}

// Checks that each buffer of the device alone lies exactly where another does, or shares no byte.
llvm::Error check_device_places(const Variant& variant) {
  std::vector<TensorId> tensors;
  for (TensorId id = 0; id < variant.tensors.size(); ++id)
    if (variant.tensors[id].storage == Storage::Device) tensors.push_back(id);
  llvm::sort(tensors, [&](TensorId a, TensorId b) {
    return place_of(variant.tensors[a]) < place_of(variant.tensors[b]);
  });
  TensorId longest = ir::kNoId;  // the longest of those at the last place
  for (TensorId id : tensors) {
    const Place place = extent_of(variant.tensors[id]);
    if (longest != ir::kNoId) {
      const Place before = extent_of(variant.tensors[longest]);
      if (place.begin != before.begin && place.begin < before.end)
        return internal_error("memory: t" + std::to_string(id),
                              "expected the place of t{0} or no byte of it, found offsets {1} and "
                              "{2}",
                              longest, place.begin, before.begin);
      if (place.begin == before.begin && place.end <= before.end) continue;
    }
    longest = id;
  }
  return llvm::Error::success();
}

}  // namespace

llvm::Error check_memory_plan(const Variant& variant) {
  const TensorId tensor_count = static_cast<TensorId>(variant.tensors.size());
  for (TensorId id = 0; id < tensor_count; ++id)
    if (llvm::Error error = check_place(variant, id)) return error;
  if (llvm::Error error = check_device_places(variant)) return error;

  // Copies in one place are one tenant, from the birth of the first to the death of the last,
  // because each is made from one that is alive.
  CODL_ASSIGN_OR_RETURN(homes, homes_found_in(variant));
  const StepOrder order(variant);
  std::vector<Life> lives(tensor_count);
  std::vector<TensorId> by_birth;  // touched tensors, in the order of their first steps
  for (StepId step = 0; step < variant.steps.size(); ++step)
    for (TensorId operand : variant.steps[step].operands) {
      const TensorId tensor = homes[operand];
      if (lives[tensor].first == ir::kNoId) by_birth.push_back(tensor);
      lives[tensor].add(step, static_cast<size_t>(variant.steps[step].queue),
                        order.done_before(step));
    }
  std::map<Storage, Tenants> tenants;
  TensorId other = ir::kNoId;  // the first that is still alive in another's place
  for (TensorId id : by_birth) {
    const Storage storage = variant.tensors[id].storage;
    if (!is_arena(storage) && storage != Storage::Image) continue;
    tenants[storage].move_in(id, extent_of(variant.tensors[id]), [&](TensorId tenant) {
      if (other == ir::kNoId && !lives[tenant].is_over_before(lives[id])) other = tenant;
    });
    if (other == ir::kNoId) continue;
    const auto [a, b] = std::minmax(id, other);
    return internal_error("memory: t" + std::to_string(a),
                          "expected no memory in common with t{0}, which is live at the same "
                          "time, found offsets {1} and {2}",
                          b, place_of(variant.tensors[a]), place_of(variant.tensors[b]));
  }
  return llvm::Error::success();
}

}  // namespace codl::compiler
