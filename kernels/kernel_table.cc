#include "kernels/kernel_table.h"

#include <algorithm>

#include "kernels/common/contract/contract.h"
#include "kernels/common/contract/texel_factors.h"
#include "schema/half.h"
#include "schema/plan_layout.h"

namespace codl::kernels {

// Each contract (conv2d::kContract, ...) is in kernels/<folder>/<folder>_contract.cc. An operator
// without a contract fails to link.
#define CODL_OP_BEGIN(Op, id, folder) \
  namespace folder {                  \
  extern const Contract kContract;    \
  }
#include "schema/ops.def"

namespace {

// Returns null if the part is one that the kernel can compute and that lies inside the output.
const char* check_part(const StepShape& step) {
  const OperandShape& output = step.output();
  const Range part = step.part;
  switch (step.part_dim) {
    case SplitDim::None:
      return part == Range{} ? nullptr : "part [0, 0) for a step that is not split";
    case SplitDim::Height: {
      if (output.rank != 4) return "output of rank 4 for a part of rows";
      const Range rows = rows_of_part(SplitDim::None, {}, output);
      if (part.empty() || !rows.contains(part)) return "rows of the part inside the output";
      break;
    }
    case SplitDim::OutputChannel: {
      if (output.rank < 2) return "output of rank 2 or more for a part of channels";
      const int32_t channels = output.dims[1];
      if (part.empty() || !Range{0, channels}.contains(part))
        return "channels of the part inside the output";
      if (part.begin % kChannelPanel != 0 ||
          (part.end % kChannelPanel != 0 && part.end != channels))
        return "channels of the part cut at multiples of 16";
      break;
    }
    default:
      return "part_dim None, Height or OutputChannel";
  }
  return step.kernel->can_split(step.part_dim) ? nullptr : "a kernel that can compute such a part";
}

// The arguments of GRID_PARAMS_OF of stored_numbers.cl.
struct ByteGridArgs {
  float scale;
  float zero;
};

// Returns whether an operand of floats lies in memory as halves.
constexpr bool is_stored_as_half(const KernelInfo& kernel, const OperandShape& operand) {
  return operand.dtype == DType::F16 && kernel.takes_halves();
}

// Returns whether an operand of bytes is one that the kernel knows: real numbers with a scale, or
// weights, whose scales are in the packing.
constexpr bool is_stored_as_bytes(const KernelInfo& kernel, const OperandShape& operand) {
  if (operand.dtype != DType::I8) return false;
  if (operand.layout == Layout::Packed) return kernel.has(Signature::Q8);
  return is_quantised(operand) && kernel.takes_quantised();
}

// Returns whether an operand is weights in blocks that the kernel knows.
constexpr bool is_stored_in_blocks(const KernelInfo& kernel, const OperandShape& operand) {
  return operand.dtype == DType::U8 && operand.layout == Layout::Packed &&
         kernel.has(Signature::Blocks);
}

// Adds HALVES and GRIDS of stored_numbers.cl: bit i for the input that is argument i, the last bit
// for the output. Each operand of bytes has two arguments.
void add_forms(const StepShape& step, ClLaunch* out) {
  uint32_t halves = 0;
  uint32_t grids = 0;
  uint32_t argument = 0;
  for (uint32_t i = 0; i < step.operand_count; ++i) {
    if (!is_cl_argument(step, i)) continue;
    const OperandShape& operand = step.operands[i];
    const bool is_output = i + 1 == step.operand_count;
    const uint32_t bit = 1u << (is_output ? kMaxOperands - 1 : argument);
    ++argument;
    if (is_stored_as_half(*step.kernel, operand)) halves |= bit;
    if (!is_quantised(operand)) continue;
    grids |= bit;
    // A texel holds a byte's distance from the lowest.
    const int32_t first = operand.layout == Layout::Image2d ? -128 : 0;
    if (i == 0 && has_texels_of_factors(step)) out->define("FROM_ZERO", 1);
    out->add(ByteGridArgs{.scale = is_output ? 1 / operand.scale : operand.scale,
                          .zero = static_cast<float>(operand.zero_point - first)});
  }
  if (halves != 0) out->define("HALVES", static_cast<int32_t>(halves));
  if (grids != 0) out->define("GRIDS", static_cast<int32_t>(grids));
}

// Returns null if the operand is no window of channels, or one that the kernel takes.
const char* check_window(const StepShape& step, uint32_t i) {
  const OperandShape& operand = step.operands[i];
  if (operand.pixel_stride == 0) return nullptr;
  const bool is_gpu = step.kernel->processor == Processor::Gpu;
  if (!step.kernel->takes_window(i, step.operand_count) ||
      (operand.layout != Layout::Nhwc && operand.layout != Layout::Image2d))
    return "no window of channels for this operand";
  const int32_t first = operand.first_channel;
  return operand.dims[1] % (is_gpu ? kChannelPad : kChannelPanel) == 0 &&
                 operand.pixel_stride % kChannelPad == 0 && operand.pixel_stride <= kMaxDim &&
                 operand.pixel_stride >= operand.dims[1] && first % kChannelPad == 0 &&
                 first >= 0 && first <= (is_gpu ? operand.pixel_stride - operand.dims[1] : 0)
             ? nullptr
             : "a window of whole panels, texels on the GPU, in a map at least as wide";
}

// Returns whether the operand holds lengths of sequences, which the contract knows.
constexpr bool is_lengths(const KernelInfo& kernel, const OperandShape& operand) {
  return kernel.op == OpKind::Recurrent && operand.dtype == DType::I64;
}

// Returns null if the operand suits the kernel's processor and its memory is as large as its shape.
// The size of Packed operands, the number of operands and their roles are the contract's.
const char* check_operand(const KernelInfo& kernel, const OperandShape& operand) {
  if (!kernel.is_reference() && operand.dtype != DType::F32 &&
      !is_stored_as_half(kernel, operand) && !is_stored_as_bytes(kernel, operand) &&
      !is_stored_in_blocks(kernel, operand) && !is_lengths(kernel, operand))
    return "operands of a dtype that the kernel takes";
  if (is_quantised(operand) && !is_stored_as_bytes(kernel, operand))
    return "a kernel that takes quantised operands";
  int64_t elements = 1;
  for (int32_t i = 0; i < operand.rank; ++i) {
    if (operand.dims[i] > kMaxDim) return "dims of at most 2^24";
    elements *= operand.dims[i];
    if (elements > kMaxElements) return "operands of at most 2^30 elements";
  }
  switch (operand.layout) {
    case Layout::Packed:
      return nullptr;
    case Layout::Image2d:
      if (kernel.processor == Processor::Cpu) return "no image for a CPU kernel";
      return stored_elements(operand) <= kMaxElements ? nullptr
                                                      : "operands of at most 2^30 elements";
    case Layout::Plain:
    case Layout::Nhwc:
      if (stored_elements(operand) > kMaxElements) return "operands of at most 2^30 elements";
      if (operand.bytes < stored_bytes(operand)) return "operand memory as large as its shape";
      return nullptr;
    default:
      return "operands of layout Plain, Nhwc, Image2d or Packed";
  }
}

// Returns null if a CPU step that computes with floats has all operands in one type, but for those
// that stay floats. Beside halves, Binary takes floats: a constant.
const char* check_halves(const StepShape& step) {
  const KernelInfo& kernel = *step.kernel;
  if (kernel.processor != Processor::Cpu || !kernel.has(Signature::F16Store) ||
      kernel.is_reference())
    return nullptr;
  const DType dtype = step.output().dtype;
  if (kernel.op == OpKind::Binary && dtype == DType::F16) return nullptr;
  for (uint32_t i = 0; i < step.operand_count; ++i)
    if (is_quantised(step.operands[i])) return nullptr;  // check_bytes() looks at these
  for (uint32_t i = 0; i < step.operand_count; ++i) {
    const bool stays_float = kernel.stays_float(i, step.operand_count);
    if (is_lengths(kernel, step.operands[i])) continue;
    if (step.operands[i].dtype != (stays_float ? DType::F32 : dtype))
      return "operands of one dtype, scales and biases of f32";
  }
  return nullptr;
}

// Returns whether the result's elements are the operands' own: bytes are not computed with.
bool moves_elements(const StepShape& step) {
  switch (step.kernel->op) {
    case OpKind::Unary:
    case OpKind::Binary:
    case OpKind::Convert:
      return false;
    case OpKind::Pool2d:
      return step.params_as<Pool2dParams>().kind == kPool2dMax;
    case OpKind::Resize:
      return step.params_as<ResizeParams>().kind == kResizeNearest;
    default:
      return true;
  }
}

constexpr bool have_one_grid(const OperandShape& a, const OperandShape& b) {
  return a.scale == b.scale && a.zero_point == b.zero_point;
}

// Returns whether each operand may be bytes or not, whatever the others are.
bool takes_bytes_beside_others(const KernelInfo& kernel) {
  const bool is_product = kernel.packing != PackingKind::None || kernel.op == OpKind::BatchMatMul;
  return kernel.op == OpKind::Unary || (is_product && kernel.processor == Processor::Gpu);
}

// Returns null if all real numbers of a step are bytes, or none are. A product's result, what a
// GPU's product and what Unary and Convert read and give may be either; constants of Binary are
// floats. What only moves has one grid. Products of bytes have weights of bytes.
const char* check_bytes(const StepShape& step) {
  const KernelInfo& kernel = *step.kernel;
  const OperandShape& y = step.output();
  if (kernel.has(Signature::Q8))
    return is_quantised(step.operands[0]) && step.operands[1].dtype == DType::I8 &&
                   step.operands[1].layout == Layout::Packed
               ? nullptr
               : "an operand of bytes with a scale, and packed weights of bytes";
  bool has_bytes = false;
  for (uint32_t i = 0; i < step.operand_count; ++i)
    has_bytes = has_bytes || is_quantised(step.operands[i]);
  if (!has_bytes || takes_bytes_beside_others(kernel)) return nullptr;
  if (kernel.op == OpKind::Convert)
    return is_quantised(step.operands[0]) && is_quantised(y) && !have_one_grid(step.operands[0], y)
               ? "one scale and zero point on both sides"
               : nullptr;
  if (!is_quantised(y)) return "a result of bytes";
  if (kernel.op == OpKind::Binary) return nullptr;
  for (uint32_t i = 0; i + 1 < step.operand_count; ++i) {
    const OperandShape& x = step.operands[i];
    if (x.dtype == DType::I64 || kernel.stays_float(i, step.operand_count))
      continue;  // indices, scales
    if (!is_quantised(x)) return "operands that are all bytes";
    if (moves_elements(step) && !have_one_grid(x, y))
      return "operands and result with one scale and zero point";
  }
  return nullptr;
}

// Returns the contract's answer to a step of values as they are in memory.
const char* check_values(const StepShape& step, StepNeeds* out_needs) {
  const Contract& contract = contract_of(step.kernel->op);
  const auto is_stored_otherwise = [](const OperandShape& x) {
    return x.dtype == DType::F16 || is_quantised(x);
  };
  if (step.kernel->processor == Processor::Cpu ||
      std::none_of(step.operands, step.operands + step.operand_count, is_stored_otherwise))
    return contract.check(step, out_needs);
  // Contracts judge the values; check_operand() has judged how they are stored. A CPU kernel needs
  // to know.
  OperandShape values[kMaxOperands];
  for (uint32_t i = 0; i < step.operand_count; ++i) {
    values[i] = step.operands[i];
    if (values[i].layout != Layout::Packed) values[i].dtype = DType::F32;
  }
  StepShape step_on_values = step;
  step_on_values.operands = values;
  return contract.check(step_on_values, out_needs);
}

}  // namespace

const Contract& contract_of(OpKind op) {
  switch (op) {
#define CODL_OP_BEGIN(Op, id, folder) \
  case OpKind::Op:                    \
    return folder::kContract;
#include "schema/ops.def"
  }
  __builtin_unreachable();
}

const char* check_step(const StepShape& step, StepNeeds* out_needs) {
  *out_needs = {};
  const KernelInfo& kernel = *step.kernel;
  if (step.operand_count < 2 || step.operand_count > kMaxOperands) return "2 to 16 operands";
  if (step.tile_count > kMaxTileInts) return "at most 8 tile numbers";
  if (op_info(kernel.op).params_bytes != 0 &&
      (step.params == nullptr || reinterpret_cast<uintptr_t>(step.params) % 4 != 0))
    return "4-byte aligned parameters";

  for (uint32_t i = 0; i < step.operand_count; ++i)
    if (const char* expected = check_operand(kernel, step.operands[i])) return expected;
  for (uint32_t i = 0; i < step.operand_count; ++i)
    if (const char* expected = check_window(step, i)) return expected;
  const Layout layout = step.output().layout;
  if (layout == Layout::Packed || (kernel.layout != Layout::Any && layout != kernel.layout))
    return "output in the kernel's layout";
  if (const char* expected = check_part(step)) return expected;
  if (const char* expected = check_halves(step)) return expected;
  if (const char* expected = check_bytes(step)) return expected;
  if (const char* expected = check_values(step, out_needs)) return expected;
  if (kernel.processor == Processor::Cpu) return nullptr;
  ClLaunch launch;
  launch_of(step, &launch);
  return check_launch(launch);
}

const char* check_launch(const ClLaunch& launch) {
  return launch.is_over ? "a launch of at most 100 scalars and 16 defines" : nullptr;
}

// Returns whether products of the two are of halves: a byte, or weights in blocks, take what the
// other factor is in.
static bool are_half_factors(const OperandShape& a, const OperandShape& b) {
  return (a.dtype == DType::F16 &&
          (b.dtype == DType::F16 || b.dtype == DType::U8 || is_quantised(b))) ||
         (is_quantised(a) && b.dtype == DType::F16);
}

// Returns how many products an output of a step with halves is a sum of.
int64_t products_of(const StepShape& step) {
  const OperandShape& a = step.operands[0];
  const int32_t* const weights = step.operands[1].dims;
  switch (step.kernel->op) {
    case OpKind::MatMul:
      return weights[0];
    case OpKind::BatchMatMul:
      return a.dims[a.rank - (step.params_as<BatchMatMulParams>().is_a_transposed != 0 ? 2 : 1)];
    default:  // both convolutions have OIHW
      return int64_t{weights[1]} * weights[2] * weights[3];
  }
}

// Both factors are halves, or one is bytes on a GPU. A depthwise kernel has no runs: larger filters
// are computed in floats.
HalfArithmetic half_arithmetic_of(const StepShape& step) {
  if (!step.kernel->has(Signature::F16) || step.kernel->op == OpKind::Convert ||
      !are_half_factors(step.operands[0], step.operands[1]))
    return HalfArithmetic::None;
  if (products_of(step) <= kHalfSumProducts) return HalfArithmetic::Halves;
  return step.kernel->op == OpKind::DepthwiseConv2d ? HalfArithmetic::None : HalfArithmetic::Runs;
}

// `params` become those of the step with the activation left out, if that rounds to y's grid.
template <typename Params>
static void leave_out_rounding(StepShape& step, int32_t Params::*kind, float Params::*alpha,
                               float Params::*beta, Params& params) {
  params = step.params_as<Params>();
  const OperandShape& y = step.output();
  if (params.*kind != kUnaryQuantize8 || params.*alpha != y.scale ||
      params.*beta != static_cast<float>(y.zero_point + 128))
    return;
  params.*kind = kUnaryIdentity;
  step.params = &params;
}

WithoutRounding::WithoutRounding(const StepShape& step) : step_(step) {
  if (step.kernel->processor == Processor::Cpu || !is_quantised(step.output())) return;
  switch (step.kernel->op) {
#define CODL_LEAVE_OUT(Op, member)                                                    \
  case OpKind::Op:                                                                    \
    leave_out_rounding(step_, &Op##Params::activation, &Op##Params::activation_alpha, \
                       &Op##Params::activation_beta, params_.member);                 \
    break;
    CODL_LEAVE_OUT(Conv2d, conv2d)
    CODL_LEAVE_OUT(DepthwiseConv2d, depthwise_conv2d)
    CODL_LEAVE_OUT(MatMul, matmul)
    CODL_LEAVE_OUT(Binary, binary)
#undef CODL_LEAVE_OUT
    case OpKind::Unary:
      leave_out_rounding(step_, &UnaryParams::kind, &UnaryParams::alpha, &UnaryParams::beta,
                         params_.unary);
      break;
    default:
      break;
  }
}

void launch_of(const StepShape& rounding, ClLaunch* out_launch) {
  *out_launch = {};
  const WithoutRounding without(rounding);
  const StepShape& step = without.step();
  add_forms(step, out_launch);  // whose arguments come first
  contract_of(step.kernel->op).launch(step, out_launch);
  const HalfArithmetic half = half_arithmetic_of(step);
  if (half != HalfArithmetic::None)
    out_launch->define("HALF_ARITHMETIC", static_cast<int32_t>(half));
  if (half == HalfArithmetic::Runs)
    out_launch->define("RUN_PRODUCTS", static_cast<int32_t>(kHalfSumProducts));
}

}  // namespace codl::kernels
