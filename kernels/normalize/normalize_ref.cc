#include <cmath>

#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/common/reference/ref_index.h"
#include "kernels/normalize/normalize.h"
#include "kernels/unary/unary.h"

namespace codl::kernels {
namespace {

// Names the indices of the part: all of x except along axis 1.
struct Indices {
  const OperandShape& x;
  Range channels;

  Range of(int32_t axis) const { return axis == 1 ? channels : Range{0, x.dims[axis]}; }
  // Goes to the next index over the axes whose bit in `mask` is set; returns false after the last,
  // which leaves the first.
  bool next(int32_t mask, int32_t* index) const {
    for (int32_t i = x.rank - 1; i >= 0; --i) {
      if ((mask >> i & 1) == 0) continue;
      if (++index[i] < of(i).end) return true;
      index[i] = of(i).begin;
    }
    return false;
  }
};

double broadcast_element(const TensorView& view, const OperandShape& x, const int32_t* index) {
  int64_t offset = 0;
  for (int32_t i = 0; i < x.rank; ++i) offset += index[i] * broadcast_stride(view.shape, x, i);
  return view.as<const float>()[offset];
}

}  // namespace

void normalize_ref(const KernelArgs& args) {
  const auto& params = args.params_as<NormalizeParams>();
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const TensorView& bias = args.operands[args.operand_count - 2];
  const int32_t mask = params.axes_mask;
  double count = 1;
  for (int32_t i = 0; i < x.shape.rank; ++i)
    if ((mask >> i & 1) != 0) count *= x.shape.dims[i];
  const Indices indices = {x.shape, channels_of_part(args.part_dim, args.part, x.shape)};
  int32_t index[kMaxRank] = {};
  for (int32_t i = 0; i < x.shape.rank; ++i) index[i] = indices.of(i).begin;
  const auto element = [&] { return double{x.as<const float>()[offset_of(x, index)]}; };
  do {
    double mean = 0;
    if (params.is_rms == 0) {
      do mean += element();
      while (indices.next(mask, index));
      mean /= count;
    }
    double squares = 0;
    do squares += (element() - mean) * (element() - mean);
    while (indices.next(mask, index));
    const double factor = 1.0 / std::sqrt(squares / count + double{params.epsilon});
    do {
      double result = (element() - mean) * factor;
      if (params.has_scale != 0) result *= broadcast_element(args.operands[1], x.shape, index);
      if (params.has_bias != 0) result += broadcast_element(bias, x.shape, index);
      y.as<float>()[offset_of(y, index)] =
          unary_value_ref(params.activation, params.activation_alpha, params.activation_beta,
                          static_cast<float>(result));
    } while (indices.next(mask, index));
  } while (indices.next(~mask, index));
  zero_pad_lanes(args);
}

CODL_CPU_KERNEL_PLAIN(normalize_any_cpu, normalize_ref);

}  // namespace codl::kernels
