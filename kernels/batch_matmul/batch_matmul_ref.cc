// Computes rows of y in blocks of columns, whose sums are held while k passes.
#include "kernels/batch_matmul/batch_matmul.h"
#include "kernels/common/cpu/cpu_dispatch.h"

namespace codl::kernels {
namespace {

constexpr int64_t kColumns = 64;

// Computes sums += factor * b. A whole block has a count that the compiler sees: vectors.
template <typename T, typename Sum>
void add_row(Sum factor, const T* b, int64_t columns, Sum* sums) {
  if (columns == kColumns) {
    for (int64_t i = 0; i < kColumns; ++i) sums[i] += factor * static_cast<Sum>(b[i]);
  } else {
    for (int64_t i = 0; i < columns; ++i) sums[i] += factor * static_cast<Sum>(b[i]);
  }
}

// `a` is a's row; `b` is b's first column of the block.
template <typename T, typename Sum>
void multiply_block(const BatchMatMulWork& work, const T* a, const T* b, int64_t columns, T* y) {
  Sum sums[kColumns] = {};
  if (work.b_depth == 1) {  // columns of b are lines of memory
    for (int64_t i = 0; i < columns; ++i, b += work.b_column)
      for (int64_t k = 0; k < work.k; ++k)
        sums[i] += static_cast<Sum>(a[k * work.a_depth]) * static_cast<Sum>(b[k]);
  } else {
    for (int64_t k = 0; k < work.k; ++k, a += work.a_depth, b += work.b_depth)
      add_row(static_cast<Sum>(*a), b, columns, sums);
  }
  for (int64_t i = 0; i < columns; ++i) y[i] = static_cast<T>(sums[i]);
}

template <typename T, typename Sum>
void multiply(const BatchMatMulWork& work, const TensorView* operands) {
  T* y = operands[2].as<T>();
  for (int64_t batch = 0; batch < work.batch_count; ++batch) {
    const LoopAxes::Run run = work.batch.run_at(batch, batch + 1);
    for (int64_t row = 0; row < work.m; ++row, y += work.n) {
      const T* a = operands[0].as<const T>() + run.offsets[0] + row * work.a_row;
      const T* b = operands[1].as<const T>() + run.offsets[1];
      for (int64_t i = 0; i < work.n; i += kColumns)
        multiply_block<T, Sum>(work, a, b + i * work.b_column,
                               work.n - i < kColumns ? work.n - i : kColumns, y + i);
    }
  }
}

}  // namespace

void batch_matmul_ref(const KernelArgs& args) {
  const TensorView* operands = args.operands;
  const BatchMatMulWork work = batch_matmul_work(
      args.params_as<BatchMatMulParams>(), operands[0].shape, operands[1].shape, operands[2].shape);
  if (operands[2].shape.dtype == DType::F32) return multiply<float, double>(work, operands);
  // The low bits of a product come from those of its factors: signed or not, it wraps.
  switch (dtype_bytes(operands[2].shape.dtype)) {
    case 1:
      return multiply<uint8_t, uint32_t>(work, operands);
    case 2:
      return multiply<uint16_t, uint32_t>(work, operands);
    case 4:
      return multiply<uint32_t, uint32_t>(work, operands);
    default:
      return multiply<uint64_t, uint64_t>(work, operands);
  }
}

CODL_CPU_KERNEL_PLAIN(batch_matmul_any_cpu, batch_matmul_ref);

}  // namespace codl::kernels
