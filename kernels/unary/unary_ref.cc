#include <cmath>
#include <cstring>

#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/common/reference/elements.h"
#include "kernels/common/reference/ref_index.h"
#include "kernels/unary/unary.h"

namespace codl::kernels {
namespace {

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
double softplus(double x) { return std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

// Returns the larger (smaller) of the two; a NaN in x stays.
double at_least(double x, double low) { return x < low ? low : x; }
double at_most(double x, double high) { return x > high ? high : x; }

// Works in every rounding mode; -0.4 becomes -0.
double round_half_to_even(double x) {
  const double below = std::floor(x);
  const double rest = x - below;
  const bool is_down = rest == 0.5 ? std::fmod(below, 2.0) == 0.0 : rest < 0.5;
  return std::copysign(is_down ? below : below + 1.0, x);
}

// Divides as floats do, which decides what is half way between two integers.
double quotient(double x, double divisor) {
  return static_cast<double>(static_cast<float>(x / divisor));
}

double value_of(int32_t kind, double alpha, double beta, double x) {
  switch (kind) {
#define CODL_ACTIVATION(Name, number, parameters, use, formula, vector, cpu_cost, cl_cost, cl) \
  case number:                                                                                 \
    return formula;
#include "schema/activations.def"
    default:
      return x;
  }
}

void run_floats(const KernelArgs& args) {
  const auto& params = args.params_as<UnaryParams>();
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const auto value_at = [&](int64_t offset) {
    return unary_value_ref(params.kind, params.alpha, params.beta, x.as<const float>()[offset]);
  };
  if (y.shape.layout == Layout::Plain) {
    const int64_t count = element_count(y.shape);
    for (int64_t i = 0; i < count; ++i) y.as<float>()[i] = value_at(i);
    return;
  }
  for_each_output(args, [&](const int32_t* index) {
    y.as<float>()[offset_of(y, index)] = value_at(offset_of(x, index));
  });
  zero_pad_lanes(args);
}

void run_doubles(const KernelArgs& args) {
  const auto& params = args.params_as<UnaryParams>();
  const double* x = args.operands[0].as<const double>();
  const int64_t count = element_count(args.output().shape);
  for (int64_t i = 0; i < count; ++i)
    args.output().as<double>()[i] =
        value_of(params.kind, double{params.alpha}, double{params.beta}, x[i]);
}

// These compute IsNan and IsInf of T.
template <typename T>
void run_tests(const KernelArgs& args) {
  const auto& params = args.params_as<UnaryParams>();
  const T* x = args.operands[0].as<const T>();
  uint8_t* y = args.output().as<uint8_t>();
  const int64_t count = element_count(args.output().shape);
  const bool finds_nan = params.kind == kUnaryIsNan;
  const bool finds_negative = params.kind == kUnaryIsInf && params.alpha != 0.0f;
  const bool finds_positive = params.kind == kUnaryIsInf && params.beta != 0.0f;
  for (int64_t i = 0; i < count; ++i)
    y[i] = (finds_nan && x[i] != x[i]) || (finds_negative && x[i] == T{-__builtin_inff()}) ||
           (finds_positive && x[i] == T{__builtin_inff()});
}

// T is int64_t, or uint64_t for unsigned integers. Overflow wraps.
template <typename T>
void transform(const UnaryParams& params, T low, T high, T* block, int64_t count) {
  const auto each = [&](auto function) {
    for (int64_t i = 0; i < count; ++i) block[i] = function(block[i]);
  };
  const auto negated = [](T x) { return static_cast<T>(0 - static_cast<uint64_t>(x)); };
  switch (params.kind) {
    case kUnaryRelu:
      return each([](T x) { return x > 0 ? x : T{0}; });
    case kUnaryClip:
      return each([=](T x) {
        const T raised = x < low ? low : x;
        return raised > high ? high : raised;
      });
    case kUnaryAbs:
      return each([=](T x) { return x > 0 ? x : std::is_signed_v<T> ? negated(x) : x; });
    case kUnaryNeg:
      return each(negated);
    case kUnarySign:
      return each([](T x) { return x > 0 ? T{1} : x == 0 ? T{0} : static_cast<T>(-1); });
    default:  // BitwiseNot
      return each([](T x) { return static_cast<T>(~x); });
  }
}

void run_integers(const KernelArgs& args) {
  const auto& params = args.params_as<UnaryParams>();
  const DType dtype = args.output().shape.dtype;
  const int64_t low = integer_of(dtype, double{params.alpha});
  const int64_t high = integer_of(dtype, double{params.beta});
  const auto bytes = static_cast<int64_t>(dtype_bytes(dtype));
  const int64_t elements = element_count(args.output().shape);
  for (int64_t begin = 0; begin < elements; begin += kElementBlock) {
    const int64_t count = elements - begin < kElementBlock ? elements - begin : kElementBlock;
    int64_t block[kElementBlock];
    load_integers(dtype, args.operands[0].as<const char>() + begin * bytes, 1, count, block);
    if (is_signed_integer(dtype))
      transform<int64_t>(params, low, high, block, count);
    else
      transform<uint64_t>(params, static_cast<uint64_t>(low), static_cast<uint64_t>(high),
                          reinterpret_cast<uint64_t*>(block), count);
    store_integers(dtype, block, count, args.output().as<char>() + begin * bytes);
  }
}

}  // namespace

float unary_value_ref(int32_t kind, float alpha, float beta, float x) {
  // Identity keeps the bits.
  if (kind == kUnaryIdentity) return x;
  return static_cast<float>(value_of(kind, double{alpha}, double{beta}, double{x}));
}

void unary_ref(const KernelArgs& args) {
  const int32_t kind = args.params_as<UnaryParams>().kind;
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  if (y.shape.dtype == DType::F32) return run_floats(args);
  if (x.shape.dtype == DType::F32) return run_tests<float>(args);
  const int64_t count = element_count(y.shape);
  if (kind == kUnaryIdentity) {
    std::memcpy(y.data, x.data, static_cast<size_t>(count) * dtype_bytes(y.shape.dtype));
  } else if (x.shape.dtype == DType::F64) {
    if (y.shape.dtype == DType::Bool) return run_tests<double>(args);
    run_doubles(args);
  } else if (kind == kUnaryNot) {
    for (int64_t i = 0; i < count; ++i) y.as<uint8_t>()[i] = x.as<const uint8_t>()[i] == 0;
  } else {
    run_integers(args);
  }
}

CODL_CPU_KERNEL_PLAIN(unary_any_cpu, unary_ref);

}  // namespace codl::kernels
