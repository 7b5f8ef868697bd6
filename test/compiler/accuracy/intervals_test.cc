#include "compiler/accuracy/intervals.h"

#include <cmath>

#include "compiler/interp/interpreter.h"
#include "compiler/ops/op_spec.h"
#include "kernels/unary/unary.h"
#include "test/compiler/ops/op_cases.h"
#include "test/support/catch.h"

namespace codl::test {
namespace {

using compiler::activated;
using compiler::Bytes;
using compiler::Interval;

constexpr double kAny = std::numeric_limits<double>::infinity();

// Sums in another order than that of the interval's ends.
bool holds(Interval interval, double element) {
  const double rounding = 1e-5 * (1 + std::fabs(element));
  return interval.low - rounding <= element && element <= interval.high + rounding;
}

// Returns the interval of a case's result, whose operands of F32 are in `x` unless they are
// constants.
Interval interval_of_case(const ir::Graph& graph, Interval x) {
  const std::vector<Interval> intervals = compiler::intervals_of(graph);
  const ir::Node& node = graph.node(0);
  std::vector<Interval> operands;
  for (ir::ValueId input : node.inputs) {
    const ir::Value& value = graph.value(input);
    const bool is_open = !value.is_constant && value.type.dtype == DType::F32;
    operands.push_back(is_open ? x : intervals[input]);
  }
  return compiler::op_spec(node.op).bounds(ir::NodeView{graph, node}, operands);
}

}  // namespace

TEST_CASE("what every operator computes is in its interval") {
  std::set<std::string> unbounded;
  for (const OpCase& op_case : op_cases()) {
    INFO(op_case.name);
    const ir::Graph graph = graph_of(op_case);
    const ir::Value& output = graph.value(graph.outputs()[0]);
    if (output.type.dtype != DType::F32) continue;
    REQUIRE(compiler::op_spec(op_case.op).bounds != nullptr);
    std::vector<Bytes> inputs;
    for (ir::ValueId input : graph.inputs())
      inputs.push_back(random_elements(graph.value(input).type, 100 + input));
    const auto results = value_of(compiler::interpret(graph, inputs));
    const Interval interval = interval_of_case(graph, {-1, 1});
    CAPTURE(interval.low, interval.high);
    const auto* y = reinterpret_cast<const float*>(results[0].data());
    bool is_inside = true;
    for (size_t i = 0; i < results[0].size() / sizeof(float); ++i)
      is_inside = is_inside && (std::isnan(y[i]) || holds(interval, double{y[i]}));
    CHECK(is_inside);
    if (!interval.is_bounded()) unbounded.insert(op_case.name);
  }
  // Nothing of these is bounded by operands in [-1, 1], or nobody needs it.
  CHECK(unbounded == std::set<std::string>{"cast of f16", "log softmax", "pow per pixel",
                                           "quotient", "scatter elements"});
}

TEST_CASE("what every activation gives is in its interval") {
  struct Member {
    const char* name;
    int32_t kind;
  };
  const Member members[] = {
#define CODL_ACTIVATION(Name, number, ...) {#Name, number},
#include "schema/activations.def"
  };
  const Interval intervals[] = {{-3, 2},  {-0.5, 0.25},  {0.5, 4},
                                {-4, -1}, {-kAny, kAny}, {0, kAny}};
  const std::pair<float, float> parameters[] = {{0.5f, 1.5f}, {-0.5f, 2.0f}, {1.0f, 6.0f}};
  for (const Member& member : members)
    for (const Interval& x : intervals)
      for (const auto& [alpha, beta] : parameters) {
        const Interval y = activated(x, member.kind, alpha, beta);
        CAPTURE(member.name, x.low, x.high, alpha, beta, y.low, y.high);
        bool is_inside = true;
        for (double at = std::max(x.low, -20.0); at <= std::min(x.high, 20.0); at += 1.0 / 64) {
          const float found =
              kernels::unary_value_ref(member.kind, alpha, beta, static_cast<float>(at));
          is_inside = is_inside && (std::isnan(found) || holds(y, double{found}));
        }
        CHECK(is_inside);
      }
}

TEST_CASE("activations bound what nothing else does") {
  const auto of_any = [](int32_t kind, float alpha = 0, float beta = 0) {
    return activated({}, kind, alpha, beta);
  };
  CHECK(of_any(kUnaryClip, 0, 6) == Interval{0, 6});
  CHECK(of_any(kUnarySigmoid) == Interval{0, 1});
  CHECK(of_any(kUnaryTanh) == Interval{-1, 1});
  CHECK(of_any(kUnaryHardSigmoid, 0.2f, 0.5f) == Interval{0, 1});
  CHECK(of_any(kUnaryRelu) == Interval{0, kAny});
  CHECK(of_any(kUnarySwish, 1).low > -0.3);
  CHECK(of_any(kUnaryExp) == Interval{0, kAny});
  CHECK_FALSE(of_any(kUnaryReciprocal).is_bounded());
}

TEST_CASE("weights of both signs meet the ends of x that suit them") {
  const float weights[] = {1, -2, 3, 4, 0, -1};
  ir::Value value;
  value.bytes = compiler::bytes_of(llvm::ArrayRef<float>(weights));
  value.is_constant = true;
  std::vector<Interval> sums =
      compiler::weighted_sums({-1, 10}, value, 2, [](size_t i) { return i / 3; });
  CHECK(sums == std::vector<Interval>{{-4 - 20, 40 + 2}, {-4 - 10, 40 + 1}});
  compiler::add_bias(sums, value, {});
  CHECK(compiler::hull_of(sums) == Interval{-23, 43});
}

TEST_CASE("intervals compute like numbers") {
  const Interval a = {-1, 2}, b = {3, 5};
  CHECK(a + b == Interval{2, 7});
  CHECK(a - b == Interval{-6, -1});
  CHECK(a * b == Interval{-5, 10});
  CHECK(a / b == Interval{-1.0 / 3, 2.0 / 3});
  CHECK(b / a == Interval());
  CHECK(Interval() * Interval::of(0) == Interval::of(0));
  CHECK(a.with(b) == Interval{-1, 5});
  CHECK(a.magnitude() == 2);
}

}  // namespace codl::test
