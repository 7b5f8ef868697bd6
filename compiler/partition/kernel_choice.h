// Which kernel row runs a node, or a part of it, on a processor, and how long that takes.
#pragma once

#include <optional>

#include "compiler/device/device_profile.h"
#include "compiler/device/latency_predictor.h"
#include "compiler/ir/graph.h"
#include "kernels/common/contract.h"
#include "llvm/ADT/STLExtras.h"

namespace codl::compiler {

// The layout in which `processor` holds a value of this type: its own, or Image2d for an Nhwc value
// on a GPU that works on images.
Layout layout_on(const ir::TensorType& type, Processor processor, const DeviceProfile& profile);

// The operand of a step that reads or writes a value on `processor`. Not for packed constants.
// rows: the window held; empty: all rows.
kernels::OperandShape value_shape(const ir::TensorType& type, Layout layout, Range rows);

// The operand of constant number `operand` of a node in the form that `row` reads.
kernels::OperandShape constant_shape(const ir::NodeView& node, uint32_t operand,
                                     const KernelRow& row);

// int32 `groups` of a convolution, 1 for every other op.
int32_t groups_of(const ir::Node& node);

// Every row of kernels.def that can compute `part` along `dim` of the node on `processor`: layouts
// and the device's image limits fit, its contract accepts the step, and the profile has a model.
// Rows of any dtype only where none is made for the dtype. The step lives as long as the call.
void each_kernel(const ir::NodeView& node, Processor processor, SplitDim dim, Range part,
                 const LatencyPredictor& predictor,
                 llvm::function_ref<void(const kernels::StepShape& step)> visit);

struct KernelChoice {
  const KernelRow* row = nullptr;
  double predicted_us = 0;  // with its launch
};

// The one of each_kernel() with the least predicted time. Of equals the first in the table; nothing
// if there is none.
std::optional<KernelChoice> choose_kernel(const ir::NodeView& node, Processor processor,
                                          SplitDim dim, Range part,
                                          const LatencyPredictor& predictor,
                                          bool other_processor_busy);

// Which kernel moves a value between two memories of the GPU: the Convert with the least predicted
// time for the operands and the part of `step`, whose row does not matter. Null if there is none.
const KernelRow* choose_mover(kernels::StepShape step, const LatencyPredictor& predictor);

}  // namespace codl::compiler
