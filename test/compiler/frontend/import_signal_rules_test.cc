// Tests the import of losses, signals, MaxUnpool and Scan with numbers worked out by hand.
#include <cmath>
#include <optional>

#include "test/compiler/frontend/import_text.h"

namespace codl::test {
namespace {

// Returns every output of the model, rounded to 1e-4. Inputs are f32, then an i64 scalar if there
// is one.
std::vector<std::vector<float>> outputs_of(const std::string& text, const std::vector<float>& input,
                                           std::optional<int64_t> scalar = std::nullopt,
                                           int opset = 17) {
  const auto* first = reinterpret_cast<const uint8_t*>(input.data());
  std::vector<compiler::Bytes> inputs = {
      compiler::Bytes(first, first + input.size() * sizeof(float))};
  if (scalar) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&*scalar);
    inputs.push_back(compiler::Bytes(bytes, bytes + sizeof *scalar));
  }
  std::vector<std::vector<float>> results;
  for (const auto& bytes : value_of(compiler::interpret(import_text(text, opset), inputs))) {
    const auto* begin = reinterpret_cast<const float*>(bytes.data());
    results.emplace_back(begin, begin + bytes.size() / sizeof(float));
    for (float& element : results.back()) element = std::round(element * 1e4f) / 1e4f + 0.0f;
  }
  return results;
}

std::vector<float> output_of(const std::string& text, const std::vector<float>& input,
                             std::optional<int64_t> scalar = std::nullopt, int opset = 17) {
  return outputs_of(text, input, scalar, opset)[0];
}

}  // namespace

TEST_CASE("NegativeLogLikelihoodLoss: reductions, weights, ignored classes") {
  const std::vector<float> log_prob = {-1, -2, -3, -4, -5, -6};
  auto loss = [&](const std::string& attributes, const std::string& classes,
                  const std::string& weights, const std::string& dims = "") {
    return output_of("g (float[2,3] x) => (float" + dims + " z) <int64[2] y = {" + classes +
                         "}, float[3] w = {1, 2, 4}> { z = NegativeLogLikelihoodLoss<" +
                         attributes + ">(x, y" + weights + ") }",
                     log_prob);
  };
  CHECK(loss("reduction = \"none\"", "1, 2", "", "[2]") == std::vector<float>{2, 6});
  CHECK(loss("reduction = \"sum\"", "1, 2", "") == std::vector<float>{8});
  CHECK(loss("reduction = \"mean\"", "1, 2", "") == std::vector<float>{4});
  CHECK(loss("reduction = \"mean\"", "1, 2", ", w") == std::vector<float>{4.6667f});
  CHECK(loss("ignore_index = 2", "1, 2", ", w") == std::vector<float>{2});
  // An ignored class need not be a valid one.
  CHECK(loss("ignore_index = -100", "1, -100", "") == std::vector<float>{2});
  CHECK(loss("ignore_index = -100, reduction = \"none\"", "1, -100", ", w", "[2]") ==
        std::vector<float>{4, 0});
  CHECK(import_error("g (float[2,3] x) => (float z) <int64[3] y = {0, 1, 2}> "
                     "{ z = NegativeLogLikelihoodLoss(x, y) }")
            .find("expected scores [n, c, ...] and classes [n, ...]") != std::string::npos);
  CHECK(import_error("g (float[2,3] x) => (float z) <int64[2] y = {0, 1}, float[2] w = {1, 2}> "
                     "{ z = NegativeLogLikelihoodLoss(x, y, w) }")
            .find("expected a weight for each of 3 classes, found f32[2]") != std::string::npos);
}

TEST_CASE("SoftmaxCrossEntropyLoss gives the logarithms too") {
  const auto outputs = outputs_of(
      "g (float[1,2,2] x) => (float z, float[1,2,2] l) <int64[1,2] y = {0, 1}> "
      "{ z, l = SoftmaxCrossEntropyLoss(x, y) }",
      {0, 1, 0, 1});
  CHECK(outputs[0] == std::vector<float>{0.6931f});
  CHECK(outputs[1] == std::vector<float>(4, -0.6931f));
}

TEST_CASE("windows: of a constant or declared length") {
  auto window = [](const std::string& call, const std::string& dims) {
    return output_of("g (float[1] x) => (float[" + dims + "] y) <int64 n = {" + dims +
                         "}> { w = " + call + "(n) y = Add(w, x) }",
                     {0});
  };
  CHECK(window("HannWindow", "4") == std::vector<float>{0, 0.5f, 1, 0.5f});
  CHECK(window("HannWindow<periodic = 0>", "5") == std::vector<float>{0, 0.5f, 1, 0.5f, 0});
  CHECK(window("HammingWindow", "2") == std::vector<float>{0.087f, 1});
  CHECK(window("BlackmanWindow", "4") == std::vector<float>{0, 0.34f, 1, 0.34f});
  CHECK(output_of("g (float[1] x, int64 n) => (float[2] y) { y = HannWindow(n) }", {0}, 2) ==
        std::vector<float>{0, 1});
  CHECK(import_error("g (int64 n) => (float[k] y) { y = HannWindow(n) }", 17)
            .find("expected the size of HannWindow to be constant") != std::string::npos);
  CHECK(import_error("g (int64 n) => (float[5000] y) { y = HannWindow(n) }", 17)
            .find("expected at most 4096 elements, found 5000") != std::string::npos);
}

TEST_CASE("DFT: both ways, one sided, cut off and continued") {
  const std::vector<float> spectrum = {10, 0, -2, 2, -2, 0, -2, -2};
  CHECK(output_of("g (float[1,4,1] x) => (float[1,4,2] y) { y = DFT<axis = 1>(x) }",
                  {1, 2, 3, 4}) == spectrum);
  CHECK(output_of("g (float[1,4,1] x) => (float[1,3,2] y) { y = DFT<onesided = 1>(x) }",
                  {1, 2, 3, 4}) == std::vector<float>{10, 0, -2, 2, -2, 0});
  CHECK(output_of("g (float[1,4,2] x) => (float[1,4,2] y) { y = DFT<inverse = 1>(x) }", spectrum) ==
        std::vector<float>{1, 0, 2, 0, 3, 0, 4, 0});
  CHECK(output_of("g (float[1,3,2] x) => (float[1,4,1] y) "
                  "{ y = DFT<inverse = 1, onesided = 1>(x) }",
                  {10, 0, -2, 2, -2, 0}) == std::vector<float>{1, 2, 3, 4});
  const std::string of_length = "g (float[1,4,1] x) => (float[1,k,2] y) <int64 n = {";
  CHECK(output_of(of_length + "2}> { y = DFT(x, n) }", {1, 2, 3, 4}) ==
        std::vector<float>{3, 0, -1, 0});
  CHECK(output_of(of_length + "8}> { y = DFT<onesided = 1>(x, n) }", {1, 0, 0, 0}) ==
        std::vector<float>{1, 0, 1, 0, 1, 0, 1, 0, 1, 0});
}

TEST_CASE("DFT along an axis known at run time only") {
  const std::string text =
      "g (float[2,2,1] x, int64 axis) => (float[2,2,2] y) { y = DFT(x, , axis) }";
  CHECK(output_of(text, {1, 2, 3, 4}, 0, 20) == std::vector<float>{4, 0, 6, 0, -2, 0, -2, 0});
  CHECK(output_of(text, {1, 2, 3, 4}, -2, 20) == std::vector<float>{3, 0, -1, 0, 7, 0, -1, 0});
}

TEST_CASE("STFT: frames, a window, a step known at run time only") {
  const std::string frames = "(float[1,2,2,2] y) <int64 two = {2}, float[2] w = {1, 0}> ";
  CHECK(output_of("g (float[1,4,1] x) => " + frames + "{ y = STFT(x, two, , two) }",
                  {1, 2, 3, 4}) == std::vector<float>{3, 0, -1, 0, 7, 0, -1, 0});
  CHECK(output_of("g (float[1,4,1] x) => " + frames + "{ y = STFT(x, two, w) }", {1, 2, 3, 4}) ==
        std::vector<float>{1, 0, 1, 0, 3, 0, 3, 0});
  CHECK(output_of("g (float[1,4,1] x, int64 s) => " + frames + "{ y = STFT(x, s, w) }",
                  {1, 2, 3, 4}, 1) == std::vector<float>{1, 0, 1, 0, 2, 0, 2, 0});
}

TEST_CASE("MaxUnpool: to the places of the maxima, zeros behind") {
  CHECK(output_of("g (float[1,1,1,1] x) => (float[1,1,2,3] y) <int64[1,1,1,1] i = {3}, "
                  "int64[4] s = {1, 1, 2, 3}> { y = MaxUnpool<kernel_shape = [2, 2]>(x, i, s) }",
                  {7}) == std::vector<float>{0, 0, 0, 0, 7, 0});
  // No window covers the last row and column of an odd map.
  CHECK(output_of("g (float[1,2,3,3] x) => (float[1,2,3,3] y) <int64[4] s = {1, 2, 3, 3}> "
                  "{ p, i = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x) n = Neg(p) "
                  "y = MaxUnpool<kernel_shape = [2, 2], strides = [2, 2]>(n, i, s) }",
                  {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 9, 3, 4, 5, 6, 7, 8, 9}) ==
        std::vector<float>{0, 0, 0, 0, -5, 0, 0, 0, 0, 0, -9, 0, 0, 0, 0, 0, 0, 0});
  CHECK(import_error("g (float[1,1,1,1] x) => (float[1,1,2,2] y) <int64[1,1,1,1] i = {4}> "
                     "{ y = MaxUnpool<kernel_shape = [2, 2]>(x, i) }") ==
        "y: expected indices in [-4, 4) in 'i', found 4");
  CHECK(import_error("g (float[1,1,1,1] x, int64[1,1,1,1] i) => (float[1,1,2,2] y) "
                     "{ y = MaxUnpool(x, i) }")
            .find("expected kernel_shape of 2 axes, found 0") != std::string::npos);
}

TEST_CASE("declared dims hold for what was combined with scalars") {
  const std::string range =
      "g (float[1] x, int64 n) => (float[3] y) <int64 zero = {0}, int64 one = {1}, float h = "
      "{0.5}> "
      "{ r = Range(zero, n, one) f = Cast<to = 1>(r) a = Mul(h, f) ";
  CHECK(output_of(range + "y = Sub(f, a) }", {0}, 3) == std::vector<float>{0, 0.5f, 1});
  // x may be the operand that is broadcast.
  CHECK(import_error(range + "y = Add(a, x) }", 17).find("expected the range of Range to be") !=
        std::string::npos);
}

TEST_CASE("Scan: forwards, backwards, along other axes") {
  auto scan = [](const std::string& attributes) {
    return "g (float[2,3] x) => (float[2] s, float[k,l] all) <float[2] zero = {0, 0}> { s, all = "
           "Scan<num_scan_inputs = 1, scan_input_axes = [1], " +
           attributes +
           "body = b (float[2] sum, float[2] v) => (float[2] next, float[2] copy) "
           "{ next = Add(sum, v) copy = Identity(next) }>(zero, x) }";
  };
  const std::vector<float> x = {1, 2, 3, 10, 20, 30};
  CHECK(outputs_of(scan(""), x)[0] == std::vector<float>{6, 60});
  CHECK(outputs_of(scan(""), x)[1] == std::vector<float>{1, 10, 3, 30, 6, 60});
  CHECK(outputs_of(scan("scan_input_directions = [1], "), x)[1] ==
        std::vector<float>{3, 30, 5, 50, 6, 60});
  CHECK(outputs_of(scan("scan_output_axes = [-1], scan_output_directions = [1], "), x)[1] ==
        std::vector<float>{6, 3, 1, 60, 30, 10});
}

}  // namespace codl::test
