#include "compiler/ops/interval.h"

#include <algorithm>
#include <cmath>

#include "kernels/unary/unary.h"

namespace codl::compiler {
namespace {

// Quotients by less than the smallest normal half have more than a half holds for a dividend of 4.
constexpr double kMinDivisor = 0x1p-14;

// Elements are finite, so that zero times any of them is zero.
double product(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

// An end of an interval may be infinite, and a formula of it not a number, as in x * sigmoid(x).
double value_at(int32_t kind, float alpha, float beta, double x) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  const double end = std::clamp(x, -kLargest, kLargest);
  const auto y = double{kernels::unary_value_ref(kind, alpha, beta, static_cast<float>(end))};
  return std::fabs(y) >= kLargest ? std::copysign(std::numeric_limits<double>::infinity(), y) : y;
}

// Returns the least value of a function that falls, then rises, as x * sigmoid(x) does; 0 for all
// others, whose ends say all.
double dip_of(int32_t kind, float alpha) {
  switch (kind) {
    case kUnaryHardSwish:
      return -0.375;
    case kUnarySwish:  // at alpha * x = -1.2785
      return alpha > 0 ? -0.27847 / double{alpha} : 0;
    case kUnaryGelu:
    case kUnaryGeluTanh:
      return -0.1701;
    case kUnaryMish:
      return -0.30885;
    default:
      return 0;
  }
}

}  // namespace

double Interval::magnitude() const { return std::max(std::fabs(low), std::fabs(high)); }

Interval Interval::with(Interval other) const {
  return {std::min(low, other.low), std::max(high, other.high)};
}

Interval operator+(Interval a, Interval b) { return {a.low + b.low, a.high + b.high}; }
Interval operator-(Interval a, Interval b) { return {a.low - b.high, a.high - b.low}; }

Interval operator*(Interval a, Interval b) {
  const double ends[] = {product(a.low, b.low), product(a.low, b.high), product(a.high, b.low),
                         product(a.high, b.high)};
  return {*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4)};
}

Interval operator/(Interval a, Interval b) {
  if (b.holds(0)) return {};
  return a * Interval{1 / b.high, 1 / b.low};
}

Growth growth_of_product(Interval a, Interval b) {
  return a.is_bounded() || b.is_bounded() ? Growth::Linear : Growth::Product;
}

Growth growth_of_quotient(Interval divisor) {
  const bool is_small = divisor.low < kMinDivisor && divisor.high > -kMinDivisor;
  return is_small ? Growth::Steep : Growth::Linear;
}

Interval same_bounds(const ir::NodeView&, llvm::ArrayRef<Interval> operands) { return operands[0]; }

Interval bounds_with_zero(const ir::NodeView&, llvm::ArrayRef<Interval> operands) {
  return operands[0].with(Interval::of(0));
}

Interval activated(Interval x, int32_t kind, float alpha, float beta) {
  const auto at = [&](double element) { return value_at(kind, alpha, beta, element); };
  const Interval ends = Interval::of(at(x.low)).with(Interval::of(at(x.high)));
  switch (kind) {
    case kUnaryHardSwish:
    case kUnarySwish:
    case kUnaryGelu:
    case kUnaryGeluTanh:
    case kUnaryMish:
      if (kind == kUnarySwish && alpha <= 0) return {};
      // Below zero it is between the dip and zero.
      return x.low < 0 ? ends.with({dip_of(kind, alpha), std::max(ends.high, 0.0)}) : ends;
    case kUnaryAffineHardSwish:
      return Interval::of(double{alpha}) * activated(x, kUnaryHardSwish, 0, 0) +
             Interval::of(double{beta});
    case kUnaryAbs:
    case kUnaryCosh:  // even functions, least at zero
      return x.holds(0) ? ends.with(Interval::of(at(0))) : ends;
    case kUnarySin:
    case kUnaryCos:
      return {-1, 1};
    case kUnaryAsin:
    case kUnaryAcos:
    case kUnaryAtan:
      return Interval::within(M_PI);
    case kUnaryReciprocal:
      return Interval::of(1) / x;
    case kUnaryIdentity:
      return x;
    case kUnaryShrink:  // may fall where it leaves zero
      return Interval::within(x.magnitude() + std::fabs(double{alpha}));
    case kUnaryThresholdedRelu:  // jumps from zero to alpha
      return ends.with({std::min(double{alpha}, 0.0), 0});
    case kUnaryElu:
    case kUnarySelu:
    case kUnaryCelu:
    case kUnaryLeakyRelu:
      // The part below zero falls where alpha is negative.
      return ends.with(Interval::of(x.holds(0) ? 0 : ends.low));
    case kUnaryTan:
    case kUnaryAcosh:
    case kUnaryAtanh:
      return {};
    case kUnaryLog:
    case kUnarySqrt:
      return x.low < 0 ? Interval{} : ends;
    default:  // the others never fall, or never rise
      return ends;
  }
}

std::vector<Interval> weighted_sums(Interval x, const ir::Value& weights, size_t count,
                                    llvm::function_ref<size_t(size_t)> sum_of) {
  std::vector<double> positive(count), negative(count);
  const llvm::ArrayRef<float> all = weights.as<float>();
  for (size_t i = 0; i < all.size(); ++i)
    (all[i] > 0 ? positive : negative)[sum_of(i)] += double{all[i]};
  std::vector<Interval> sums;
  for (size_t s = 0; s < count; ++s)
    sums.push_back(Interval::of(positive[s]) * x + Interval::of(negative[s]) * x);
  return sums;
}

void add_bias(std::vector<Interval>& sums, const ir::Value& bias, Interval any) {
  for (size_t s = 0; s < sums.size(); ++s)
    sums[s] = sums[s] + (bias.is_constant ? Interval::of(double{bias.as<float>()[s]}) : any);
}

Interval hull_of(llvm::ArrayRef<Interval> intervals) {
  Interval hull = intervals[0];
  for (const Interval& interval : intervals) hull = hull.with(interval);
  return hull;
}

}  // namespace codl::compiler
