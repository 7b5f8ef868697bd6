#include <cstring>

#include "kernels/cast/cast.h"
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/common/reference/elements.h"

namespace codl::kernels {
namespace {

void cast_floats(DType from, DType to, const void* x, int64_t count, void* y) {
  double floats[kElementBlock];
  load_floats(from, x, 1, count, floats);
  if (is_float(to)) return store_floats(to, floats, count, y);
  int64_t integers[kElementBlock];
  for (int64_t i = 0; i < count; ++i)
    integers[i] = to == DType::Bool ? int64_t{floats[i] != 0.0} : integer_of(to, floats[i]);
  store_integers(to, integers, count, y);
}

// T is uint64_t for the bits of U64, else int64_t. Converts straight to f32, because going through
// f64 would round twice.
template <typename T>
void integers_to_floats(DType to, const int64_t* integers, int64_t count, void* y) {
  if (to == DType::F32) {
    for (int64_t i = 0; i < count; ++i)
      static_cast<float*>(y)[i] = static_cast<float>(static_cast<T>(integers[i]));
    return;
  }
  double floats[kElementBlock];
  for (int64_t i = 0; i < count; ++i) floats[i] = static_cast<double>(static_cast<T>(integers[i]));
  store_floats(to, floats, count, y);
}

void cast_integers(DType from, DType to, const void* x, int64_t count, void* y) {
  if (from == DType::Bool && to == DType::F32) {
    const uint8_t* bools = static_cast<const uint8_t*>(x);
    float* __restrict floats = static_cast<float*>(y);
    for (int64_t i = 0; i < count; ++i) floats[i] = bools[i] != 0 ? 1.0f : 0.0f;
    return;
  }
  int64_t integers[kElementBlock];
  load_integers(from, x, 1, count, integers);
  if (from == DType::Bool || to == DType::Bool)
    for (int64_t i = 0; i < count; ++i) integers[i] = integers[i] != 0;
  if (!is_float(to)) return store_integers(to, integers, count, y);
  if (from == DType::U64)
    integers_to_floats<uint64_t>(to, integers, count, y);
  else
    integers_to_floats<int64_t>(to, integers, count, y);
}

}  // namespace

void cast_ref(const KernelArgs& args) {
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const DType from = x.shape.dtype;
  const DType to = y.shape.dtype;
  const auto from_bytes = static_cast<int64_t>(dtype_bytes(from));
  const auto to_bytes = static_cast<int64_t>(dtype_bytes(to));
  const int64_t elements = element_count(y.shape);
  if (from == to) {
    std::memcpy(y.data, x.data, static_cast<size_t>(elements * to_bytes));
    return;
  }
  for (int64_t begin = 0; begin < elements; begin += kElementBlock) {
    const int64_t count = elements - begin < kElementBlock ? elements - begin : kElementBlock;
    const void* x_block = x.as<const char>() + begin * from_bytes;
    void* y_block = y.as<char>() + begin * to_bytes;
    if (is_float(from))
      cast_floats(from, to, x_block, count, y_block);
    else
      cast_integers(from, to, x_block, count, y_block);
  }
}

CODL_CPU_KERNEL_PLAIN(cast_any_cpu, cast_ref);

}  // namespace codl::kernels
