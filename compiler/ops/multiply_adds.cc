#include "compiler/ops/multiply_adds.h"

#include <algorithm>

#include "schema/step_shape.h"

namespace codl::compiler {

namespace {

using kernels::OperandShape;

double elements(const OperandShape& shape) {
  return static_cast<double>(kernels::element_count(shape));
}

// Counts the taps of a filter [out, in / groups, ...] for one element of the output (of the input,
// if it is transposed).
double taps(const OperandShape& weights) {
  double product = 1;
  for (int32_t i = 1; i < weights.rank; ++i) product *= weights.dims[i];
  return product;
}

double of_whole(OpKind op, const kernels::StepShape& step) {
  const OperandShape* in = step.operands;
  const OperandShape& out = step.output();
  switch (op) {
    case OpKind::Conv2d:
    case OpKind::DepthwiseConv2d:
      return elements(out) * taps(in[1]);
    case OpKind::ConvNd:
      return elements(step.params_as<ConvNdParams>().is_transposed != 0 ? in[0] : out) *
             taps(in[1]);
    case OpKind::MatMul:
      return elements(out) * in[0].dims[1];
    case OpKind::BatchMatMul: {
      const bool is_transposed = step.params_as<BatchMatMulParams>().is_a_transposed != 0;
      return elements(out) * in[0].dims[in[0].rank - (is_transposed ? 2 : 1)];
    }
    case OpKind::Attention:  // products of queries with keys, and of powers with values
      return elements(in[0]) * in[1].dims[2] + elements(out) * in[1].dims[2];
    case OpKind::Recurrent:  // x [length, batch, ...]; weights of the input and of the state
      return (elements(in[1]) + elements(in[2])) * in[0].dims[0] * in[0].dims[1];
    default:
      return 0;
  }
}

}  // namespace

double multiply_adds(const ir::NodeView& node) {
  OperandShape shapes[kernels::kMaxOperands];
  const uint32_t inputs = std::min(node.input_count(), kernels::kMaxOperands - 1);
  const auto set = [&](uint32_t i, const ir::TensorType& type) {
    shapes[i].rank = type.rank();
    std::copy(type.dims.begin(), type.dims.end(), shapes[i].dims);
  };
  for (uint32_t i = 0; i < inputs; ++i) set(i, node.input(i));
  set(inputs, node.output());
  kernels::StepShape step;
  step.params = node.node.params.data();
  step.operands = shapes;
  step.operand_count = inputs + 1;
  return of_whole(node.node.op, step);
}

double multiply_adds(const kernels::StepShape& step) {
  const OperandShape& out = step.output();
  double macs = of_whole(step.kernel->op, step);
  if (out.rank == 4)
    macs *= static_cast<double>(kernels::rows_of_part(step.part_dim, step.part, out).count()) /
            out.dims[2];
  if (step.part_dim == SplitDim::OutputChannel)
    macs *= static_cast<double>(step.part.count()) / out.dims[1];
  return macs;
}

}  // namespace codl::compiler
