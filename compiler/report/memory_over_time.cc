#include "compiler/report/memory_over_time.h"

#include <algorithm>
#include <map>
#include <optional>

#include "compiler/memory/lifetimes.h"

namespace codl::compiler {
namespace {

uint64_t bytes_of(const ImageSlot& image) {
  return image_bytes(image.width, image.height, image.dtype, 1);
}

bool is_in_arena(const Tensor& tensor) {
  return tensor.storage == Storage::Host || tensor.storage == Storage::Shared ||
         tensor.storage == Storage::Device;
}

}  // namespace

std::vector<LiveBytes> memory_over_time(const Variant& variant,
                                        llvm::ArrayRef<Timeline::Span> spans) {
  const Lifetimes lifetimes(variant);
  std::vector<std::optional<Timeline::Span>> lives(variant.tensors.size());  // lifetimes of homes
  for (size_t id = 0; id < spans.size(); ++id)
    for (const TensorId tensor : variant.steps[id].operands) {
      std::optional<Timeline::Span>& life = lives[lifetimes.home(tensor)];
      if (!life) life = spans[id];
      life->start_us = std::min(life->start_us, spans[id].start_us);
      life->end_us = std::max(life->end_us, spans[id].end_us);
    }
  struct Change {
    int64_t arena_bytes = 0;
    int64_t image_bytes = 0;
  };
  std::map<double, Change> changes;
  for (size_t id = 0; id < lives.size(); ++id) {
    const Tensor& tensor = variant.tensors[id];
    if (!lives[id]) continue;
    Change change;
    if (is_in_arena(tensor)) change.arena_bytes = static_cast<int64_t>(tensor.shape.bytes);
    if (tensor.storage == Storage::Image)
      change.image_bytes = static_cast<int64_t>(bytes_of(variant.images[tensor.index]));
    changes[lives[id]->start_us].arena_bytes += change.arena_bytes;
    changes[lives[id]->start_us].image_bytes += change.image_bytes;
    changes[lives[id]->end_us].arena_bytes -= change.arena_bytes;
    changes[lives[id]->end_us].image_bytes -= change.image_bytes;
  }
  std::vector<LiveBytes> all;
  Change sum;
  for (const auto& [us, change] : changes) {
    sum.arena_bytes += change.arena_bytes;
    sum.image_bytes += change.image_bytes;
    if (change.arena_bytes != 0 || change.image_bytes != 0)
      all.push_back(
          {us, static_cast<uint64_t>(sum.arena_bytes), static_cast<uint64_t>(sum.image_bytes)});
  }
  return all;
}

}  // namespace codl::compiler
