#include "kernels/common/contract/broadcast.h"
#include "kernels/common/contract/loop_axes.h"
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/where/where.h"

namespace codl::kernels {
namespace {

// T is an integer of the elements' size.
template <typename T>
void choose(const KernelArgs& args) {
  const TensorView& y = args.output();
  const auto step_of = [&](uint32_t operand, int32_t i) {
    return broadcast_stride(args.operands[operand].shape, y.shape, i);
  };
  // Two nests of loops, as a nest has two inputs; a choose is what is one in both.
  LoopAxes of_a;
  LoopAxes of_b;
  for (int32_t i = 0; i < y.shape.rank; ++i) {
    of_a.append(y.shape.dims[i], step_of(0, i), step_of(1, i));
    of_b.append(y.shape.dims[i], 0, step_of(2, i));
  }
  const int64_t elements = element_count(y.shape);
  for (int64_t begin = 0; begin < elements;) {
    const LoopAxes::Run a_run = of_a.run_at(begin, elements);
    const LoopAxes::Run b_run = of_b.run_at(begin, elements);
    const uint8_t* condition = args.operands[0].as<const uint8_t>() + a_run.offsets[0];
    const T* a = args.operands[1].as<const T>() + a_run.offsets[1];
    const T* b = args.operands[2].as<const T>() + b_run.offsets[1];
    const int64_t count = a_run.count < b_run.count ? a_run.count : b_run.count;
    for (int64_t i = 0; i < count; ++i)
      y.as<T>()[begin + i] = condition[i * of_a.last_step(0)] != 0 ? a[i * of_a.last_step(1)]
                                                                   : b[i * of_b.last_step(1)];
    begin += count;
  }
}

}  // namespace

void where_ref(const KernelArgs& args) {
  switch (dtype_bytes(args.output().shape.dtype)) {
    case 1:
      return choose<uint8_t>(args);
    case 2:
      return choose<uint16_t>(args);
    case 4:
      return choose<uint32_t>(args);
    default:
      return choose<uint64_t>(args);
  }
}

CODL_CPU_KERNEL_PLAIN(where_any_cpu, where_ref);

}  // namespace codl::kernels
