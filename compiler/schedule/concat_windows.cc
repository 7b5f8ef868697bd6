#include "compiler/schedule/concat_windows.h"

#include "compiler/ir/types.h"
#include "kernels/common/contract/tensor_view.h"
#include "kernels/kernel_table.h"
#include "llvm/ADT/STLExtras.h"

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

  // The result may itself have become a window of a later one.
  void join(StepId id) {
    const Step& step = variant_.steps[id];
    if (step.kernel == nullptr || step.kernel->op != OpKind::Concat || step.queue != Queue::Cpu)
      return;
    const TensorId y = step.operands.back();
    if (!is_maps_of_host(variant_.tensors[y]) || !is_written_by_kernels(y)) return;
    int32_t channels = 0;
    for (TensorId x : llvm::makeArrayRef(step.operands).drop_back()) {
      if (channels % kChannelPanel == 0 && llvm::count(step.operands, x) == 1) put_into(x, id);
      channels += variant_.tensors[x].shape.dims[1];
    }
  }

 private:
  static bool is_maps_of_host(const Tensor& tensor) {
    return tensor.storage == Storage::Host && tensor.shape.layout == Layout::Nhwc;
  }

  bool is_written_by_kernels(TensorId tensor) const {
    return llvm::all_of(steps_[tensor], [&](StepId id) {
      const Step& step = variant_.steps[id];
      return step.kind == StepKind::Kernel || step.operands.back() != tensor;
    });
  }

  void put_into(TensorId x, StepId concat) {
    const TensorId y = variant_.steps[concat].operands.back();
    const kernels::OperandShape& result = variant_.tensors[y].shape;
    kernels::OperandShape& shape = variant_.tensors[x].shape;
    if (!is_maps_of_host(variant_.tensors[x]) || shape.pixel_stride != 0 ||
        shape.row_begin != result.row_begin || shape.row_end != result.row_end)
      return;
    const kernels::OperandShape whole = shape;
    shape.pixel_stride = kernels::pixel_elements(result);
    shape.bytes = static_cast<uint64_t>(kernels::stored_elements(shape)) * dtype_bytes(shape.dtype);
    concats_[x] = concat;
    if (llvm::all_of(steps_[x], [&](StepId id) { return takes_operands(id); })) return;
    shape = whole;
    concats_[x] = ir::kNoId;
  }

  bool takes_operands(StepId id) const {
    const Step& step = variant_.steps[id];
    if (step.kind != StepKind::Kernel) return false;
    // A window of one result must not pass for one of another's that is as wide.
    const kernels::OperandShape& result = variant_.tensors[step.operands.back()].shape;
    if (step.kernel->op == OpKind::Concat &&
        llvm::any_of(llvm::makeArrayRef(step.operands).drop_back(), [&](TensorId x) {
          return kernels::is_window_of(variant_.tensors[x].shape, result) && concats_[x] != id;
        }))
      return false;
    kernels::OperandShape shapes[kernels::kMaxOperands];
    kernels::StepNeeds needs;
    return kernels::check_step(variant_.shape_of(step, shapes), &needs) == nullptr;
  }

  Variant& variant_;
  std::vector<std::vector<StepId>> steps_;  // that touch it, by tensor
  std::vector<StepId> concats_;             // of whose results they are windows, by tensor
};

}  // namespace

void write_into_concats(Variant& variant) {
  ConcatWindows windows(variant);
  for (StepId id = static_cast<StepId>(variant.steps.size()); id-- > 0;) windows.join(id);
}

}  // namespace codl::compiler
