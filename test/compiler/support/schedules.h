// Makes schedules by hand, for tests of code that reads them: tensors of so many bytes, and steps
// that touch them.
#pragma once

#include <initializer_list>

#include "compiler/schedule/schedule.h"
#include "schema/step_shape.h"

namespace codl::compiler {

// Returns where a tensor lies: its offset in an arena, or the number of its image.
inline uint64_t place(const Variant& variant, TensorId id) {
  const Tensor& tensor = variant.tensors[id];
  return tensor.storage == Storage::Image ? tensor.index : tensor.offset_bytes;
}
inline std::vector<uint64_t> places(const Variant& variant) {
  std::vector<uint64_t> all;
  for (TensorId id = 0; id < variant.tensors.size(); ++id) all.push_back(place(variant, id));
  return all;
}
inline void set_place(Variant& variant, TensorId id, uint64_t to) {
  Tensor& tensor = variant.tensors[id];
  if (tensor.storage == Storage::Image)
    tensor.index = static_cast<uint32_t>(to);
  else
    tensor.offset_bytes = to;
}
inline void set_places(Variant& variant, const std::vector<uint64_t>& all) {
  for (TensorId id = 0; id < all.size(); ++id) set_place(variant, id, all[id]);
}

struct ScheduleBuilder {
  Schedule schedule;

  // Adds a Plain tensor of `bytes` bytes; nothing else of its shape is set.
  TensorId tensor(Storage storage, uint64_t bytes) {
    Tensor tensor;
    tensor.storage = storage;
    tensor.shape.bytes = bytes;
    schedule.tensors.push_back(tensor);
    return static_cast<TensorId>(schedule.tensors.size() - 1);
  }

  // Adds an image of `width` x `height` texels.
  TensorId image(int32_t width, int32_t height) {
    Tensor tensor;
    tensor.storage = Storage::Image;
    tensor.shape.layout = Layout::Image2d;
    tensor.shape.rank = 4;
    const int32_t dims[] = {1, 4, height, width};
    std::copy(std::begin(dims), std::end(dims), tensor.shape.dims);
    tensor.shape.row_end = height;
    schedule.tensors.push_back(tensor);
    return static_cast<TensorId>(schedule.tensors.size() - 1);
  }

  StepId step(Queue queue, std::initializer_list<TensorId> operands,
              std::initializer_list<StepId> waits = {}) {
    Step step;
    step.queue = queue;
    step.operands = operands;
    step.waits = waits;
    step.name = "step" + std::to_string(schedule.steps.size());
    schedule.steps.push_back(step);
    return static_cast<StepId>(schedule.steps.size() - 1);
  }
};

}  // namespace codl::compiler
