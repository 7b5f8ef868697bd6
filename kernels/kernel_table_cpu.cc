#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/kernel_table.h"

namespace codl::kernels {

// CODL_KERNEL names every kernel with its processor; these two keep the CPU kernels.
#define CODL_DECLARE_Cpu(symbol) extern const CpuKernelTargets symbol;
#define CODL_DECLARE_Gpu(symbol)
#define CODL_CASE_Cpu(id, symbol) \
  case id:                        \
    return &symbol;
#define CODL_CASE_Gpu(id, symbol)

#define CODL_KERNEL(id, revision, symbol, op, algorithm, processor, signatures, layout, packing, \
                    splits, windows)                                                             \
  CODL_DECLARE_##processor(symbol)
#include "schema/kernels.def"

const CpuKernelTargets* cpu_kernel_targets(const KernelInfo& kernel) {
  switch (kernel.id) {
#define CODL_KERNEL(id, revision, symbol, op, algorithm, processor, signatures, layout, packing, \
                    splits, windows)                                                             \
  CODL_CASE_##processor(id, symbol)
#include "schema/kernels.def"
    default:
      return nullptr;
  }
}

CpuKernel cpu_kernel(const KernelInfo& kernel) {
  const CpuKernelTargets* targets = cpu_kernel_targets(kernel);
  return targets == nullptr ? nullptr : kernel_for(*targets, best_cpu_target());
}

}  // namespace codl::kernels
