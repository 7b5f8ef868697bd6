#include <random>

#include "compiler/passes/pass_order.h"
#include "kernels/common/gemm/weight_grid.h"
#include "test/passes/pass_text.h"

namespace codl::test {
namespace {

// Returns the lines of the nodes, each from its type on, and those of constants on grids.
std::string grids(const std::string& parameters, const std::string& nodes,
                  const std::string& outputs) {
  ir::Graph graph =
      value_of(compiler::import_onnx(onnx_model("g (float[1,16,4,4] x) => (" + outputs +
                                                ") <float s = {0.25}, float t = {0.5}, "
                                                "uint8 z = {3}, int8 i = {-5}" +
                                                parameters + "> { " + nodes + " }"),
                                     "test"));
  REQUIRE(error_of(compiler::run_passes(graph, compiler::frontend_passes(), {})) == "");
  std::string text;
  std::istringstream lines(ir::print(graph));
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("const ", 0) == 0 && line.find("on grids") != std::string::npos)
      text += "weights\n";
    if (line.rfind("%", 0) != 0) continue;
    const size_t op = line.find(" = ") + 3;
    const size_t grid = line.find(" on grid");
    text += line.substr(op, line.find("(") - op) +
            (grid == std::string::npos ? "" : line.substr(grid)) + "\n";
  }
  return text;
}

std::string quantised(const std::string& from, const std::string& to, const char* scale,
                      const char* zero) {
  return "q" + to + " = QuantizeLinear(" + from + ", " + scale + ", " + zero + ") " + to +
         " = DequantizeLinear(q" + to + ", " + scale + ", " + zero + ") ";
}

}  // namespace

TEST_CASE("what is quantised lies on a grid, and so does what moves or chooses its elements") {
  CHECK(grids("",
              quantised("x", "a", "s", "z") +
                  "b = Transpose <perm = [0, 1, 3, 2]> (a) c = Concat <axis = 1> (b, a) "
                  "y = MaxPool <kernel_shape = [2, 2]> (c)",
              "float[1,32,3,3] y") ==
        "Convert\n"
        "Unary on grid 0.25, zero -125\n"
        "Convert on grid 0.25, zero -125\n"
        "Transpose on grid 0.25, zero -125\n"
        "Convert on grid 0.25, zero -125\n"
        "Concat on grid 0.25, zero -125\n"
        "Pool2d on grid 0.25, zero -125\n"
        "Convert on grid 0.25, zero -125\n");
}

TEST_CASE("a mean, and a Concat of two grids, lie on none") {
  const std::string text =
      grids("",
            quantised("x", "a", "s", "z") + quantised("x", "b", "t", "i") +
                "c = Concat <axis = 1> (a, b) d = AveragePool <kernel_shape = [2, 2]> (a) "
                "y = Sigmoid(c) w = Sigmoid(d)",
            "float[1,32,4,4] y, float[1,16,3,3] w");
  INFO(text);
  CHECK(text.find("Concat\n") != std::string::npos);
  CHECK(text.find("Pool2d\n") != std::string::npos);
  CHECK(text.find("Unary on grid 0.5, zero -5\n") != std::string::npos);
}

TEST_CASE("weights are on grids if each output channel is, and if their operand is on one") {
  const std::string node = "p = Conv(a, w) " + quantised("p", "y", "t", "i");
  const auto conv = [&](const std::string& last, const std::string& before) {
    return grids(
        ", float[2,16,1,1] w = {1, 2, 3, -127, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, "
        "0.1, 0.2, -0.3, 12.7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, " +
            last + "}",
        before + node, "float[1,2,4,4] y");
  };
  const std::string quantise = quantised("x", "a", "s", "z");
  CHECK(conv("0.5", quantise).find("weights\n") == 0);
  CHECK(conv("0.55", quantise).find("weights\n") == std::string::npos);
  CHECK(conv("0.5", "a = Sigmoid(x) ").find("weights\n") == std::string::npos);
  CHECK(conv("0.5", quantise).find("Conv2d on grid 0.5, zero -5\n") != std::string::npos);
}

TEST_CASE("weights are in the largest blocks of fewest bits in which columns lie on grids") {
  constexpr int32_t kDepth = 200;
  constexpr int32_t kColumns = 5;
  std::mt19937 random(11);
  const auto weights = [&](int32_t bits, int32_t size) {
    std::vector<float> w(kDepth * kColumns);
    const int32_t most = (1 << bits) - 1;
    for (int32_t first = 0; first < kDepth; first += size)
      for (int32_t column = 0; column < kColumns; ++column) {
        const float scale = std::uniform_real_distribution<float>(1e-3f, 1e-1f)(random);
        const int32_t zero = std::uniform_int_distribution<int32_t>(0, most)(random);
        for (int32_t k = first; k < std::min(first + size, kDepth); ++k)
          w[k * kColumns + column] =
              static_cast<float>(std::uniform_int_distribution<int32_t>(0, most)(random) - zero) *
              scale;
      }
    return w;
  };
  for (const int32_t bits : {4, 8})
    for (const int32_t size : {16, 32, 128, 256}) {
      std::vector<float> w = weights(bits, size);
      CHECK(kernels::find_blocks(w.data(), kDepth, kColumns) == WeightBlocks{bits, size});
      // A factor of a column leaves its numbers on a grid, up to their last digits.
      for (size_t i = 0; i < w.size(); i += kColumns) w[i] *= 0.7071f;
      CHECK(kernels::find_blocks(w.data(), kDepth, kColumns) == WeightBlocks{bits, size});
      w[7 * kColumns + 2] += 1.23e-4f;
      CHECK_FALSE(kernels::find_blocks(w.data(), kDepth, kColumns));
    }
  CHECK_FALSE(kernels::find_blocks(weights(1, 16).data(), kDepth, kColumns));  // as a permutation
  CHECK(kernels::find_blocks(weights(2, 32).data(), kDepth, kColumns) == WeightBlocks{4, 32});
  std::vector<float> w(kDepth * kColumns);
  for (size_t i = 0; i < w.size(); ++i) w[i] = 0.125f * static_cast<float>(i * 7 % 13);  // counted
  CHECK_FALSE(kernels::find_blocks(w.data(), kDepth, kColumns));
  for (float& element : w) element = std::normal_distribution<float>()(random);
  CHECK_FALSE(kernels::find_blocks(w.data(), kDepth, kColumns));
}

}  // namespace codl::test
