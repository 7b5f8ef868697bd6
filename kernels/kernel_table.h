// Finds a kernel's contract, function and OpenCL text. Expands kernels.def.
#pragma once

#include "kernels/common/contract/contract.h"

namespace codl::kernels {

const Contract& contract_of(OpKind op);

// Returns null if the kernel may run the step, else what was expected. This is the only gate: codlc
// calls it for every candidate, the runtime for every step of a plan it opens.
const char* check_step(const StepShape& step, StepNeeds* out_needs);

// Says how a step multiplies and adds, as HALF_ARITHMETIC of products.cl: Halves where a sum has at
// most kHalfSumProducts products, in Runs of as many where it has more. A processor without half
// arithmetic computes floats, whatever this says.
enum class HalfArithmetic : int32_t { None = 0, Halves = 1, Runs = 2 };
HalfArithmetic half_arithmetic_of(const StepShape& step);

// Gives a step without the activation that rounds to the grid of a result of bytes on a GPU:
// storing a byte does that.
class WithoutRounding {
 public:
  explicit WithoutRounding(const StepShape& step);
  WithoutRounding(const WithoutRounding&) = delete;
  WithoutRounding& operator=(const WithoutRounding&) = delete;
  const StepShape& step() const { return step_; }

 private:
  StepShape step_;
  union {
    Conv2dParams conv2d;
    DepthwiseConv2dParams depthwise_conv2d;
    MatMulParams matmul;
    BinaryParams binary;
    UnaryParams unary;
  } params_ = {};
};

// Fills the launch of a GPU step that has passed check_step().
void launch_of(const StepShape& step, ClLaunch* out_launch);
// Does check_step()'s check of the launch: null if all of it found room.
const char* check_launch(const ClLaunch& launch);

// Returns null for a GPU kernel. It is in kernel_table_cpu.cc, which links the CPU kernels: the
// half of the table for the runtime and the tests. In the compiler only compress/ runs them;
// planning asks contracts only.
CpuKernel cpu_kernel(const KernelInfo& kernel);

// Returns the kernel's functions, one per instruction set (kernels/common/cpu/cpu_dispatch.h); null
// for a GPU kernel. cpu_kernel() is the best of them that this processor runs; tests run each.
struct CpuKernelTargets;
const CpuKernelTargets* cpu_kernel_targets(const KernelInfo& kernel);

// OpenCL C of a GPU kernel (kernels/<op>/<symbol>.cl) behind what all have in common; each part is
// zero-terminated.
struct ClText {
  static constexpr int kParts = 3;
  const char* parts[kParts];  // the prelude, the activations' macros, the kernel
};

// All texts are unpacked together, in about a millisecond: `out` has kClTextBytes. False only if
// the library was built wrongly.
extern const size_t kClTextBytes;
bool unpack_cl_texts(char* out);
// Finds a kernel's texts among them; a CPU kernel gets nulls.
ClText cl_text(const KernelInfo& kernel, const char* unpacked);

}  // namespace codl::kernels
