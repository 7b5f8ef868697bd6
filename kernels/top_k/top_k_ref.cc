// Keeps a heap of k places per line along the axis, the worst on top, in the memory of the line's
// result: n log k steps and no other memory.
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/top_k/top_k.h"

namespace codl::kernels {
namespace {

// Returns a number whose order is that of the elements.
using KeyOf = int64_t (*)(const void* x, int64_t offset);

template <typename T>
int64_t key_of(const void* x, int64_t offset) {
  return static_cast<int64_t>(static_cast<const T*>(x)[offset]);
}

int64_t key_of_u64(const void* x, int64_t offset) {
  return static_cast<const int64_t*>(x)[offset] ^ INT64_MIN;
}

// The bits of a positive float grow with it, those of a negative one fall; 0 and -0 are equal.
int64_t key_of_f32(const void* x, int64_t offset) {
  const float element = static_cast<const float*>(x)[offset];
  if (element != element) return INT64_MAX;
  const int64_t bits = __builtin_bit_cast(int32_t, element);
  return bits >= 0 ? bits : int64_t{INT32_MIN} - bits;
}

int64_t key_of_f64(const void* x, int64_t offset) {
  const double element = static_cast<const double*>(x)[offset];
  if (element != element) return INT64_MAX;
  const int64_t bits = __builtin_bit_cast(int64_t, element);
  return bits >= 0 ? bits : INT64_MIN - bits;
}

KeyOf key_function(DType dtype) {
  switch (dtype) {
    case DType::F32:
      return key_of_f32;
    case DType::F64:
      return key_of_f64;
    case DType::I8:
      return key_of<int8_t>;
    case DType::U8:
      return key_of<uint8_t>;
    case DType::I16:
      return key_of<int16_t>;
    case DType::U16:
      return key_of<uint16_t>;
    case DType::I32:
      return key_of<int32_t>;
    case DType::U32:
      return key_of<uint32_t>;
    case DType::U64:
      return key_of_u64;
    default:
      return key_of<int64_t>;
  }
}

// Holds one line of x and its line of y. With is_smallest all keys are turned around.
struct Line {
  KeyOf key_function;
  const void* x;
  int64_t begin;   // where the line begins in x, in elements
  int64_t stride;  // from place to place, in x and in y
  int64_t flip;    // -1 for the smallest, else 0
  int64_t* heap;   // heap[i * stride]

  int64_t key(int64_t place) const { return key_function(x, begin + place * stride) ^ flip; }
  int64_t& at(int64_t i) const { return heap[i * stride]; }
  bool is_worse(int64_t a, int64_t b) const {
    const int64_t key_a = key(a);
    const int64_t key_b = key(b);
    return key_a != key_b ? key_a < key_b : a > b;
  }

  // `place` goes to the top of a heap of `size` whose top is free, and sinks.
  void sink(int64_t place, int64_t i, int64_t size) const {
    for (int64_t child = 2 * i + 1; child < size; child = 2 * i + 1) {
      if (child + 1 < size && is_worse(at(child + 1), at(child))) ++child;
      if (!is_worse(at(child), place)) break;
      at(i) = at(child);
      i = child;
    }
    at(i) = place;
  }

  void run(int64_t extent, int64_t k) const {
    for (int64_t i = 0; i < k; ++i) at(i) = i;
    for (int64_t i = k / 2 - 1; i >= 0; --i) sink(at(i), i, k);
    int64_t worst = key(at(0));
    for (int64_t place = k; place < extent; ++place) {
      if (key(place) <= worst) continue;  // an equal one comes later
      sink(place, 0, k);
      worst = key(at(0));
    }
    for (int64_t size = k - 1; size > 0; --size) {
      const int64_t place = at(size);
      at(size) = at(0);
      sink(place, 0, size);
    }
  }
};

}  // namespace

void top_k_ref(const KernelArgs& args) {
  const auto& params = args.params_as<TopKParams>();
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const int64_t extent = x.shape.dims[params.axis];
  const int64_t inner = x.strides[params.axis];
  const int64_t outer = element_count(x.shape) / (extent * inner);
  Line line = {};
  line.key_function = key_function(x.shape.dtype);
  line.x = x.data;
  line.stride = inner;
  line.flip = params.is_smallest != 0 ? -1 : 0;
  for (int64_t i = 0; i < outer; ++i)
    for (int64_t column = 0; column < inner; ++column) {
      line.begin = i * extent * inner + column;
      line.heap = y.as<int64_t>() + i * params.k * inner + column;
      line.run(extent, params.k);
    }
}

CODL_CPU_KERNEL_PLAIN(top_k_any_cpu, top_k_ref);

}  // namespace codl::kernels
