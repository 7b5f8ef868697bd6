// Broadcasting is a step of zero: everything becomes runs of neighbouring output elements, along
// which each input steps by one, by zero or (Plain under Nhwc) by a stride.
#include "kernels/binary/binary.h"
#include "kernels/common/contract/loop_axes.h"
#include "kernels/common/cpu/cpu_dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/binary/binary_f32_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/activation/activation-inl.h"
#include "kernels/common/cpu/bytes-inl.h"
#include "kernels/common/cpu/half-inl.h"
#include "kernels/common/cpu/lanes-inl.h"
#include "kernels/common/cpu/stored_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;

// Describes an input along a run.
struct RunInput {
  StoredNumbers numbers;
  int64_t step;
};

// Loads elements i, i + 1 ... of the run, which are floats, at most `count`.
HWY_INLINE Vector load_run(RunInput input, int64_t i, int64_t count) {
  const Floats d;
  const float* const first = input.numbers.floats();
  if (input.step == 1) return load_lanes(d, first + i, count);
  if (input.step == 0) return hn::Set(d, *first);
  constexpr int64_t kLanes = hn::MaxLanes(Floats());
  HWY_ALIGN float gathered[kLanes] = {};
  for (int64_t k = 0; k < kLanes && k < count; ++k) gathered[k] = first[(i + k) * input.step];
  return hn::Load(d, gathered);
}

// Computes Pow, Mod and Fmod lane by lane: exp and log would lose digits of a power, a division
// those of a remainder.
HWY_NOINLINE Vector by_lane(int32_t kind, hn::VecArg<Vector> a, hn::VecArg<Vector> b) {
  const Floats d;
  HWY_ALIGN float left[hn::MaxLanes(Floats())];
  HWY_ALIGN float right[hn::MaxLanes(Floats())];
  hn::Store(a, d, left);
  hn::Store(b, d, right);
  for (size_t i = 0; i < hn::Lanes(d); ++i) left[i] = binary_value_ref(kind, left[i], right[i]);
  return hn::Load(d, left);
}

// Squares and cubes are the powers that networks have: a variance, a gelu.
HWY_INLINE Vector power(Vector a, Vector b) {
  const Floats d;
  if (hn::AllTrue(d, hn::Eq(b, hn::Set(d, 2.0f)))) return hn::Mul(a, a);
  if (hn::AllTrue(d, hn::Eq(b, hn::Set(d, 3.0f)))) return hn::Mul(a, hn::Mul(a, a));
  return by_lane(kBinaryPow, a, b);
}

// a where it is chosen or a NaN; a comparison with a NaN in b is false and takes b.
template <class M>
HWY_INLINE Vector choose(M takes_a, Vector a, Vector b) {
  return hn::IfThenElse(hn::Or(takes_a, hn::IsNaN(a)), a, b);
}

HWY_INLINE Vector combine(int32_t kind, Vector a, Vector b) {
  switch (kind) {
    case kBinaryAdd:
      return hn::Add(a, b);
    case kBinarySub:
      return hn::Sub(a, b);
    case kBinaryMul:
      return hn::Mul(a, b);
    case kBinaryDiv:
      return hn::Div(a, b);
    case kBinaryPow:
      return power(a, b);
    case kBinaryMin:
      return choose(hn::Lt(a, b), a, b);
    case kBinaryMax:
      return choose(hn::Gt(a, b), a, b);
    case kBinaryPRelu:
      return hn::IfThenElse(hn::Lt(a, hn::Zero(Floats())), hn::Mul(a, b), a);
    default:  // Mod, Fmod
      return by_lane(kind, a, b);
  }
}

// Says how a run treats its elements.
struct RunOp {
  int32_t kind;
  Activation activation;
  bool in_halves;  // combine_halves() may run
};

// Calls visit.operator()<kind>() if is_arithmetic(kind).
template <typename Visit>
HWY_INLINE void visit_arithmetic(int32_t kind, Visit visit) {
  if (kind == kBinaryAdd) visit.template operator()<kBinaryAdd>();
  if (kind == kBinarySub) visit.template operator()<kBinarySub>();
  if (kind == kBinaryMul) visit.template operator()<kBinaryMul>();
  if (kind == kBinaryDiv) visit.template operator()<kBinaryDiv>();
}

// Combines whole vectors of inputs that step by one or zero. Returns the number of elements done.
template <int32_t kKind>
HWY_INLINE int64_t combine_vectors(const Activation& activation, RunInput a, RunInput b, float* y,
                                   int64_t count) {
  const Floats d;
  constexpr int64_t kLanes = hn::MaxLanes(Floats());
  const Vector low = hn::Set(d, activation.low);
  const Vector high = hn::Set(d, activation.high);
  const float* const all_a = a.numbers.floats();
  const float* const all_b = b.numbers.floats();
  const Vector first_a = hn::Set(d, *all_a);
  const Vector first_b = hn::Set(d, *all_b);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Vector left = a.step == 0 ? first_a : hn::LoadU(d, all_a + i);
    const Vector right = b.step == 0 ? first_b : hn::LoadU(d, all_b + i);
    hn::StoreU(limit(combine(kKind, left, right), low, high), d, y + i);
  }
  return i;
}

bool has_unit_steps(RunInput a, RunInput b) {
  return (a.step == 0 || a.step == 1) && (b.step == 0 || b.step == 1);
}

// Combines a run of floats, without the curve of the activation. `count` is at least one.
HWY_NOINLINE void combine_run(const RunOp& op, RunInput a, RunInput b, float* y, int64_t count) {
  const Floats d;
  constexpr int64_t kLanes = hn::MaxLanes(Floats());
  int64_t i = 0;
  if (has_unit_steps(a, b))
    visit_arithmetic(op.kind, [&]<int32_t kKind>() {
      i = combine_vectors<kKind>(op.activation, a, b, y, count);
    });
  const Vector low = hn::Set(d, op.activation.low);
  const Vector high = hn::Set(d, op.activation.high);
  for (; i < count; i += kLanes) {
    const Vector value = combine(op.kind, load_run(a, i, count - i), load_run(b, i, count - i));
    store_lanes(d, limit(value, low, high), y + i, count - i);
  }
}

// Returns elements [i, i + count) of a run as floats: themselves, or copies in `block`.
RunInput floats_of(const RunInput& input, int64_t i, int64_t count, float* block) {
  const StoredNumbers from = input.numbers.at(i * input.step);
  if (from.is_float()) return {from, input.step};
  if (input.step == 1)
    load_rows(from, count, 1, count, block, count);
  else
    load_rows(from, input.step, input.step == 0 ? 1 : count, 1, block, 1);
  return {{block}, input.step == 0 ? 0 : 1};
}

// Combines bytes, or bytes and one float for all, into bytes. Steps of the grids are scaled to
// those of the result before they are combined.
template <int32_t kKind>
HWY_NOINLINE void combine_bytes(const Activation& activation, const RunInput& a, const RunInput& b,
                                const StoredNumbers& y, int64_t count) {
  const Floats d;
  constexpr int64_t kLanes = hn::MaxLanes(Floats());
  const auto scale_of = [](const RunInput& input) {
    return input.numbers.is_byte() ? input.numbers.scale : 1.0f;
  };
  const auto first_of = [&](const RunInput& input) HWY_ATTR {
    const StoredNumbers& first = input.numbers;
    return hn::Set(d, first.is_byte() ? static_cast<float>(*first.bytes() - first.zero_point)
                                      : *first.floats());
  };
  const float sign = kKind == kBinarySub ? -1.0f : 1.0f;
  const float factor = kKind == kBinaryMul ? scale_of(a) * scale_of(b) : scale_of(a);
  const Vector scale_a = hn::Set(d, factor / y.scale);
  const Vector scale_b = hn::Set(d, sign * scale_of(b) / y.scale);
  const Vector first_a = first_of(a);
  const Vector first_b = first_of(b);
  const int32_t zero_a = a.numbers.zero_point;
  const int32_t zero_b = b.numbers.zero_point;
  const bool is_run_a = a.step != 0;
  const bool is_run_b = b.step != 0;
  const StepWriter<Floats> writer(d, y.zero_point, activation.low / y.scale,
                                  activation.high / y.scale);
  const auto combine_vector = [&](const int8_t* x_a, const int8_t* x_b, int8_t* to) HWY_ATTR {
    const Vector left = is_run_a ? load_steps(d, x_a, zero_a) : first_a;
    const Vector right = is_run_b ? load_steps(d, x_b, zero_b) : first_b;
    if constexpr (kKind == kBinaryMul)
      writer.store(d, hn::Mul(hn::Mul(left, right), scale_a), to);
    else
      writer.store(d, hn::MulAdd(left, scale_a, hn::Mul(right, scale_b)), to);
  };
  const int8_t* const all_a = a.numbers.bytes();
  const int8_t* const all_b = b.numbers.bytes();
  int8_t* const all_y = y.bytes();
  int64_t i = 0;
#pragma GCC unroll 2
  for (; i + kLanes <= count; i += kLanes) combine_vector(all_a + i, all_b + i, all_y + i);
  if (i == count) return;
  int8_t rest[3][kLanes] = {};
  for (int64_t k = 0; i + k < count; ++k) {
    if (is_run_a) rest[0][k] = all_a[i + k];
    if (is_run_b) rest[1][k] = all_b[i + k];
  }
  combine_vector(rest[0], rest[1], rest[2]);
  for (int64_t k = 0; i + k < count; ++k) all_y[i + k] = rest[2][k];
}

// Returns whether combine_bytes() takes an operand.
bool is_byte_run(const RunInput& input) {
  return input.numbers.is_byte() ? input.step == 0 || input.step == 1 : input.step == 0;
}

// Returns whether combine_bytes() combines such a run.
bool stays_in_bytes(const RunOp& op, const RunInput& a, const RunInput& b) {
  return (op.kind == kBinaryAdd || op.kind == kBinarySub || op.kind == kBinaryMul) &&
         !op.activation.has_curve && is_byte_run(a) && is_byte_run(b);
}

#if HWY_TARGET == HWY_NEON
template <int32_t kKind>
HWY_INLINE HalfVec combine(HalfVec a, HalfVec b) {
  if constexpr (kKind == kBinaryAdd) return add_halves(a, b);
  if constexpr (kKind == kBinarySub) return subtract_halves(a, b);
  if constexpr (kKind == kBinaryMul) return multiply_halves(a, b);
  return divide_halves(a, b);
}

// Does combine_vectors() for halves. The results are those of floats rounded to halves, bit by bit,
// because a float has more than twice the digits of a half (S. A. Figueroa, "When is double
// rounding innocuous?", SIGNUM Newsletter 30(3), 1995).
template <int32_t kKind>
CODL_HALF_ARITHMETIC HWY_NOINLINE int64_t combine_halves(const Activation& activation, RunInput a,
                                                         RunInput b, Half* y, int64_t count) {
  const HalfVec low = spread_half(activation.low);
  const HalfVec high = spread_half(activation.high);
  const Half* const all_a = a.numbers.halves();
  const Half* const all_b = b.numbers.halves();
  const HalfVec first_a = vdupq_n_u16(all_a->bits);
  const HalfVec first_b = vdupq_n_u16(all_b->bits);
  int64_t i = 0;
  for (; i + kHalfLanes <= count; i += kHalfLanes) {
    const HalfVec left = a.step == 0 ? first_a : load_halves(all_a + i);
    const HalfVec right = b.step == 0 ? first_b : load_halves(all_b + i);
    const HalfVec result = combine<kKind>(left, right);
    store_halves(smaller_halves(larger_halves(result, low), high), y + i);
  }
  return i;
}
#endif

// Returns whether the kernel combines such elements without making floats of them.
bool stays_in_halves(const RunOp& op) {
  return op.in_halves && is_arithmetic(op.kind) && !op.activation.has_curve;
}

// Combines a run, and activates it before it is rounded to halves or bytes. The curve of the
// activation is left to do where the result is floats.
void combine_run(const RunOp& op, const RunInput& a, const RunInput& b, const StoredNumbers& y,
                 int64_t count) {
  if (y.is_float()) return combine_run(op, a, b, y.floats(), count);
  int64_t i = 0;
#if HWY_TARGET == HWY_NEON
  if (stays_in_halves(op) && a.numbers.is_half() && b.numbers.is_half() && has_unit_steps(a, b))
    visit_arithmetic(op.kind, [&]<int32_t kKind>() {
      i = combine_halves<kKind>(op.activation, a, b, y.halves(), count);
    });
#endif
  if (y.is_byte() && stays_in_bytes(op, a, b)) {
    if (op.kind == kBinaryAdd) combine_bytes<kBinaryAdd>(op.activation, a, b, y, count);
    if (op.kind == kBinarySub) combine_bytes<kBinarySub>(op.activation, a, b, y, count);
    if (op.kind == kBinaryMul) combine_bytes<kBinaryMul>(op.activation, a, b, y, count);
    return;
  }
  HWY_ALIGN float of_a[kStoredBlock];
  HWY_ALIGN float of_b[kStoredBlock];
  HWY_ALIGN float block[kStoredBlock];
  for (; i < count; i += kStoredBlock) {
    const int64_t some = count - i < kStoredBlock ? count - i : kStoredBlock;
    combine_run(op, floats_of(a, i, some, of_a), floats_of(b, i, some, of_b), block, some);
    if (op.activation.has_curve) activate_rows(op.activation, block, some, block, some, 1, some);
    store_rows(block, some, 1, some, y.at(i), some);
  }
}

// Describes an input below an output of rank 4: elements per step of the output's n, c, h, w; 0 if
// the input has one for all.
struct PixelInput {
  StoredNumbers first;
  int32_t first_row;
  int64_t steps[4];
};

PixelInput pixel_input(const TensorView& view, const OperandShape& y) {
  PixelInput input = {stored_in(view), view.shape.row_begin, {}};
  const int32_t missing = y.rank - view.shape.rank;
  for (int32_t i = missing; i < 4; ++i)
    input.steps[i] = view.shape.dims[i - missing] == 1 ? 0 : view.strides[i - missing];
  return input;
}

void combine_plain(const KernelArgs& args, const RunOp& op, Units units) {
  const TensorView& a = args.operands[0];
  const TensorView& b = args.operands[1];
  const TensorView& y = args.output();
  LoopAxes axes;
  for (int32_t i = 0; i < y.shape.rank; ++i)
    axes.append(y.shape.dims[i], broadcast_stride(a.shape, y.shape, i),
                broadcast_stride(b.shape, y.shape, i));
  const int64_t elements = element_count(y.shape);
  int64_t begin = units.begin * kElementwiseBlock;
  const int64_t end =
      units.end * kElementwiseBlock < elements ? units.end * kElementwiseBlock : elements;
  while (begin < end) {
    const LoopAxes::Run run = axes.run_at(begin, end);
    const StoredNumbers to = stored_in(y).at(begin);
    combine_run(op, {stored_in(a).at(run.offsets[0]), axes.last_step(0)},
                {stored_in(b).at(run.offsets[1]), axes.last_step(1)}, to, run.count);
    if (to.is_float() && op.activation.has_curve)
      activate_rows(op.activation, to.floats(), run.count, to.floats(), run.count, 1, run.count);
    begin += run.count;
  }
}

// Combines `pixels` pixels, `pixel` elements apart in x and y, with one vector of channels that
// serves them all.
template <int32_t kKind, int kVectors>
HWY_INLINE void combine_channels(const Activation& activation, const float* x,
                                 const float* channels, float* y, int64_t pixel, int64_t pixels,
                                 int64_t count) {
  const Floats d;
  constexpr int64_t kLanes = hn::MaxLanes(Floats());
  const Vector low = hn::Set(d, activation.low);
  const Vector high = hn::Set(d, activation.high);
  Vector right[kVectors];
  for (int v = 0; v < kVectors; ++v)
    right[v] = load_lanes(d, channels + v * kLanes, count - v * kLanes);
  for (int64_t i = 0; i < pixels; ++i, x += pixel, y += pixel)
    for (int v = 0; v < kVectors; ++v) {
      const Vector left = load_lanes(d, x + v * kLanes, count - v * kLanes);
      store_lanes(d, limit(combine(kKind, left, right[v]), low, high), y + v * kLanes,
                  count - v * kLanes);
    }
}

template <int32_t kKind>
void combine_with_channels(const Activation& activation, const float* x, const float* channels,
                           float* y, int64_t pixel, int64_t pixels, int64_t count) {
  constexpr int64_t kLanes = hn::MaxLanes(Floats());
  // Pixels of a piece are in the first-level cache until their last channels are done.
  constexpr int64_t kPieceElements = 2048;
  const int64_t piece = pixel < kPieceElements ? kPieceElements / pixel : 1;
  for (int64_t i = 0; i < pixels; i += piece, x += piece * pixel, y += piece * pixel) {
    const int64_t some = pixels - i < piece ? pixels - i : piece;
    int64_t c = 0;
    constexpr int kVectors = HWY_TARGET == HWY_AVX2 ? 8 : 4;  // 64 channels with either
    for (; c + kVectors * kLanes <= count; c += kVectors * kLanes)
      combine_channels<kKind, kVectors>(activation, x + c, channels + c, y + c, pixel, some,
                                        kVectors * kLanes);
    for (; c < count; c += kLanes)
      combine_channels<kKind, 1>(activation, x + c, channels + c, y + c, pixel, some, count - c);
  }
}

// Combines pixels that lie one after the other. Those whose inputs are pixels of the same size, or
// one element, are one run, pad lanes included.
void combine_pixels(const RunOp& op, RunInput a, RunInput b, const int64_t* column_steps,
                    Range channels, int64_t pixels, StoredNumbers y, int64_t pixel,
                    int64_t pad_end) {
  const auto runs_on = [pixel](RunInput input, int64_t column_step) {
    return input.step == 0 ? column_step == 0 : input.step == 1 && column_step == pixel;
  };
  const auto is_repeated = [](RunInput input, int64_t column_step) {
    return input.step == 1 && column_step == 0;
  };
  const bool a_runs_on = runs_on(a, column_steps[0]);
  const bool b_runs_on = runs_on(b, column_steps[1]);
  const bool b_repeats = a_runs_on && a.step == 1 && is_repeated(b, column_steps[1]);
  const bool a_repeats = b_runs_on && b.step == 1 && is_repeated(a, column_steps[0]);
  const bool commutes = op.kind == kBinaryAdd || op.kind == kBinaryMul;
  if (channels.begin == 0 && pad_end == pixel && a_runs_on && b_runs_on) {
    combine_run(op, a, b, y, pixels * pixel);
  } else if (y.is_float() && is_arithmetic(op.kind) && (b_repeats || (a_repeats && commutes))) {
    const float* x = (b_repeats ? a : b).numbers.floats();
    const float* of_channels = (b_repeats ? b : a).numbers.floats();
    visit_arithmetic(op.kind, [&]<int32_t kKind>() {
      combine_with_channels<kKind>(op.activation, x, of_channels, y.floats() + channels.begin,
                                   pixel, pixels, channels.count());
    });
  } else {
    // An input that all pixels share is made floats once.
    HWY_ALIGN float of_a[kStoredBlock];
    HWY_ALIGN float of_b[kStoredBlock];
    const bool stays = y.is_byte() ? stays_in_bytes(op, a, b) : stays_in_halves(op);
    if (channels.count() <= kStoredBlock && !stays) {
      if (column_steps[0] == 0) a = floats_of(a, 0, channels.count(), of_a);
      if (column_steps[1] == 0) b = floats_of(b, 0, channels.count(), of_b);
    }
    for (int64_t i = 0; i < pixels; ++i) {
      combine_run(op, a, b, y.at(i * pixel + channels.begin), channels.count());
      a.numbers = a.numbers.at(column_steps[0]);
      b.numbers = b.numbers.at(column_steps[1]);
    }
  }
  if (y.is_float() && op.activation.has_curve) {
    float* const first = y.floats() + channels.begin;
    activate_rows(op.activation, first, pixel, first, pixel, pixels, channels.count());
  }
  if (channels.end == pad_end) return;
  for (int64_t i = 0; i < pixels; ++i)
    store_zeros(y.at(i * pixel + channels.end), pad_end - channels.end);
}

void binary(const KernelArgs& args, bool in_halves) {
  const auto& params = args.params_as<BinaryParams>();
  const TensorView& y = args.output();
  const Activation activation =
      make_activation(params.activation, params.activation_alpha, params.activation_beta);
  const RunOp op = {params.kind, without_rounding(activation, stored_in(y)),
                    in_halves && y.shape.dtype == DType::F16};
  const ElementwiseWork work = elementwise_work(args.part_dim, args.part, y.shape);
  const Units units = units_of_tasks(work.units, work.task_count, args.task_begin, args.task_end);
  if (y.shape.layout == Layout::Plain) {
    combine_plain(args, op, units);
    return;
  }
  const PixelInput a = pixel_input(args.operands[0], y.shape);
  const PixelInput b = pixel_input(args.operands[1], y.shape);
  const int64_t column_steps[2] = {a.steps[3], b.steps[3]};
  const int64_t pixel = y.strides[3];
  const int64_t pad_end = work.channels.end == y.shape.dims[1] ? pixel : work.channels.end;
  // Rows follow each other in y, and in most inputs.
  const auto has_rows_of = [&](const PixelInput& input) {
    return input.steps[2] == y.shape.dims[3] * input.steps[3];
  };
  const bool has_runs_of_rows = has_rows_of(a) && has_rows_of(b);
  int64_t rows = 1;
  for (int64_t unit = units.begin; unit < units.end; unit += rows) {
    const int64_t n = unit / work.rows.count();
    const int64_t row = unit % work.rows.count();
    const int64_t h = work.rows.begin + row;
    if (has_runs_of_rows)
      rows =
          work.rows.count() - row < units.end - unit ? work.rows.count() - row : units.end - unit;
    const auto at_row = [&](const PixelInput& input) {
      return RunInput{input.first.at(n * input.steps[0] + (h - input.first_row) * input.steps[2] +
                                     work.channels.begin * input.steps[1]),
                      input.steps[1]};
    };
    combine_pixels(op, at_row(a), at_row(b), column_steps, work.channels, rows * y.shape.dims[3],
                   stored_in(y).at(n * y.strides[0] + (h - y.shape.row_begin) * y.strides[2]),
                   pixel, pad_end);
  }
}

void binary_f32(const KernelArgs& args) { binary(args, false); }

#if HWY_TARGET == HWY_NEON
void binary_in_halves(const KernelArgs& args) { binary(args, true); }
#endif

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL_HALVES(binary_f32_cpu, binary_f32, binary_in_halves);
}
#endif
