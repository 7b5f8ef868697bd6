// Tests NaN in plain loops that the kernels' conformance tests and ONNX's evaluator do not reach.
#include <cmath>

#include "kernels/recurrent/recurrent.h"
#include "kernels/roi_align/roi_align.h"
#include "test/kernels/typed_tensor.h"
#include "test/support/catch.h"

namespace codl::kernels {
namespace {

using test::kInfinity;
using test::kNan;
using test::run_any;
using test::tensor;
using test::TypedTensor;

std::vector<float> floats_of(const TypedTensor& tensor) {
  std::vector<float> floats(tensor.bytes.size() / sizeof(float));
  std::memcpy(floats.data(), tensor.bytes.data(), tensor.bytes.size());
  return floats;
}

TEST_CASE("clip of a recurrent operator keeps a NaN and limits infinities") {
  RecurrentParams params = {};
  params.kind = kRecurrentRnn;
  params.clip = 2.0f;
  params.activation_0 = kUnaryIdentity;
  const auto last_of = [&](float x) {
    const TypedTensor like = tensor<float>({3, 1, 1, 1}, {0, 0, 0});
    const TypedTensor one = tensor<float>({1, 1, 1}, {1});
    const std::vector<float> y = floats_of(
        run_any(OpKind::Recurrent, &params, {tensor<float>({1, 1, 1}, {x}), one, one}, like));
    REQUIRE(y.size() == 3);
    return y[1];
  };
  CHECK(std::isnan(last_of(kNan)));
  CHECK(last_of(kInfinity) == 2.0f);
  CHECK(last_of(-kInfinity) == -2.0f);
  CHECK(last_of(-3.0f) == -2.0f);
  CHECK(last_of(1.5f) == 1.5f);
}

TEST_CASE("a maximum of RoiAlign with a NaN is one, wherever it stands") {
  RoiAlignParams params = {};
  params.output_h = params.output_w = 1;
  params.sampling_ratio = 2;
  params.is_max = 1;
  params.is_half_pixel = 1;
  params.spatial_scale = 1.0f;
  for (size_t place = 0; place < 9; ++place) {
    TypedTensor x = tensor<float>({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
    std::memcpy(&x.bytes[place * sizeof(float)], &kNan, sizeof(float));
    const std::vector<float> y =
        floats_of(run_any(OpKind::RoiAlign, &params,
                          {x, tensor<float>({1, 4}, {0, 0, 3, 3}), tensor<int64_t>({1}, {0})},
                          tensor<float>({1, 1, 1, 1}, {0})));
    REQUIRE(y.size() == 1);
    INFO("place " << place);
    CHECK(std::isnan(y[0]));
  }
}

}  // namespace
}  // namespace codl::kernels
