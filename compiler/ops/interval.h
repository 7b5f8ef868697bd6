// Declares intervals: what the elements of a value may be.
#pragma once

#include <limits>
#include <vector>

#include "compiler/ir/graph.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

namespace codl::compiler {

// Holds every element of a value, for all finite inputs of the network. An end is infinite where
// the inputs decide. Ends are computed in double; what kernels round is not counted.
struct Interval {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  static Interval of(double element) { return {element, element}; }
  // Returns [-magnitude, magnitude].
  static Interval within(double magnitude) { return {-magnitude, magnitude}; }

  double magnitude() const;  // the largest absolute value
  bool is_bounded() const { return magnitude() < std::numeric_limits<double>::infinity(); }
  bool holds(double element) const { return low <= element && element <= high; }
  Interval with(Interval other) const;  // the smallest interval that holds both
  friend bool operator==(const Interval&, const Interval&) = default;
};

Interval operator+(Interval a, Interval b);
Interval operator-(Interval a, Interval b);
Interval operator*(Interval a, Interval b);
// Returns any number if the divisor may be zero.
Interval operator/(Interval a, Interval b);

// Says how a result grows with those operands that are not bounded: at most in proportion to them,
// as the product of two of them, or faster. What divides by numbers that may be next to zero is
// steep, too.
enum class Growth : uint8_t { Linear, Product, Steep };
Growth growth_of_product(Interval a, Interval b);
Growth growth_of_quotient(Interval divisor);

// Serves operators that move the elements of their first operand, or take means of them.
Interval same_bounds(const ir::NodeView& node, llvm::ArrayRef<Interval> operands);
// Does the same for those that put zeros among them.
Interval bounds_with_zero(const ir::NodeView& node, llvm::ArrayRef<Interval> operands);

// Returns what a member of Unary makes of x.
Interval activated(Interval x, int32_t kind, float alpha, float beta);
template <typename Params>
Interval activated(Interval x, const Params& params) {
  return activated(x, params.activation, params.activation_alpha, params.activation_beta);
}

// Returns `count` sums of products of elements of x with weights, of which sum_of(i) says the sum
// that weight i is in. x must hold zero if a sum may lack terms, as in the padding.
std::vector<Interval> weighted_sums(Interval x, const ir::Value& weights, size_t count,
                                    llvm::function_ref<size_t(size_t)> sum_of);

// Adds the bias of each sum: an element of the constant or, where it is computed, any of `any`.
void add_bias(std::vector<Interval>& sums, const ir::Value& bias, Interval any);
Interval hull_of(llvm::ArrayRef<Interval> intervals);

}  // namespace codl::compiler
