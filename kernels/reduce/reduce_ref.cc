// Elements are widened to double or int64 a block at a time, so that there is one loop per kind and
// not one per kind and dtype. The lanes of a block are neighbouring outputs where the innermost
// axis is kept; else they are elements of one output, and become one number at the end.
#include <cmath>
#include <cstring>

#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/common/reference/elements.h"
#include "kernels/reduce/reduce.h"

namespace codl::kernels {
namespace {

constexpr int64_t kLanes = 128;  // four arrays of them are on the stack: 4 KiB

int64_t offset_of(const LoopAxes& axes, int64_t at) {
  return reduce_run_at(axes, at, at + 1).offsets[0];
}

// ---- elements ----

const char* element_at(const TensorView& view, int64_t offset) {
  return view.as<const char>() + offset * static_cast<int64_t>(dtype_bytes(view.shape.dtype));
}

void widen_elements(const TensorView& x, int64_t offset, int64_t count, int64_t* out) {
  load_integers(x.shape.dtype, element_at(x, offset), 1, count, out);
}

void widen_elements(const TensorView& x, int64_t offset, int64_t count, double* out) {
  if (x.shape.dtype == DType::F32) {
    const float* from = x.as<const float>() + offset;
    for (int64_t i = 0; i < count; ++i) out[i] = double{from[i]};
    return;
  }
  if (x.shape.dtype == DType::F64) {
    std::memcpy(out, x.as<const double>() + offset, static_cast<size_t>(count) * sizeof(double));
    return;
  }
  int64_t integers[kLanes];
  widen_elements(x, offset, count, integers);
  const bool is_unsigned = x.shape.dtype == DType::U64;
  for (int64_t i = 0; i < count; ++i)
    out[i] = is_unsigned ? static_cast<double>(static_cast<uint64_t>(integers[i]))
                         : static_cast<double>(integers[i]);
}

void store(const TensorView& y, int64_t offset, int64_t value) {
  store_integers(y.shape.dtype, &value, 1, const_cast<char*>(element_at(y, offset)));
}

void store(const TensorView& y, int64_t offset, double value) {
  if (y.shape.dtype == DType::F32)
    y.as<float>()[offset] = static_cast<float>(value);
  else if (y.shape.dtype == DType::F64)
    y.as<double>()[offset] = value;
  else
    store(y, offset, integer_of(y.shape.dtype, value));
}

// ---- arithmetic ----

// Signed integers wrap by way of unsigned ones.
constexpr double sum_of(double a, double b) { return a + b; }
constexpr int64_t sum_of(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
constexpr double product_of(double a, double b) { return a * b; }
constexpr int64_t product_of(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
// The wide number stands for a u64, which has no sign; it is negative from 2^63 on.
constexpr double magnitude(double a, bool) { return a < 0 ? -a : a; }
constexpr int64_t magnitude(int64_t a, bool is_unsigned) {
  return a < 0 && !is_unsigned ? sum_of(~a, int64_t{1}) : a;
}
constexpr double quotient(double a, int64_t count, bool) { return a / static_cast<double>(count); }
constexpr int64_t quotient(int64_t a, int64_t count, bool is_unsigned) {
  if (is_unsigned)
    return static_cast<int64_t>(static_cast<uint64_t>(a) / static_cast<uint64_t>(count));
  return a / count;
}
// Returns whether a comes before b, the largest first; a NaN is before every number.
constexpr bool is_before(double a, double b) { return a > b || (a != a && b == b); }
constexpr bool is_before(int64_t a, int64_t b) { return a > b; }
// Nothing is behind it.
template <typename Wide>
constexpr Wide last_of();
template <>
constexpr double last_of() {
  return -__builtin_inf();
}
template <>
constexpr int64_t last_of() {
  return INT64_MIN;
}
// Turns the smallest into the largest and back, leaves NaN alone, and gives u64 int64's order.
constexpr double order_key(double a, bool is_min, bool) { return is_min ? -a : a; }
constexpr int64_t order_key(int64_t a, bool is_min, bool is_unsigned) {
  if (is_unsigned) a ^= INT64_MIN;
  return is_min ? ~a : a;
}
inline double exp_of(double a, double shift) { return std::exp(a - shift); }
constexpr int64_t exp_of(int64_t, int64_t) { return 0; }  // integers take the logarithm in double

// ---- reduction ----

// Pass 0 of LogSumExp finds the largest, pass 1 adds the powers.
template <typename Wide>
class Reducer {
 public:
  explicit Reducer(const KernelArgs& args)
      : x_(args.operands[0]),
        y_(args.output()),
        kind_(args.params_as<ReduceParams>().kind),
        takes_last_(args.params_as<ReduceParams>().takes_last != 0),
        is_min_(kind_ == kReduceMin || kind_ == kReduceArgMin),
        is_unsigned_(x_.shape.dtype == DType::U64),
        work_(reduce_work(args.params_as<ReduceParams>().axes_mask, x_.shape)) {}

  void run() {
    const int64_t runs = work_.output_count / (work_.has_kept_lanes ? work_.lanes : 1);
    for (int64_t i = 0; i < runs; ++i) {
      const int64_t base = offset_of(work_.kept, i);
      if (!work_.has_kept_lanes) {
        reduce_lanes(base, work_.lanes < kLanes ? work_.lanes : kLanes);
        fold();
        finish(i, 1);
        continue;
      }
      for (int64_t lane = 0; lane < work_.lanes; lane += kLanes) {
        const int64_t rest = work_.lanes - lane;
        const int64_t width = rest < kLanes ? rest : kLanes;
        reduce_lanes(base + lane, width);
        finish(i * work_.lanes + lane, width);
      }
    }
  }

 private:
  void reduce_lanes(int64_t base, int64_t width) {
    width_ = width;
    if (kind_ == kReduceLogSumExp) {
      pass(base, /*is_order=*/true);
      // All lanes of an output have one shift. If it is infinite or NaN, the powers say so without
      // a shift.
      if (!work_.has_kept_lanes)
        for (int64_t i = 1; i < width; ++i)
          if (is_before(lanes_[i], lanes_[0])) lanes_[0] = lanes_[i];
      for (int64_t i = 0; i < width; ++i) {
        const Wide largest = lanes_[work_.has_kept_lanes ? i : 0];
        shifts_[i] = largest - largest == 0 ? largest : 0;
      }
      pass(base, /*is_order=*/false);
      return;
    }
    pass(base, kind_ == kReduceMax || kind_ == kReduceMin || is_arg_reduce(kind_));
  }

  // Passes over all elements of the lanes, which begin at `base`.
  void pass(int64_t base, bool is_order) {
    for (int64_t i = 0; i < width_; ++i) {
      lanes_[i] = is_order ? last_of<Wide>() : kind_ == kReduceProd ? 1 : 0;
      places_[i] = -1;
    }
    for (int64_t r = 0; r < work_.line_count; ++r) {
      const int64_t from = base + offset_of(work_.reduced, r);
      if (work_.has_kept_lanes) {
        add(from, width_, r, 0, is_order);
        continue;
      }
      for (int64_t i = 0; i < work_.lanes; i += kLanes) {
        const int64_t rest = work_.lanes - i;
        add(from + i, rest < kLanes ? rest : kLanes, i, 1, is_order);
      }
    }
  }

  // `count` elements from `offset` on to the first lanes; lane i is element place + i * place_step
  // of the axis (ArgMax and ArgMin).
  void add(int64_t offset, int64_t count, int64_t place, int64_t place_step, bool is_order) {
    Wide x[kLanes];
    widen_elements(x_, offset, count, x);
    if (is_order) return add_order(x, count, place, place_step);
    switch (kind_) {
      case kReduceL1:
        for (int64_t i = 0; i < count; ++i)
          lanes_[i] = sum_of(lanes_[i], magnitude(x[i], is_unsigned_));
        return;
      case kReduceL2:
      case kReduceSumSquare:
        for (int64_t i = 0; i < count; ++i) lanes_[i] = sum_of(lanes_[i], product_of(x[i], x[i]));
        return;
      case kReduceProd:
        for (int64_t i = 0; i < count; ++i) lanes_[i] = product_of(lanes_[i], x[i]);
        return;
      case kReduceLogSumExp:
        for (int64_t i = 0; i < count; ++i) lanes_[i] = sum_of(lanes_[i], exp_of(x[i], shifts_[i]));
        return;
      default:  // Sum, Mean, LogSum
        for (int64_t i = 0; i < count; ++i) lanes_[i] = sum_of(lanes_[i], x[i]);
    }
  }

  void add_order(const Wide* x, int64_t count, int64_t place, int64_t place_step) {
    for (int64_t i = 0; i < count; ++i, place += place_step) {
      const Wide key = order_key(x[i], is_min_, is_unsigned_);
      if (is_arg_reduce(kind_))
        offer(i, key, place);
      else
        lanes_[i] = is_before(key, lanes_[i]) ? key : lanes_[i];
    }
  }

  // `places_` of a lane without an element is -1.
  void offer(int64_t lane, Wide key, int64_t place) {
    if (places_[lane] >= 0 && !is_before(key, lanes_[lane])) {
      const bool is_later = place > places_[lane];
      if (is_before(lanes_[lane], key) || takes_last_ != is_later) return;
    }
    lanes_[lane] = key;
    places_[lane] = place;
  }

  // Joins the lanes of one output into lane 0.
  void fold() {
    for (int64_t i = 1; i < width_; ++i) {
      if (is_arg_reduce(kind_))
        offer(0, lanes_[i], places_[i]);
      else if (kind_ == kReduceMax || kind_ == kReduceMin)
        lanes_[0] = is_before(lanes_[i], lanes_[0]) ? lanes_[i] : lanes_[0];
      else if (kind_ == kReduceProd)
        lanes_[0] = product_of(lanes_[0], lanes_[i]);
      else
        lanes_[0] = sum_of(lanes_[0], lanes_[i]);
    }
  }

  void finish(int64_t offset, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      if (is_arg_reduce(kind_))
        store(y_, offset + i, places_[i]);
      else
        store(y_, offset + i, result(lanes_[i], shifts_[i]));
    }
  }

  Wide result(Wide sum, Wide shift) const {
    switch (kind_) {
      case kReduceMean:
        return quotient(sum, work_.element_count, is_unsigned_);
      case kReduceMax:
      case kReduceMin:
        return order_key(sum, is_min_, is_unsigned_);
      case kReduceL2:
        return static_cast<Wide>(std::sqrt(static_cast<double>(sum)));
      case kReduceLogSum:
      case kReduceLogSumExp:
        return static_cast<Wide>(std::log(static_cast<double>(sum))) + shift;
      default:
        return sum;
    }
  }

  const TensorView& x_;
  const TensorView& y_;
  int32_t kind_;
  bool takes_last_;
  bool is_min_;
  bool is_unsigned_;
  ReduceWork work_;    // its axes lack the lanes
  int64_t width_ = 0;  // lanes in use
  Wide lanes_[kLanes];
  Wide shifts_[kLanes] = {};
  int64_t places_[kLanes];
};

}  // namespace

void reduce_ref(const KernelArgs& args) {
  const int32_t kind = args.params_as<ReduceParams>().kind;
  // Roots and logarithms of integers are taken in double.
  const bool is_real = kind == kReduceL2 || kind == kReduceLogSum || kind == kReduceLogSumExp;
  const DType dtype = args.operands[0].shape.dtype;
  if (dtype == DType::F32 || dtype == DType::F64 || is_real)
    Reducer<double>(args).run();
  else
    Reducer<int64_t>(args).run();
}

CODL_CPU_KERNEL_PLAIN(reduce_any_cpu, reduce_ref);

}  // namespace codl::kernels
