#include "kernels/common/contract/move_elements.h"
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/non_zero/non_zero.h"

namespace codl::kernels {
namespace {

// Returns the bits of which one is set in every element that is not zero: all but the sign of a
// float.
uint64_t number_bits(DType dtype) {
  const uint64_t all = ~uint64_t{0} >> (64 - 8 * dtype_bytes(dtype));
  const bool has_sign_of_zero =
      dtype == DType::F32 || dtype == DType::F64 || dtype == DType::F16 || dtype == DType::BF16;
  return has_sign_of_zero ? all >> 1 : all;
}

uint64_t bits_at(const char* element, size_t bytes) {
  uint64_t bits = 0;
  for (size_t i = 0; i < bytes; ++i)
    bits |= uint64_t{static_cast<unsigned char>(element[i])} << (8 * i);
  return bits;
}

}  // namespace

void non_zero_ref(const KernelArgs& args) {
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const size_t bytes = dtype_bytes(x.shape.dtype);
  const uint64_t mask = number_bits(x.shape.dtype);
  const int64_t elements = y.shape.dims[1];
  int64_t* to = y.as<int64_t>();
  int64_t found = 0;
  for (int64_t i = 0; i < elements; ++i) {
    if ((bits_at(x.as<const char>() + i * static_cast<int64_t>(bytes), bytes) & mask) == 0)
      continue;
    int64_t rest = i;
    for (int32_t axis = x.shape.rank - 1; axis >= 0; --axis) {
      to[axis * elements + found] = rest % x.shape.dims[axis];
      rest /= x.shape.dims[axis];
    }
    if (x.shape.rank == 0) to[found] = 0;
    ++found;
  }
  for (int32_t axis = 0; axis < y.shape.dims[0]; ++axis)
    std::memset(to + axis * elements + found, 0,
                static_cast<size_t>(elements - found) * sizeof(int64_t));
}

CODL_CPU_KERNEL_PLAIN(non_zero_any_cpu, non_zero_ref);

}  // namespace codl::kernels
