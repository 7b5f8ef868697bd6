// Which kernel runs a node, or a part of it, on a processor, and how long that takes.
#pragma once

#include <optional>

#include "compiler/device/device_profile.h"
#include "compiler/device/latency_predictor.h"
#include "compiler/ir/graph.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "schema/step_shape.h"

namespace codl::compiler {

// The layouts in which a part of the node on `processor` may have its maps, its values of type
// Nhwc: Nhwc, and before it Image2d on a GPU that works on images.
llvm::ArrayRef<Layout> map_layouts(const ir::NodeView& node, Processor processor,
                                   const DeviceProfile& profile);

// The layout of a value on a processor that has its maps in `maps`.
constexpr Layout layout_with(const ir::TensorType& type, Layout maps) {
  return type.layout == Layout::Nhwc ? maps : type.layout;
}

// The operand of a step that reads or writes a value on `processor`. Not for packed constants.
// rows: the window held; empty: all rows.
kernels::OperandShape value_shape(const ir::TensorType& type, Layout layout, Range rows);

// The operand of constant number `operand` of a node in the form that `kernel` reads.
kernels::OperandShape constant_shape(const ir::NodeView& node, uint32_t operand,
                                     const KernelInfo& kernel);

// int32 `groups` of a convolution, 1 for every other op.
int32_t groups_of(const ir::Node& node);

// Every kernel of kernels.def that can compute `part` along `dim` of the node on `processor` with
// maps in layout `maps`: the device's limits of images and work-groups fit, its contract accepts
// the step, and the profile has a model. Kernels of any dtype only where none is made for the
// dtype. The step lives as long as the call.
void each_kernel(const ir::NodeView& node, Processor processor, Layout maps, SplitDim dim,
                 Range part, const LatencyPredictor& predictor,
                 llvm::function_ref<void(const kernels::StepShape& step)> visit);

// The same for the whole node, in each layout that its maps may have.
void each_kernel(const ir::NodeView& node, Processor processor, const LatencyPredictor& predictor,
                 llvm::function_ref<void(const kernels::StepShape& step)> visit);

struct KernelChoice {
  const KernelInfo* kernel = nullptr;
  Layout maps = Layout::Nhwc;
  double predicted_us = 0;  // includes the launch
  double launch_us = 0;
};

// Returns the choice of each_kernel() with the least predicted time among those whose weights have
// one of `packings`, and the first in the table among equals; nothing if there is none.
std::optional<KernelChoice> choose_kernel(const ir::NodeView& node, Processor processor,
                                          Layout maps, SplitDim dim, Range part,
                                          const LatencyPredictor& predictor,
                                          bool other_processor_busy,
                                          PackingSet packings = kAllPackings);

// Which kernel moves a value between two memories of a processor: the Convert with the least
// predicted time for the operands and the part of `step`, whose kernel does not matter. Null if
// there is none.
const KernelInfo* choose_mover(kernels::StepShape step, Processor processor,
                               const LatencyPredictor& predictor);

// Output rows that the kernel computes together: fewer take as long.
int32_t rows_at_once(const KernelInfo& kernel);

}  // namespace codl::compiler
