// Chooses the kernel that runs a node, or a part of it, on a processor, and tells how long that
// takes.
#pragma once

#include <optional>

#include "compiler/device/device_profile.h"
#include "compiler/device/latency_predictor.h"
#include "compiler/ir/graph.h"
#include "compiler/partition/forms.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "schema/step_shape.h"

namespace codl::compiler {

// Returns the operand of a step that reads or writes a value in a form, but not a packed constant.
// `rows` is the window that is held; empty stands for all rows.
kernels::OperandShape value_shape(const ir::Value& value, Form form, Range rows);

// Returns how `kernel`, if its real numbers are of `reals`, reads constant number `operand` of a
// node.
Packing packing_of(const ir::NodeView& node, uint32_t operand, const KernelInfo& kernel,
                   DType reals);

// Returns the operand of constant number `operand` of a node in the form that `kernel` reads.
kernels::OperandShape constant_shape(const ir::NodeView& node, uint32_t operand,
                                     const KernelInfo& kernel, DType reals);

// Returns int32 `groups` of a convolution, 1 for every other op.
int32_t groups_of(const ir::Node& node);

// Visits every kernel of kernels.def that can compute `part` along `dim` of the node on `processor`
// with maps in form `maps`: the device's limits of images and work-groups fit, its contract
// accepts the step, and the profile has a model. Kernels of any dtype count only if none is made
// for the dtype. The step lives as long as the call.
void each_kernel(const ir::NodeView& node, Processor processor, Form maps, SplitDim dim, Range part,
                 const LatencyPredictor& predictor,
                 llvm::function_ref<void(const kernels::StepShape& step)> visit);

// Does the same for the whole node, in each form that its maps may have.
void each_kernel(const ir::NodeView& node, Processor processor, const LatencyPredictor& predictor,
                 llvm::function_ref<void(const kernels::StepShape& step)> visit);

struct KernelChoice {
  const KernelInfo* kernel = nullptr;
  Form form = kBuffers;
  double predicted_us = 0;  // includes the launch
  double launch_us = 0;
};

// Returns the choice of each_kernel() with the least predicted time among those whose weights have
// one of `packings`, and the first in the table among equals; nothing if there is none.
std::optional<KernelChoice> choose_kernel(const ir::NodeView& node, Processor processor, Form maps,
                                          SplitDim dim, Range part,
                                          const LatencyPredictor& predictor,
                                          bool other_processor_busy,
                                          PackingSet packings = kAllPackings);

// Returns the kernel that moves a value between two memories of a processor: the Convert with the
// least predicted time for the operands and the part of `step`, whose own kernel does not matter.
// Returns null if there is none.
const KernelInfo* choose_mover(kernels::StepShape step, Processor processor,
                               const LatencyPredictor& predictor);

// Returns how many output rows the kernel computes together: fewer take as long.
int32_t rows_at_once(const KernelInfo& kernel);

}  // namespace codl::compiler
