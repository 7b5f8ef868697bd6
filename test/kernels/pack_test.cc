// Tests that packed halves are the packed floats, each rounded to the nearest half.
#include "kernels/pack.h"

#include <cmath>
#include <random>
#include <vector>

#include "schema/half.h"
#include "test/support/catch.h"

namespace codl::kernels {
namespace {

struct PackCase {
  PackingKind kind;
  std::vector<int32_t> dims;
  int32_t groups = 1;
};

template <typename Element>
std::vector<Element> packed(const PackCase& item, DType dtype, const std::vector<float>& source) {
  const Packing packing = {item.kind, dtype};
  const auto rank = static_cast<int32_t>(item.dims.size());
  std::vector<Element> elements(packed_bytes(packing, item.dims.data(), rank, item.groups) /
                                sizeof(Element));
  pack(packing, item.dims.data(), rank, item.groups, source.data(), elements.data());
  return elements;
}

TEST_CASE("packed halves are the packed floats, rounded to the nearest even") {
  const PackCase item = GENERATE(
      PackCase{PackingKind::Bias, {21}}, PackCase{PackingKind::ConvPanels, {20, 3, 3, 2}},
      PackCase{PackingKind::ConvPanels, {40, 4, 1, 3}, 2},
      PackCase{PackingKind::Depthwise, {19, 1, 3, 3}}, PackCase{PackingKind::MatMulPanels, {7, 35}},
      PackCase{PackingKind::RecurrentPanels, {2, 18, 5}});
  size_t count = 1;
  for (const int32_t dim : item.dims) count *= static_cast<size_t>(dim);
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> source(count);
  for (float& value : source) value = normal(random);
  // Values halfway between two halves, below the normal ones, and beyond the largest.
  const float edges[] = {1 + 0x1p-11f, 1 + 0x3p-11f, 0x3p-25f, -0.0f, 65519, 65520, -70000};
  std::copy(std::begin(edges), std::end(edges), source.begin());
  const auto floats = packed<float>(item, DType::F32, source);
  const auto halves = packed<Half>(item, DType::F16, source);
  REQUIRE(halves.size() == floats.size());
  for (size_t i = 0; i < floats.size(); ++i)
    if (halves[i].bits != half_of(static_cast<double>(floats[i])))
      FAIL_CHECK("element " << i << " of " << floats[i]);
}

// The transforms of filters are computed in double: a half may be another than that of the float.
TEST_CASE("transformed filters are rounded to halves once") {
  for (const PackingKind kind : {PackingKind::Winograd2, PackingKind::Winograd4}) {
    const PackCase item = {kind, {20, 5, 3, 3}};
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    std::vector<float> source(20 * 5 * 9);
    for (float& value : source) value = normal(random);
    const auto floats = packed<float>(item, DType::F32, source);
    const auto halves = packed<Half>(item, DType::F16, source);
    REQUIRE(halves.size() == floats.size());
    for (size_t i = 0; i < floats.size(); ++i) {
      const float half = float_of_half(halves[i].bits);
      if (std::fabs(half - floats[i]) > 0x1.001p-11f * std::fabs(floats[i]) + 0x1p-25f)
        FAIL_CHECK("element " << i << ": " << half << " of " << floats[i]);
    }
  }
}

}  // namespace
}  // namespace codl::kernels
