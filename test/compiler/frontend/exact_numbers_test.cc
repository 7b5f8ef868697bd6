// Tests numbers whose digits f32 does not have: integers beyond 2^24, and doubles.
#include "test/compiler/frontend/import_text.h"

namespace codl::test {
namespace {

// Returns y for "x => y" with the rules; x and y have one type.
template <typename T>
std::vector<T> mapped(const std::string& type, const std::string& constants,
                      const std::string& rules, const std::vector<T>& x, int opset = 18) {
  const std::string dims = "[" + std::to_string(x.size()) + "]";
  return run<T>(
      "g (" + type + dims + " x) => (" + type + dims + " y) <" + constants + "> { " + rules + " }",
      {bytes_of(x)}, 0, opset);
}

}  // namespace

TEST_CASE("Pow of integers is exact, whatever type the exponent has") {
  using Ints = std::vector<int32_t>;
  using Longs = std::vector<int64_t>;
  const Ints x = {4097, -5001, 46340};
  const Ints squares = {16785409, 25010001, 2147395600};
  CHECK(mapped<int32_t>("int32", "float e = {2}", "y = Pow(x, e)", x) == squares);
  CHECK(mapped<int32_t>("int32", "double e = {2}", "y = Pow(x, e)", x) == squares);
  CHECK(mapped<int32_t>("int32", "int64 e = {2}", "y = Pow(x, e)", x) == squares);
  CHECK(mapped<int64_t>("int64", "float e = {35}", "y = Pow(x, e)", Longs{3}) ==
        Longs{50031545098999707});
  CHECK(mapped<int64_t>("int64", "float e = {0.5}", "y = Pow(x, e)", Longs{9007199136250225}) ==
        Longs{94906265});
  CHECK(mapped<uint8_t>("uint8", "int32 e = {-1}", "y = Pow(x, e)", {1, 2}) ==
        std::vector<uint8_t>{1, 0});
  const std::string fed = "g (int64[3] x, float[3] e) => (int64[3] y) { y = Pow(x, e) }";
  CHECK(run<int64_t>(fed,
                     {bytes_of(Longs{3, 1 << 30, -1}), bytes_of(std::vector<float>{35, 0.5, 3})}, 0,
                     18) == Longs{50031545098999707, 32768, -1});
  // f32 does not have 2^24 + 1, which is odd.
  CHECK(mapped<float>("float", "int32 e = {16777217}", "y = Pow(x, e)", {-1}) ==
        std::vector<float>{-1});
}

TEST_CASE("sums of integers are exact") {
  CHECK(run<int32_t>("g (uint8[1,3,1] x) => (int32[1,1,1] y) <uint8[1,3,1] w = {255, 255, 1}> "
                     "{ y = ConvInteger(x, w) }",
                     {bytes_of(std::vector<uint8_t>{255, 255, 1})})[0] == 2 * 255 * 255 + 1);
  // The sum is 300 times 255 squared and 1: more than 2^24.
  std::vector<uint8_t> ones(301, 255);
  ones[300] = 1;
  CHECK(run<int32_t>("g (uint8[1,301,1] x, uint8[1,301,1] w) => (int32[1,1,1] y) "
                     "{ y = ConvInteger(x, w) }",
                     {bytes_of(ones), bytes_of(ones)})[0] == 300 * 255 * 255 + 1);
  using Longs = std::vector<int64_t>;
  CHECK(run<int64_t>("g (int64[1,1] a, int64[1,1] b, int64[1,1] c) => (int64[1,1] y) "
                     "{ y = Gemm<alpha = 2.0, beta = 0.5>(a, b, c) }",
                     {bytes_of(Longs{4097}), bytes_of(Longs{4097}), bytes_of(Longs{33554434})}) ==
        Longs{2 * 4097 * 4097 + 16777217});
  CHECK(mapped<int64_t>("int64", "", "y = Shrink<lambd = 1.0, bias = 2.0>(x)", {16777219}) ==
        Longs{16777217});
}

TEST_CASE("doubles carry integers that f32 does not have") {
  using Longs = std::vector<int64_t>;
  const Longs x = {16777217, -33554435, 2147483647, 2251799813685247};
  const auto carried = [&](const std::string& rules) {
    return mapped<int64_t>("int64", "double one = {1}, double half = {0.5}, double two = {2}",
                           "d = Cast<to = 11>(x) " + rules + " y = Cast<to = 7>(e)", x);
  };
  for (const char* rules :
       {"e = Identity(d)", "e = Mul(d, one)", "e = Floor(d)", "a = Add(d, half) e = Floor(a)",
        "n = Neg(d) e = Neg(n)", "a = Div(d, two) e = Mul(a, two)", "e = Max(d, d)",
        "e = Concat<axis = 0>(d)", "t = Transpose(d) e = Clip(t)"})
    CHECK(carried(rules) == x);
  const std::vector<double> y = run<double>(
      "g (double[2] a, int64[2] b) => (double[2] y) { c = Cast<to = 11>(b) y = Add(a, c) }",
      {bytes_of(std::vector<double>{0.1, 16777217}), bytes_of(Longs{1, 1})});
  CHECK(y == std::vector<double>{1.1, 16777218});
  // These are constants alone, as exporters compute dims.
  CHECK(run<int64_t>("g (float[1] x) => (int64[1] y) <int64[1] n = {123456789}, double s = {1}> "
                     "{ d = Cast<to = 11>(n) m = Mul(d, s) f = Floor(m) y = Cast<to = 7>(f) }",
                     {bytes_of(std::vector<float>{0})}) == Longs{123456789});
}

}  // namespace codl::test
