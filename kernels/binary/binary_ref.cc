#include "kernels/binary/binary.h"
#include "kernels/common/cpu_dispatch.h"
#include "kernels/common/ref_index.h"
#include "kernels/unary/unary.h"

namespace codl::kernels {
namespace {

float combine(int32_t kind, float a, float b) {
  switch (kind) {
    case kBinaryAdd:
      return a + b;
    case kBinarySub:
      return a - b;
    case kBinaryMul:
      return a * b;
    default:
      return a / b;
  }
}

// Shape arithmetic of a model, which may be anything: overflow wraps, and what C++ leaves undefined
// for a quotient (divisor 0, or -1 under the smallest number) is 0 and the wrapped negation.
int64_t combine(int32_t kind, int64_t a, int64_t b) {
  const auto left = static_cast<uint64_t>(a);
  const auto right = static_cast<uint64_t>(b);
  switch (kind) {
    case kBinaryAdd:
      return static_cast<int64_t>(left + right);
    case kBinarySub:
      return static_cast<int64_t>(left - right);
    case kBinaryMul:
      return static_cast<int64_t>(left * right);
    default:
      if (b == 0) return 0;
      return b == -1 ? static_cast<int64_t>(0 - left) : a / b;
  }
}

float activate(const BinaryParams& params, float value) {
  return unary_value_ref(params.activation, params.activation_alpha, params.activation_beta, value);
}
// The compiler fuses activations into float operators only.
int64_t activate(const BinaryParams&, int64_t value) { return value; }

int64_t broadcast_offset_of(const TensorView& operand, const OperandShape& y,
                            const int32_t* index) {
  int32_t own[kMaxRank] = {};
  const int32_t first = y.rank - operand.shape.rank;
  for (int32_t i = 0; i < operand.shape.rank; ++i)
    own[i] = operand.shape.dims[i] == 1 ? 0 : index[first + i];
  return offset_of(operand, own);
}

template <typename T>
void run(const KernelArgs& args) {
  const auto& params = args.params_as<BinaryParams>();
  const TensorView& a = args.operands[0];
  const TensorView& b = args.operands[1];
  const TensorView& y = args.output();
  for_each_output(args, [&](const int32_t* index) {
    const T value = combine(params.kind, a.as<const T>()[broadcast_offset_of(a, y.shape, index)],
                            b.as<const T>()[broadcast_offset_of(b, y.shape, index)]);
    y.as<T>()[offset_of(y, index)] = activate(params, value);
  });
  zero_pad_lanes(args);
}

}  // namespace

void binary_ref(const KernelArgs& args) {
  if (args.output().shape.dtype == DType::I64)
    run<int64_t>(args);
  else
    run<float>(args);
}

CODL_CPU_KERNEL_PLAIN(binary_any_cpu, binary_ref);

}  // namespace codl::kernels
