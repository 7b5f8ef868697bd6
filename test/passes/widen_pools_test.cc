#include "compiler/ops/op_spec.h"
#include "test/passes/pass_text.h"

namespace codl::test {
namespace {

const compiler::Pass kWidenPools[] = {{"widen_pools", compiler::widen_pools}};

// Returns a map of 16 channels, pooled, and padded by `pads` with `value`; `more` has further
// nodes.
std::string padded_pool(const std::string& pads, const std::string& value = "0",
                        const std::string& more = "") {
  return "g (float[1,16,4,4] x) => (float[1,c,h,w] y) <int64[8] pads = {" + pads +
         "}, float value = {" + value +
         "}> { t = Tanh(x) m = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(t) p = Pad(m, "
         "pads, value) " +
         more + " }";
}

bool has_pad(const std::string& onnx) {
  return after(onnx, kWidenPools).find(" = Pad(") != std::string::npos;
}

}  // namespace

TEST_CASE("a pooling writes the channels that a Pad behind it adds") {
  const std::string text =
      after(padded_pool("0, 0, 0, 0, 0, 32, 0, 0", "0", "y = Neg(p)"), kWidenPools);
  CHECK(text.find(" = Pad(") == std::string::npos);
  CHECK(text.find("%p m = Pool2d(%t) {kind=Max, kernel_h=2, kernel_w=2, stride_h=2, stride_w=2, "
                  "dilation_h=1, dilation_w=1} : f32[1,48,2,2]\n") != std::string::npos);
}

TEST_CASE("a Pad of something else than channels behind the last stays") {
  CHECK_FALSE(has_pad(padded_pool("0, 0, 0, 0, 0, 16, 0, 0", "0", "y = Neg(p)")));
  CHECK(has_pad(padded_pool("0, 16, 0, 0, 0, 16, 0, 0", "0", "y = Neg(p)")));
  CHECK(has_pad(padded_pool("0, 0, 0, 1, 0, 16, 0, 0", "0", "y = Neg(p)")));
  CHECK(has_pad(padded_pool("0, 0, 0, 0, 0, 16, 0, 0", "1", "y = Neg(p)")));
  // Half a panel.
  CHECK(has_pad(padded_pool("0, 0, 0, 0, 0, 8, 0, 0", "0", "y = Neg(p)")));
  // Somebody else reads the map.
  CHECK(has_pad(padded_pool("0, 0, 0, 0, 0, 16, 0, 0", "0",
                            "s = Neg(p) o = Pad(m, pads) y = "
                            "Add(s, o)")));
}

}  // namespace codl::test
