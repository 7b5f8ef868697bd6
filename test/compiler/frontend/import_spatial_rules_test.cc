// Tests the import of convolutions, pooling, sampling and recurrent networks.
#include <random>

#include "test/compiler/frontend/import_text.h"

namespace codl::test {
namespace {

// Returns the number of the graph's nodes with the operator.
int count_of(const ir::Graph& graph, OpKind op) {
  int count = 0;
  for (const ir::Node& node : graph.nodes()) count += node.op == op;
  return count;
}

}  // namespace

TEST_CASE("Conv over a line is one over a map of one row") {
  const std::string text =
      "g (float[1,1,4] x) => (float[1,1,3] y) <float[1,1,2] w = {1, 10}> { y = Conv(x, w) }";
  CHECK(count_of(import_text(text), OpKind::Conv2d) == 1);
  CHECK(computed(text, {1, 2, 3, 4}) == std::vector<float>{21, 32, 43});
}

TEST_CASE("Conv with computed weights, or over a box, is a ConvNd") {
  CHECK(count_of(import_text("g (float[1,2,4,4] x, float[3,2,3,3] w) => (float[1,3,2,2] y) "
                             "{ y = Conv(x, w) }"),
                 OpKind::ConvNd) == 1);
  CHECK(count_of(import_text("g (float[1,2,4,4] x, float[3] b) => (float[1,3,2,2] y) "
                             "<float[3,2,3,3] w> { y = Conv(x, w, b) }"),
                 OpKind::ConvNd) == 1);
  CHECK(count_of(import_text("g (float[1,2,4,4,4] x) => (float[1,3,2,2,2] y) "
                             "<float[3,2,3,3,3] w> { y = Conv(x, w) }"),
                 OpKind::ConvNd) == 1);
  CHECK(import_error("g (float[1,2,2,2,2,2] x) => (float[1,2,2,2,2,2] y) "
                     "<float[2,2,1,1,1,1] w> { y = Conv(x, w) }")
            .find("expected 1 to 3 spatial axes, found 4") != std::string::npos);
}

TEST_CASE("ConvTranspose with constant weights is a Conv2d of blocks") {
  // Adds 1 and 2 times (1, 10, 100), two apart: 1 10 102 20 200.
  const std::string head =
      "g (float[1,1,2] x) => (float[1,1,n] y) <float[1,1,3] w = {1, 10, 100}> ";
  auto transposed = [&](const std::string& attributes) {
    const std::string text = head + "{ y = ConvTranspose<strides = [2]" + attributes + ">(x, w) }";
    const ir::Graph graph = import_text(text);
    CHECK(count_of(graph, OpKind::Conv2d) == 1);
    CHECK(count_of(graph, OpKind::DepthToSpace) == 1);
    return computed(text, {1, 2});
  };
  CHECK(transposed("") == std::vector<float>{1, 10, 102, 20, 200});
  CHECK(transposed(", pads = [1, 1]") == std::vector<float>{10, 102, 20});
  CHECK(transposed(", pads = [3, 0]") == std::vector<float>{20, 200});
  CHECK(transposed(", pads = [1, 0], output_padding = [1]") ==
        std::vector<float>{10, 102, 20, 200, 0});
  CHECK(transposed(", output_shape = [4]") == std::vector<float>{10, 102, 20, 200});
  CHECK(transposed(", auto_pad = \"SAME_UPPER\"") == std::vector<float>{1, 10, 102, 20});
  CHECK(transposed(", auto_pad = \"SAME_LOWER\"") == std::vector<float>{10, 102, 20, 200});
  // A dilated one stays a ConvTranspose.
  CHECK(count_of(import_text(head + "{ y = ConvTranspose<dilations = [2]>(x, w) }"),
                 OpKind::ConvNd) == 1);
}

TEST_CASE("ConvTranspose of many channels is a convolution for each element of a block") {
  std::string weights;
  for (int32_t i = 0; i < 128; ++i)
    weights += std::string(i == 0 ? "" : ", ") + (i == 5     ? "1, 2, 3"
                                                  : i == 100 ? "10, 20, 30"
                                                             : "0, 0, 0");
  std::vector<float> x(128 * 3);
  x[5 * 3] = 1;
  x[5 * 3 + 1] = 2;
  x[100 * 3 + 2] = 1;
  auto transposed = [&](const std::string& attributes, const std::string& out) {
    const std::string text =
        "g (float[1,128,3] x) => (float[1,1," + out + "] y) <float[128,1,3] w = {" + weights +
        "}, float[1] b = {0.5}> { y = ConvTranspose<strides = [2]" + attributes + ">(x, w, b) }";
    const ir::Graph graph = import_text(text);
    CHECK(count_of(graph, OpKind::Conv2d) == 2);
    CHECK(count_of(graph, OpKind::DepthToSpace) == 1);
    return computed(text, x);
  };
  CHECK(transposed("", "7") == std::vector<float>{1.5, 2.5, 5.5, 4.5, 16.5, 20.5, 30.5});
  CHECK(transposed(", pads = [1, 1], output_padding = [1]", "6") ==
        std::vector<float>{2.5, 5.5, 4.5, 16.5, 20.5, 30.5});
  CHECK(transposed(", pads = [0, 2]", "5") == std::vector<float>{1.5, 2.5, 5.5, 4.5, 16.5});
}

TEST_CASE("ConvTranspose in groups: each channel's block has its own weights") {
  CHECK(computed("g (float[1,2,1,1] x) => (float[1,2,1,2] y) "
                 "<float[2,1,1,2] w = {1, 2, 3, 4}, float[2] b = {0.5, 0.25}> "
                 "{ y = ConvTranspose<group = 2, strides = [1, 2]>(x, w, b) }",
                 {10, 100}) == std::vector<float>{10.5, 20.5, 300.25, 400.25});
}

namespace {

// One axis of a transposed convolution; the other axis has one element.
struct TransposedLine {
  int32_t in;
  int32_t kernel;
  int32_t stride;
  int32_t dilation;
  int32_t pad_begin;
  int32_t pad_end;
  int32_t output_padding;

  int32_t out() const {
    return (in - 1) * stride + (kernel - 1) * dilation + 1 + output_padding - pad_begin - pad_end;
  }
};

TransposedLine random_line(std::mt19937& random) {
  const auto draw = [&](int32_t least, int32_t most) {
    return std::uniform_int_distribution<int32_t>(least, most)(random);
  };
  for (;;) {
    TransposedLine line = {draw(1, 5), draw(1, 4), draw(1, 6), draw(1, 3),
                           draw(0, 3), draw(0, 3), 0};
    line.output_padding = draw(0, std::max(line.stride, line.dilation) - 1);
    if (line.out() >= 1) return line;
  }
}

// Adds the products of every element of x to y, which begins as the bias (ONNX, ConvTranspose).
std::vector<float> scattered(const TransposedLine& line, const std::vector<float>& x,
                             const std::vector<float>& w, float bias) {
  std::vector<float> y(line.out(), bias);
  for (int32_t i = 0; i < line.in; ++i)
    for (int32_t k = 0; k < line.kernel; ++k) {
      const int32_t o = i * line.stride + k * line.dilation - line.pad_begin;
      if (o >= 0 && o < line.out()) y[o] += x[i] * w[k];
    }
  return y;
}

}  // namespace

TEST_CASE("ConvTranspose: the bias is where no tap reaches too") {
  // The second block of (1, 2), two apart, consists of output_padding alone.
  CHECK(computed("g (float[1,1,1] x) => (float[1,1,3] y) "
                 "<float[1,1,2] w = {1, 2}, float[1] b = {0.5}> "
                 "{ y = ConvTranspose<strides = [2], output_padding = [1]>(x, w, b) }",
                 {10}) == std::vector<float>{10.5, 20.5, 0.5});
  std::mt19937 random(26);
  for (int32_t round = 0; round < 500; ++round) {
    const TransposedLine line = random_line(random);
    std::vector<float> x(line.in), w(line.kernel);
    std::string weights;
    for (float& element : x) element = static_cast<float>(random() % 9) - 4;
    for (float& element : w) {
      element = static_cast<float>(random() % 9) - 4;
      weights += (weights.empty() ? "" : ", ") + std::to_string(static_cast<int32_t>(element));
    }
    const bool is_column = round % 2 != 0;
    const auto pair = [&](int32_t number, int32_t other) {
      return is_column ? std::to_string(number) + ", " + std::to_string(other)
                       : std::to_string(other) + ", " + std::to_string(number);
    };
    const std::string text =
        "g (float[1, 1, " + pair(line.in, 1) + "] x) => (float[1, 1, " + pair(line.out(), 1) +
        "] y) <float[1, 1, " + pair(line.kernel, 1) + "] w = {" + weights +
        "}, float[1] b = {0.5}> { y = ConvTranspose<strides = [" + pair(line.stride, 1) +
        "], dilations = [" + pair(line.dilation, 1) + "], pads = [" + pair(line.pad_begin, 0) +
        ", " + pair(line.pad_end, 0) + "], output_padding = [" + pair(line.output_padding, 0) +
        "]>(x, w, b) }";
    INFO(text);
    CHECK(computed(text, x) == scattered(line, x, w, 0.5f));
  }
}

TEST_CASE("pooling that Pool2d has no answer for is a PoolNd") {
  CHECK(count_of(import_text("g (float[1,1,6] x) => (float[1,1,5] y) "
                             "{ y = MaxPool<kernel_shape = [2]>(x) }"),
                 OpKind::Pool2d) == 1);
  // Floats hold bytes.
  CHECK(count_of(import_text("g (uint8[1,1,4,4] x) => (uint8[1,1,3,3] y) { y = "
                             "MaxPool<kernel_shape = [2, 2]>(x) }",
                             18),
                 OpKind::Pool2d) == 1);
  for (const char* text :
       {"g (float[1,1,4,4,4] x) => (float[1,1,3,3,3] y) { y = MaxPool<kernel_shape = [2, 2, 2]>(x) "
        "}",
        "g (double[1,1,4,4] x) => (double[1,1,3,3] y) { y = LpPool<kernel_shape = [2, 2]>(x) }",
        "g (float[1,1,4,4] x) => (float[1,1,3,3] y) { y = LpPool<kernel_shape = [2, 2]>(x) }",
        "g (float[1,1,4] x) => (float[1,1,1] y) { y = GlobalLpPool(x) }",
        "g (float[1,1,1] x) => (float[1,1,3] y) "
        "{ y = MaxPool<kernel_shape = [1], pads = [1, 1]>(x) }"})
    CHECK(count_of(import_text(text, 18), OpKind::PoolNd) == 1);
}

TEST_CASE("MaxPool's second output says where") {
  const ir::Graph graph = import_text(
      "g (float[1,1,4] x) => (float[1,1,3] y, int64[1,1,3] i) "
      "{ y, i = MaxPool<kernel_shape = [2]>(x) }");
  CHECK(count_of(graph, OpKind::Pool2d) == 1);
  CHECK(count_of(graph, OpKind::PoolNd) == 1);
}

TEST_CASE("DeformConv reads the map where its offsets say, zeros outside") {
  // There are two taps side by side, with weights 1 and 10, over one row; the offsets are [taps *
  // (row, column), 1, 3].
  const auto convolved = [](const std::string& offsets, const std::string& rest = "") {
    return computed(
        "g (float[1,1,1,4] x) => (float[1,1,1,3] y) <float[1,1,1,2] w = {1, 10}, "
        "float[1,4,1,3] o = {" +
            offsets + "}, float[1] b = {0.5}, float[1,2,1,3] m = {1, 1, 1, 1, 0, 2}> " +
            "{ y = DeformConv(x, w, o" + rest + ") }",
        {1, 2, 4, 8}, 19);
  };
  const std::string none = "0, 0, 0, ";
  CHECK(convolved(none + none + none + "0, 0, 0")[0] == Approx(21));
  CHECK(convolved(none + none + none + "0, 0, 0")[2] == Approx(84));
  // The second tap moves half a column to the right, the first one half a row down.
  const auto moved = convolved("0.5, 0.5, 0.5, " + none + none + "0.5, 0.5, 0.5", ", b, m");
  CHECK(moved[0] == Approx(0.5 + 0.5 + 30));
  CHECK(moved[1] == Approx(0.5 + 1));
  CHECK(moved[2] == Approx(0.5 + 2 + 2 * 40));
}

TEST_CASE("DeformConv with constant weights is a Conv2d, and wants offsets that fit") {
  const std::string tail = ", float[1,18,2,2] o) => (float[1,4,2,2] y) ";
  CHECK(count_of(import_text("g (float[1,2,4,4] x" + tail +
                                 "<float[4,1,3,3] w> { y = DeformConv<group = 2>(x, w, o) }",
                             19),
                 OpKind::Conv2d) == 1);
  CHECK(count_of(
            import_text(
                "g (float[1,2,4,4] x, float[4,2,3,3] w" + tail + "{ y = DeformConv(x, w, o) }", 19),
            OpKind::ConvNd) == 1);
  const auto refusal = [&](const std::string& dims, const std::string& attributes) {
    return import_error("g (float" + dims + " x" + tail + "<float[4,2,3,3] w> { y = DeformConv" +
                            attributes + "(x, w, o) }",
                        19);
  };
  CHECK(refusal("[1,2,5,5]", "<pads = [0, 0, 1, 1]>")
            .find("expected 2 offsets for each of 9 taps in 1 groups and 4x4 outputs, found "
                  "18x2x2") != std::string::npos);
  CHECK(refusal("[1,2,4,4]", "<offset_group = 3>").find("expected group and offset_group that") !=
        std::string::npos);
  CHECK(refusal("[1,2,2,4]", "").find("expected a window of at most 2 elements, found 3") !=
        std::string::npos);
}

TEST_CASE("RoiAlign: the coordinates it means by default came with opset 16") {
  const std::string text =
      "g (float[1,1,4,4] x, float[2,4] r, int64[2] b) => (float[2,1,3,2] y) "
      "{ y = RoiAlign<output_height = 3, output_width = 2>(x, r, b) }";
  CHECK(import_text(text, 10).node(0).params.as<RoiAlignParams>().is_half_pixel == 0);
  CHECK(import_text(text, 16).node(0).params.as<RoiAlignParams>().is_half_pixel == 1);
}

TEST_CASE("recurrent networks: activations, and outputs that are parts of one") {
  const std::string head =
      "g (float[5,2,3] x) => (float[2,2,4] h) <float[2,4,3] w, float[2,4,4] r> { ";
  const ir::Graph graph = import_text(
      head +
      "y, h = RNN<direction = \"bidirectional\", hidden_size = 4, activations = [\"LeakyRelu\", "
      "\"Tanh\"], activation_alpha = [0.5]>(x, w, r) }");
  const auto params = graph.node(0).params.as<RecurrentParams>();
  CHECK(graph.node(0).op == OpKind::Recurrent);
  CHECK(params.direction == 2);
  CHECK(params.activation_0 == kUnaryLeakyRelu);
  CHECK(params.activation_alpha_0 == 0.5f);
  CHECK(params.activation_1 == kUnaryTanh);
  CHECK(import_error(head + "y, h = RNN<direction = \"bidirectional\", activations = "
                            "[\"ScaledTanh\", \"Tanh\"]>(x, w, r) }")
            .find("found ScaledTanh") != std::string::npos);
}

TEST_CASE("an LSTM with the batch first") {
  const ir::Graph graph = import_text(
      "g (float[2,5,3] x) => (float[2,5,1,4] y, float[2,1,4] h, float[2,1,4] c) "
      "<float[1,16,3] w, float[1,16,4] r> { y, h, c = LSTM<layout = 1, hidden_size = 4>(x, w, r) }",
      14);
  CHECK(graph.value(graph.outputs()[0]).type.dims == ir::Dims{2, 5, 1, 4});
  CHECK(graph.value(graph.outputs()[1]).type.dims == ir::Dims{2, 1, 4});
}

}  // namespace codl::test
