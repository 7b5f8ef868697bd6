#include <cmath>

#include "kernels/binary/binary.h"
#include "kernels/common/contract/loop_axes.h"
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/common/reference/elements.h"
#include "kernels/common/reference/ref_index.h"
#include "kernels/unary/unary.h"

namespace codl::kernels {
namespace {

// Integers are computed in 64 bits, T = int64_t, or uint64_t for the unsigned ones: the low bits of
// sums, differences and products do not depend on the sign. Nothing here may trap: a plan's tensors
// hold anything.

template <typename T>
T product(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a * b;
  else
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

template <typename T>
T sum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a + b;
  else
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

template <typename T>
T difference(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a - b;
  else
    return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

float quotient(float a, float b) { return a / b; }
double quotient(double a, double b) { return a / b; }
uint64_t quotient(uint64_t a, uint64_t b) { return b == 0 ? 0 : a / b; }
// The smallest number by -1 does not fit; its negation wraps.
int64_t quotient(int64_t a, int64_t b) {
  return b == 0 ? 0 : b == -1 ? difference<int64_t>(0, a) : a / b;
}

float power(float a, float b) { return std::pow(a, b); }
double power(double a, double b) { return std::pow(a, b); }
uint64_t power(uint64_t a, uint64_t b) {
  uint64_t result = 1;
  for (; b != 0; b >>= 1, a *= a)
    if (b & 1) result *= a;
  return result;
}
int64_t power(int64_t a, int64_t b) {
  if (b >= 0)
    return static_cast<int64_t>(power(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  if (a == -1) return b % 2 == 0 ? 1 : -1;
  return a == 1 ? 1 : 0;
}

float remainder(float a, float b) { return std::fmod(a, b); }
double remainder(double a, double b) { return std::fmod(a, b); }
uint64_t remainder(uint64_t a, uint64_t b) { return b == 0 ? 0 : a % b; }
int64_t remainder(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }

template <typename T>
T floored_modulo(T a, T b) {
  const T rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(T{0}, b);
  return (rest < 0) == (b < 0) ? rest : rest + b;
}
float modulo(float a, float b) { return floored_modulo(a, b); }
double modulo(double a, double b) { return floored_modulo(a, b); }
uint64_t modulo(uint64_t a, uint64_t b) { return remainder(a, b); }
int64_t modulo(int64_t a, int64_t b) {
  const int64_t rest = remainder(a, b);
  return rest == 0 || (rest < 0) == (b < 0) ? rest : rest + b;
}

template <typename T>
bool is_nan(T x) {
  return x != x;
}

// Computes y[i] = a[i] op b[i] for the members that numbers of every type have. Returns false for
// the others.
template <typename T>
bool combine_numbers(int32_t kind, const T* a, const T* b, T* y, int64_t count) {
  const auto each = [=](auto function) {
    for (int64_t i = 0; i < count; ++i) y[i] = function(a[i], b[i]);
    return true;
  };
  switch (kind) {
    case kBinaryAdd:
      return each([](T l, T r) { return sum(l, r); });
    case kBinarySub:
      return each([](T l, T r) { return difference(l, r); });
    case kBinaryMul:
      return each([](T l, T r) { return product(l, r); });
    case kBinaryDiv:
      return each([](T l, T r) { return quotient(l, r); });
    case kBinaryPow:
      return each([](T l, T r) { return power(l, r); });
    case kBinaryMin:
      return each([](T l, T r) { return is_nan(l) || l < r ? l : r; });
    case kBinaryMax:
      return each([](T l, T r) { return is_nan(l) || l > r ? l : r; });
    case kBinaryMod:
      return each([](T l, T r) { return modulo(l, r); });
    case kBinaryFmod:
      return each([](T l, T r) { return remainder(l, r); });
    case kBinaryPRelu:
      return each([](T l, T r) { return l < 0 ? product(l, r) : l; });
    case kBinaryEqual:
      return each([](T l, T r) { return T(l == r); });
    case kBinaryLess:
      return each([](T l, T r) { return T(l < r); });
    case kBinaryLessOrEqual:
      return each([](T l, T r) { return T(l <= r); });
    case kBinaryGreater:
      return each([](T l, T r) { return T(l > r); });
    case kBinaryGreaterOrEqual:
      return each([](T l, T r) { return T(l >= r); });
    default:
      return false;
  }
}

// Computes the other members. `bits`: of the dtype; numbers of fewer than 64 bits are extended by
// their sign or by zeros. In a shift, a negative b is a large unsigned one.
void combine_bits(int32_t kind, int32_t bits, const int64_t* a, const int64_t* b, int64_t* y,
                  int64_t count, bool is_signed) {
  const auto each = [=](auto function) {
    for (int64_t i = 0; i < count; ++i) y[i] = function(a[i], b[i]);
  };
  const auto is_inside = [bits](int64_t shift) { return shift >= 0 && shift < bits; };
  switch (kind) {
    case kBinaryAnd:
      return each([](int64_t l, int64_t r) { return int64_t{l != 0 && r != 0}; });
    case kBinaryOr:
      return each([](int64_t l, int64_t r) { return int64_t{l != 0 || r != 0}; });
    case kBinaryXor:
      return each([](int64_t l, int64_t r) { return int64_t{(l != 0) != (r != 0)}; });
    case kBinaryBitwiseAnd:
      return each([](int64_t l, int64_t r) { return l & r; });
    case kBinaryBitwiseOr:
      return each([](int64_t l, int64_t r) { return l | r; });
    case kBinaryBitwiseXor:
      return each([](int64_t l, int64_t r) { return l ^ r; });
    case kBinaryShiftLeft:
      return each([=](int64_t l, int64_t r) {
        return is_inside(r) ? static_cast<int64_t>(static_cast<uint64_t>(l) << r) : 0;
      });
    default:  // ShiftRight
      if (is_signed)
        return each([=](int64_t l, int64_t r) { return l >> (is_inside(r) ? r : 63); });
      return each([=](int64_t l, int64_t r) {
        return is_inside(r) ? static_cast<int64_t>(static_cast<uint64_t>(l) >> r) : 0;
      });
  }
}

// A run covers neighbouring output elements, at most kElementBlock of them.
struct Run {
  const void* a;
  const void* b;
  int64_t a_step;
  int64_t b_step;
  void* y;
  int64_t count;
};

// Compares i32. Written out because models have many of them as indices (one-hot rows, masks of
// positions): a vector holds twice as many as of 64 bits, and there is nothing to widen. Returns
// false for the other members.
bool compare_i32(int32_t kind, const Run& run) {
  int32_t block[2][kElementBlock];
  const int32_t* operands[2] = {static_cast<const int32_t*>(run.a),
                                static_cast<const int32_t*>(run.b)};
  const int64_t steps[2] = {run.a_step, run.b_step};
  for (int operand = 0; operand < 2; ++operand) {
    if (steps[operand] == 1) continue;
    for (int64_t i = 0; i < run.count; ++i)
      block[operand][i] = operands[operand][i * steps[operand]];
    operands[operand] = block[operand];
  }
  const auto each = [&](auto function) {
    const int32_t* const a = operands[0];
    const int32_t* const b = operands[1];
    uint8_t* __restrict y = static_cast<uint8_t*>(run.y);
    for (int64_t i = 0; i < run.count; ++i) y[i] = function(a[i], b[i]);
    return true;
  };
  switch (kind) {
    case kBinaryEqual:
      return each([](int32_t l, int32_t r) { return l == r; });
    case kBinaryLess:
      return each([](int32_t l, int32_t r) { return l < r; });
    case kBinaryLessOrEqual:
      return each([](int32_t l, int32_t r) { return l <= r; });
    case kBinaryGreater:
      return each([](int32_t l, int32_t r) { return l > r; });
    case kBinaryGreaterOrEqual:
      return each([](int32_t l, int32_t r) { return l >= r; });
    default:
      return false;
  }
}

void combine_integers(const BinaryParams& params, DType dtype, DType y_dtype, const Run& run) {
  if (dtype == DType::I32 && y_dtype == DType::Bool && compare_i32(params.kind, run)) return;
  int64_t a[kElementBlock];
  int64_t b[kElementBlock];
  int64_t y[kElementBlock];
  load_integers(dtype, run.a, run.a_step, run.count, a);
  load_integers(dtype, run.b, run.b_step, run.count, b);
  const bool is_signed = is_signed_integer(dtype);
  const bool is_done =
      is_signed ? combine_numbers<int64_t>(params.kind, a, b, y, run.count)
                : combine_numbers<uint64_t>(params.kind, reinterpret_cast<const uint64_t*>(a),
                                            reinterpret_cast<const uint64_t*>(b),
                                            reinterpret_cast<uint64_t*>(y), run.count);
  if (!is_done)
    combine_bits(params.kind, static_cast<int32_t>(dtype_bytes(dtype)) * 8, a, b, y, run.count,
                 is_signed);
  store_integers(y_dtype, y, run.count, run.y);
}

template <typename T>
const T* floats_of(const void* from, int64_t step, int64_t count, T* block) {
  const T* elements = static_cast<const T*>(from);
  if (step == 1) return elements;
  for (int64_t i = 0; i < count; ++i) block[i] = elements[i * step];
  return block;
}

// T: float or double.
template <typename T>
void combine_floats(const BinaryParams& params, DType y_dtype, const Run& run) {
  T a[kElementBlock];
  T b[kElementBlock];
  T y[kElementBlock];
  combine_numbers<T>(params.kind, floats_of(run.a, run.a_step, run.count, a),
                     floats_of(run.b, run.b_step, run.count, b), y, run.count);
  if (y_dtype == DType::Bool) {
    for (int64_t i = 0; i < run.count; ++i) static_cast<uint8_t*>(run.y)[i] = y[i] != 0;
    return;
  }
  if constexpr (std::is_same_v<T, float>)
    if (params.activation != kUnaryIdentity)
      for (int64_t i = 0; i < run.count; ++i)
        y[i] = unary_value_ref(params.activation, params.activation_alpha, params.activation_beta,
                               y[i]);
  for (int64_t i = 0; i < run.count; ++i) static_cast<T*>(run.y)[i] = y[i];
}

void run_plain(const KernelArgs& args) {
  const auto& params = args.params_as<BinaryParams>();
  const TensorView& a = args.operands[0];
  const TensorView& b = args.operands[1];
  const TensorView& y = args.output();
  const DType dtype = a.shape.dtype;
  const auto bytes = static_cast<int64_t>(dtype_bytes(dtype));
  const auto y_bytes = static_cast<int64_t>(dtype_bytes(y.shape.dtype));
  LoopAxes axes;
  for (int32_t i = 0; i < y.shape.rank; ++i)
    axes.append(y.shape.dims[i], broadcast_stride(a.shape, y.shape, i),
                broadcast_stride(b.shape, y.shape, i));
  const int64_t elements = element_count(y.shape);
  for (int64_t begin = 0; begin < elements;) {
    const int64_t rest = elements - begin;
    const LoopAxes::Run place =
        axes.run_at(begin, begin + (rest < kElementBlock ? rest : kElementBlock));
    const Run run = {a.as<const char>() + place.offsets[0] * bytes,
                     b.as<const char>() + place.offsets[1] * bytes,
                     axes.last_step(0),
                     axes.last_step(1),
                     y.as<char>() + begin * y_bytes,
                     place.count};
    if (dtype == DType::F32)
      combine_floats<float>(params, y.shape.dtype, run);
    else if (dtype == DType::F64)
      combine_floats<double>(params, y.shape.dtype, run);
    else
      combine_integers(params, dtype, y.shape.dtype, run);
    begin += place.count;
  }
}

int64_t broadcast_offset_of(const TensorView& operand, const OperandShape& y,
                            const int32_t* index) {
  int32_t own[kMaxRank] = {};
  const int32_t first = y.rank - operand.shape.rank;
  for (int32_t i = 0; i < operand.shape.rank; ++i)
    own[i] = operand.shape.dims[i] == 1 ? 0 : index[first + i];
  return offset_of(operand, own);
}

}  // namespace

float binary_value_ref(int32_t kind, float a, float b) {
  float y = 0.0f;
  combine_numbers<float>(kind, &a, &b, &y, 1);
  return y;
}

void binary_ref(const KernelArgs& args) {
  const TensorView& a = args.operands[0];
  const TensorView& b = args.operands[1];
  const TensorView& y = args.output();
  if (y.shape.layout == Layout::Plain) return run_plain(args);
  // Maps are f32.
  for_each_output(args, [&](const int32_t* index) {
    combine_floats<float>(args.params_as<BinaryParams>(), DType::F32,
                          {a.as<const float>() + broadcast_offset_of(a, y.shape, index),
                           b.as<const float>() + broadcast_offset_of(b, y.shape, index), 1, 1,
                           y.as<float>() + offset_of(y, index), 1});
  });
  zero_pad_lanes(args);
}

CODL_CPU_KERNEL_PLAIN(binary_any_cpu, binary_ref);

}  // namespace codl::kernels
