#include "compiler/passes/allow_forms.h"

#include <cmath>

#include "compiler/accuracy/seen.h"
#include "test/compiler/shrink/shrink_graphs.h"
#include "test/support/catch.h"

namespace codl::test {
namespace {

using compiler::SeenMagnitudes;

// Returns the reason for the node that makes `value`; empty if it may be in halves.
std::string reason_for(const ir::Graph& graph, const compiler::AllowedForms& allowed,
                       ir::ValueId value) {
  for (const auto& kept : allowed.floats)
    if (kept.node == graph.value(value).name) return kept.reason;
  return "";
}

// Says that every value was `largest`.
SeenMagnitudes seen_everywhere(const ir::Graph& graph, float largest, bool is_of_data = true) {
  SeenMagnitudes seen;
  seen.largest.assign(graph.values().size(), largest);
  seen.is_of_data = is_of_data;
  return seen;
}

struct WrittenOutNorm {
  RandomGraph r{5};
  ir::ValueId x, centred, squares, variance, deviation, result;

  WrittenOutNorm() {
    ReduceParams mean{};
    mean.kind = kReduceMean;
    mean.axes_mask = 2;
    UnaryParams root{};
    root.kind = kUnarySqrt;
    x = r.input({4, 64});
    centred = r.binary(kBinarySub, x, r.node(OpKind::Reduce, {x}, mean));
    squares = r.binary(kBinaryMul, centred, centred);
    variance = r.node(OpKind::Reduce, {squares}, mean);
    deviation =
        r.node(OpKind::Unary, {r.binary(kBinaryAdd, variance, r.constant({1}, {1e-3f}))}, root);
    result = r.binary(kBinaryDiv, centred, deviation);
    r.graph.set_outputs({r.matmul(r.binary(kBinaryMul, result, r.constant({64})), 8)});
    r.graph.name = "norm";
  }
};

// `build` returns the value that is judged.
struct Case {
  const char* name;
  ir::ValueId (*build)(RandomGraph& r, ir::ValueId x);
  const char* on_data;    // the reason, if 10 was seen on data
  const char* on_random;  // if it was seen on random inputs
};

ir::ValueId unary(RandomGraph& r, ir::ValueId x, int32_t kind, float alpha = 0, float beta = 0) {
  UnaryParams params{};
  params.kind = kind;
  params.alpha = alpha;
  params.beta = beta;
  return r.node(OpKind::Unary, {x}, params);
}

constexpr char kSteep[] = "it squares,";
constexpr char kProduct[] = "it is a product of two values that nothing bounds";

const Case kCases[] = {
    {"a sum", [](RandomGraph& r, ir::ValueId x) { return r.binary(kBinaryAdd, x, x); }, "", ""},
    {"a square", [](RandomGraph& r, ir::ValueId x) { return r.binary(kBinaryMul, x, x); }, kSteep,
     kSteep},
    {"a square of what is bounded",
     [](RandomGraph& r, ir::ValueId x) {
       const ir::ValueId y = unary(r, x, kUnaryClip, 0, 6);
       return r.binary(kBinaryMul, y, y);
     },
     "", ""},
    {"a product of maps",
     [](RandomGraph& r, ir::ValueId x) { return r.binary(kBinaryMul, x, unary(r, x, kUnaryRelu)); },
     "", kProduct},
    {"a gated map",
     [](RandomGraph& r, ir::ValueId x) {
       return r.binary(kBinaryMul, x, unary(r, x, kUnarySigmoid));
     },
     "", ""},
    {"attention scores",
     [](RandomGraph& r, ir::ValueId x) {
       BatchMatMulParams params{};
       params.is_b_transposed = 1;
       return r.node(OpKind::BatchMatMul, {x, unary(r, x, kUnaryRelu)}, params);
     },
     "", kProduct},
    {"probabilities times values",
     [](RandomGraph& r, ir::ValueId x) {
       SoftmaxParams params{};
       params.axis = 1;
       return r.node(OpKind::BatchMatMul, {r.node(OpKind::Softmax, {x}, params), x},
                     BatchMatMulParams{});
     },
     "", ""},
    {"an exponential", [](RandomGraph& r, ir::ValueId x) { return unary(r, x, kUnaryExp); }, kSteep,
     kSteep},
    {"a bounded exponential",
     [](RandomGraph& r, ir::ValueId x) { return unary(r, unary(r, x, kUnaryTanh), kUnaryExp); }, "",
     ""},
    {"a quotient", [](RandomGraph& r, ir::ValueId x) { return r.binary(kBinaryDiv, x, x); }, kSteep,
     kSteep},
    {"a logarithm",
     [](RandomGraph& r, ir::ValueId x) { return unary(r, unary(r, x, kUnaryRelu), kUnaryLog); },
     kSteep, kSteep},
    {"a quotient by a constant",
     [](RandomGraph& r, ir::ValueId x) { return r.binary(kBinaryDiv, x, r.constant({1}, {8.0f})); },
     "", ""},
    {"a product with a large constant",
     [](RandomGraph& r, ir::ValueId x) {
       return r.binary(kBinaryMul, unary(r, x, kUnarySigmoid), r.constant({1}, {-1e9f}));
     },
     "its constant of 1e+09", "its constant of 1e+09"},
    {"a sum with a small constant",
     [](RandomGraph& r, ir::ValueId x) {
       return r.binary(kBinaryAdd, x, r.constant({1}, {1e-12f}));
     },
     "its constant of 1e-12", "its constant of 1e-12"},
    {"a product's sums in halves",
     [](RandomGraph& r, ir::ValueId x) {
       return r.node(OpKind::MatMul,
                     {x, r.constant({16, 16}, std::vector<float>(256, 500.0f)), r.constant({16})},
                     MatMulParams{});
     },
     "sums of 16 of its products", "sums of 16 of its products"},
    {"sums that the weights of a column bound",
     [](RandomGraph& r, ir::ValueId x) {
       std::vector<float> diagonal(256);
       for (size_t i = 0; i < 256; i += 17) diagonal[i] = 500;
       return r.node(OpKind::MatMul, {x, r.constant({16, 16}, diagonal), r.constant({16})},
                     MatMulParams{});
     },
     "", ""},
};

}  // namespace

TEST_CASE("bounds, inputs and operators say what stays in float") {
  for (const Case& each : kCases)
    for (const bool is_of_data : {true, false}) {
      CAPTURE(each.name, is_of_data);
      RandomGraph r(1);
      const ir::ValueId value = each.build(r, r.input({16, 16}));
      r.graph.set_outputs({unary(r, value, kUnaryAbs)});
      const auto allowed = compiler::allow_forms(r.graph, ir::Precision::Fp16,
                                                 seen_everywhere(r.graph, 10, is_of_data));
      const std::string expected = is_of_data ? each.on_data : each.on_random;
      const std::string reason = reason_for(r.graph, allowed, value);
      CAPTURE(reason);
      CHECK(reason.empty() == expected.empty());
      CHECK(llvm::StringRef(reason).startswith(expected));
      CHECK((r.graph.value(value).precision == ir::Precision::Fp16) == expected.empty());
    }
}

TEST_CASE(
    "halves must hold all constants of a recurrent layer, those of the state and the bias, too") {
  for (const size_t large : {size_t{0}, size_t{1}, size_t{2}, size_t{3}}) {
    CAPTURE(large);
    RandomGraph r(1);
    const auto constant = [&](size_t operand, ir::Dims dims, size_t count) {
      return r.constant(dims, std::vector<float>(count, operand == large ? 1e5f : 0.5f));
    };
    const ir::ValueId value =
        r.node(OpKind::Recurrent,
               {r.input({3, 1, 4}), constant(1, {1, 2, 4}, 8), constant(2, {1, 2, 2}, 4),
                constant(3, {1, 4}, 4)},
               RecurrentParams{.kind = kRecurrentRnn, .has_bias = 1, .activation_0 = kUnaryTanh});
    r.graph.set_outputs({unary(r, value, kUnaryAbs)});
    const auto allowed =
        compiler::allow_forms(r.graph, ir::Precision::Fp16, seen_everywhere(r.graph, 1));
    CHECK(reason_for(r.graph, allowed, value) ==
          (large == 0 ? "" : "its constant of 1e+05 is outside of what halves hold"));
  }
}

TEST_CASE("what was seen has a factor for inputs that were not") {
  RandomGraph r(1);
  const ir::ValueId sum = r.binary(kBinaryAdd, r.input({4}), r.constant({4}));
  r.graph.set_outputs({unary(r, sum, kUnaryAbs)});
  const auto reason = [&](float largest, bool is_of_data) {
    return reason_for(r.graph,
                      compiler::allow_forms(r.graph, ir::Precision::Auto,
                                            seen_everywhere(r.graph, largest, is_of_data)),
                      sum);
  };
  CHECK(reason(8100, true) == "");
  CHECK(reason(8300, true) ==
        "it reaches 8.3e+03 on calibration data, which leaves less than the "
        "factor of 8 for other inputs");
  CHECK(reason(2000, false) == "");
  CHECK(reason(2100, false) ==
        "it reaches 2.1e+03 on random inputs, which leaves less than the "
        "factor of 32 for other inputs");
  CHECK(reason(1e-6f, true) ==
        "its largest is 1e-06 on calibration data, where halves have few digits");
  CHECK(reason_for(r.graph, compiler::allow_forms(r.graph, ir::Precision::Auto, {}), sum) ==
        "nothing bounds it, and the network is too large to be run; with --calibration it is");
  CHECK(compiler::allow_forms(r.graph, ir::Precision::Fp32, {}).floats.empty());
}

TEST_CASE("a norm that is written out works in float, and all around it in halves") {
  WrittenOutNorm norm;
  ir::Graph& graph = norm.r.graph;
  const SeenMagnitudes seen = value_of(compiler::see_magnitudes(graph, nullptr));
  const auto allowed = compiler::allow_forms(graph, ir::Precision::Fp16, seen);
  CHECK(llvm::StringRef(reason_for(graph, allowed, norm.squares)).startswith(kSteep));
  CHECK(reason_for(graph, allowed, norm.centred) ==
        graph.value(norm.squares).name + " reads it, which stays in float");
  for (ir::ValueId value : {norm.variance, norm.deviation})
    CHECK(llvm::StringRef(reason_for(graph, allowed, value)).startswith("it is made of "));
  CHECK(graph.value(norm.result).precision == ir::Precision::Fp16);
}

TEST_CASE("values of 800 survive a norm that is written out") {
  WrittenOutNorm norm;
  ir::Graph& graph = norm.r.graph;
  std::vector<float> input = norm.r.floats(4 * 64);
  for (float& element : input) element *= 800;
  const std::vector<float> expected = run_graph(graph, input);
  compiler::allow_forms(graph, ir::Precision::Fp16,
                        value_of(compiler::see_magnitudes(graph, nullptr)));
  CHECK(relative_error(run_graph(graph, input), expected) < 1e-2);
  for (ir::ValueId id = 0; id < graph.values().size(); ++id)
    graph.value(id).precision = ir::Precision::Fp16;
  CHECK_FALSE(relative_error(run_graph(graph, input), expected) < 1e-2);
}

// Writes the spectrum of a signal on a large constant, of which the spectrum has nothing.
struct LogarithmOfSpectrum {
  RandomGraph r{3};
  ir::ValueId signal, spectrum, logarithm, result;

  LogarithmOfSpectrum(float epsilon, bool is_fused) {
    signal = unary(r, r.input({4, 64}), kUnaryAffine, 0.002f, 1);
    std::vector<float> weights = r.floats(64 * 8);
    for (size_t i = 1; i < 64; i += 2)  // every second row undoes the one before
      for (size_t j = 0; j < 8; ++j) weights[8 * i + j] = -weights[8 * (i - 1) + j];
    spectrum =
        r.node(OpKind::MatMul,
               {signal, r.constant({64, 8}, weights), r.constant({8}, std::vector<float>(8))},
               MatMulParams{});
    const ir::ValueId power = r.binary(kBinaryMul, spectrum, spectrum);
    BinaryParams sum{.kind = kBinaryAdd, .activation = is_fused ? kUnaryLog : kUnaryIdentity};
    logarithm = r.node(OpKind::Binary, {power, r.constant({1}, {epsilon})}, sum);
    if (!is_fused) logarithm = unary(r, logarithm, kUnaryLog);
    result = r.matmul(logarithm, 8);
    r.graph.set_outputs({result});
    r.graph.name = "spectrum";
  }
};

TEST_CASE("what a logarithm of small numbers is made of stays in float") {
  for (const float epsilon : {1e-10f, 0.5f}) {  // no number is small beside 0.5
    const bool is_fused = GENERATE(false, true);
    CAPTURE(epsilon, is_fused);
    LogarithmOfSpectrum net(epsilon, is_fused);
    ir::Graph& graph = net.r.graph;
    const std::vector<float> input = net.r.floats(4 * 64);
    const std::vector<float> expected = run_graph(graph, input);
    const auto allowed = compiler::allow_forms(graph, ir::Precision::Fp16,
                                               value_of(compiler::see_magnitudes(graph, nullptr)));
    const bool is_small = epsilon < 0.1f;
    const std::string reason =
        graph.value(net.logarithm).name + " takes the logarithm of what is made of it";
    CHECK((reason_for(graph, allowed, net.signal) == reason) == is_small);
    CHECK((reason_for(graph, allowed, net.spectrum) == reason) == is_small);
    CHECK(graph.value(net.result).precision == ir::Precision::Fp16);
    CHECK(relative_error(run_graph(graph, input), expected) < 1e-2);
    for (ir::ValueId id = 0; id < graph.values().size(); ++id)
      graph.value(id).precision = ir::Precision::Fp16;
    CHECK((relative_error(run_graph(graph, input), expected) < 1e-2) != is_small);
  }
}

TEST_CASE("what a logarithm of probabilities is made of may be in halves, but for these") {
  SoftmaxParams softmax{};
  softmax.axis = 1;
  ReduceParams log_sum{};
  log_sum.kind = kReduceLogSum;
  log_sum.axes_mask = 2;
  for (const bool is_softmax : {true, false})
    for (const bool is_sum : {true, false}) {
      CAPTURE(is_softmax, is_sum);
      RandomGraph r(1);
      const ir::ValueId logits = r.matmul(r.input({16, 16}), 16);
      const ir::ValueId probabilities =
          is_softmax ? r.node(OpKind::Softmax, {logits}, softmax) : unary(r, logits, kUnarySigmoid);
      const ir::ValueId logarithm = is_sum ? r.node(OpKind::Reduce, {probabilities}, log_sum)
                                           : unary(r, probabilities, kUnaryLog);
      r.graph.set_outputs({unary(r, logarithm, kUnaryAbs)});
      const auto allowed =
          compiler::allow_forms(r.graph, ir::Precision::Fp16, seen_everywhere(r.graph, 10));
      CHECK(reason_for(r.graph, allowed, logits) == "");
      CHECK(reason_for(r.graph, allowed, probabilities) ==
            r.graph.value(logarithm).name + " takes the logarithm of what is made of it");
    }
}

TEST_CASE("random inputs show what the values of a network are") {
  RandomGraph r(1);
  const ir::ValueId x = r.input({1000});
  const ir::ValueId y = unary(r, x, kUnaryAffine, 100, 7);
  const ir::ValueId z = unary(r, y, kUnaryLog);
  r.graph.set_outputs({z});
  const SeenMagnitudes seen = value_of(compiler::see_magnitudes(r.graph, nullptr));
  CHECK(seen.largest[y] > 200);
  CHECK(seen.largest[y] < 700);
  CHECK(std::isinf(seen.largest[z]));  // the logarithm of a negative number
}

}  // namespace codl::test
