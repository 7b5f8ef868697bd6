#include "compiler/schedule/concat_windows.h"

#include <algorithm>

#include "compiler/ir/types.h"
#include "kernels/kernel_table.h"
#include "llvm/ADT/STLExtras.h"
#include "schema/plan_layout.h"
#include "schema/step_shape.h"

namespace codl::compiler {
namespace {

class ConcatWindows {
 public:
  explicit ConcatWindows(Variant& variant)
      : variant_(variant),
        steps_(variant.tensors.size()),
        concats_(variant.tensors.size(), ir::kNoId) {
    for (StepId id = 0; id < variant.steps.size(); ++id)
      for (TensorId tensor : variant.steps[id].operands) steps_[tensor].push_back(id);
  }

  // Makes windows of the Concat's operands. Its result may itself have become a window of a later
  // one.
  void join(StepId id) {
    const Step& step = variant_.steps[id];
    if (step.kernel == nullptr || step.kernel->op != OpKind::Concat) return;
    const TensorId y = step.operands.back();
    if (!is_maps_of_one_queue(variant_.tensors[y]) || !is_written_by_kernels(y)) return;
    const int32_t unit = step.queue == Queue::Cpu
                             ? std::max(kChannelPanel, aligned_elements(variant_.tensors[y]))
                             : kChannelPad;
    int32_t channels = 0;
    for (TensorId x : llvm::makeArrayRef(step.operands).drop_back()) {
      if (channels % unit == 0 && llvm::count(step.operands, x) == 1) put_into(x, id, channels);
      channels += variant_.tensors[x].shape.dims[1];
    }
  }

 private:
  static bool is_maps_of_one_queue(const Tensor& tensor) {
    return tensor.storage == Storage::Image ||
           ((tensor.storage == Storage::Host || tensor.storage == Storage::Device) &&
            tensor.shape.layout == Layout::Nhwc);
  }

  // Returns the elements after which an offset in the host arena is aligned again.
  static int32_t aligned_elements(const Tensor& tensor) {
    return static_cast<int32_t>(kHostAlignment / dtype_bytes(tensor.shape.dtype));
  }

  bool is_written_by_kernels(TensorId tensor) const {
    return llvm::all_of(steps_[tensor], [&](StepId id) {
      const Step& step = variant_.steps[id];
      return step.kind == StepKind::Kernel || step.operands.back() != tensor;
    });
  }

  // `channels` counts those of the result before the operand's.
  void put_into(TensorId x, StepId concat, int32_t channels) {
    const Tensor& y = variant_.tensors[variant_.steps[concat].operands.back()];
    const kernels::OperandShape& result = y.shape;
    kernels::OperandShape& shape = variant_.tensors[x].shape;
    if (variant_.tensors[x].storage != y.storage || shape.pixel_stride != 0 ||
        shape.dtype != result.dtype || shape.row_begin != result.row_begin ||
        shape.row_end != result.row_end)
      return;
    const kernels::OperandShape whole = shape;
    shape.pixel_stride = kernels::pixel_elements(result);
    // On the CPU a window begins at its first channel, on the GPU where the map does.
    if (y.storage != Storage::Host) shape.first_channel = result.first_channel + channels;
    if (y.storage != Storage::Image)
      shape.bytes =
          static_cast<uint64_t>(kernels::stored_elements(shape)) * dtype_bytes(shape.dtype);
    concats_[x] = concat;
    if (llvm::all_of(steps_[x], [&](StepId id) { return takes_operands(id); })) return;
    shape = whole;
    concats_[x] = ir::kNoId;
  }

  // Returns the widest map of which a tensor is a window, or the tensor itself.
  TensorId map_of(TensorId tensor) const {
    while (concats_[tensor] != ir::kNoId) tensor = variant_.steps[concats_[tensor]].operands.back();
    return tensor;
  }

  bool takes_operands(StepId id) const {
    const Step& step = variant_.steps[id];
    if (step.kind != StepKind::Kernel) return false;
    // A window of one result must not be taken for one of another result that is as wide.
    const kernels::OperandShape& result = variant_.tensors[step.operands.back()].shape;
    if (step.kernel->op == OpKind::Concat &&
        llvm::any_of(llvm::makeArrayRef(step.operands).drop_back(), [&](TensorId x) {
          return kernels::is_window_of(variant_.tensors[x].shape, result) && concats_[x] != id;
        }))
      return false;
    // No kernel reads and writes one image, so a Concat touches no window of its result.
    const auto is_in_output = [&](TensorId x) {
      return variant_.tensors[x].storage == Storage::Image && concats_[x] != id &&
             map_of(x) == map_of(step.operands.back());
    };
    if (llvm::any_of(llvm::makeArrayRef(step.operands).drop_back(), is_in_output)) return false;
    kernels::OperandShape shapes[kernels::kMaxOperands];
    kernels::StepNeeds needs;
    return kernels::check_step(variant_.shape_of(step, shapes), &needs) == nullptr;
  }

  Variant& variant_;
  std::vector<std::vector<StepId>> steps_;  // steps that touch it, indexed by tensor
  // Holds, by tensor, the Concat whose result it is a window of.
  std::vector<StepId> concats_;
};

}  // namespace

void write_into_concats(Variant& variant) {
  ConcatWindows windows(variant);
  for (StepId id = static_cast<StepId>(variant.steps.size()); id-- > 0;) windows.join(id);
}

}  // namespace codl::compiler
