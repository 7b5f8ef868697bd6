// Tests the session's seed: which random numbers a network has in a run.
#include "codl/codl.h"
#include "compiler/pipeline.h"
#include "test/support/catch.h"
#include "test/support/expected.h"
#include "test/support/onnx_text.h"

namespace codl::compiler {
namespace {

// The noise is added behind a convolution, as in networks that make speech. Nodes with an own seed
// and random numbers that no input has the dims of are there, too.
constexpr const char* kNoiseNetwork =
    "noisy (float[1,8,1,64] x) => (float[1,8,1,64] y, float[1,8,1,64] own, float[3] apart)"
    "<float[8,8,1,1] w, float half = {0.5}>{"
    "m = Conv(x, w) n = RandomNormalLike(m) e = Exp(m) p = Mul(n, e) q = Mul(p, half)"
    "y = Add(m, q) own = RandomUniformLike<seed = 3.0>(x) apart = RandomNormal<shape = [3]>()}";
constexpr size_t kNoiseFloats = 8 * 64;

struct NoiseOutputs {
  std::vector<float> y = std::vector<float>(kNoiseFloats);
  std::vector<float> own = std::vector<float>(kNoiseFloats);
  std::vector<float> apart = std::vector<float>(3);
  friend bool operator==(const NoiseOutputs&, const NoiseOutputs&) = default;
};

// Runs twice in one session; both runs must give the same.
NoiseOutputs run(const std::vector<uint8_t>& bytes, const char* variant, uint64_t seed,
                 int32_t threads) {
  codl_diag_t diag = {};
  codl_plan_t* plan = nullptr;
  REQUIRE(codl_plan_open(bytes.data(), bytes.size(), nullptr, &plan, &diag) == CODL_OK);
  codl_session_options_t options{};
  options.struct_size = sizeof(options);
  options.variant = variant;
  options.thread_count = threads;
  options.seed = seed;
  codl_session_t* session = nullptr;
  const codl_status_t created = codl_session_create(plan, &options, &session, &diag);
  INFO(diag.message);
  REQUIRE(created == CODL_OK);
  std::vector<float> input(kNoiseFloats, 0.25f);
  const codl_buffer_t in{input.data(), input.size() * sizeof(float)};
  NoiseOutputs results[2];
  for (NoiseOutputs& result : results) {
    const codl_buffer_t out[] = {{result.y.data(), result.y.size() * sizeof(float)},
                                 {result.own.data(), result.own.size() * sizeof(float)},
                                 {result.apart.data(), result.apart.size() * sizeof(float)}};
    REQUIRE(codl_session_run(session, &in, 1, out, 3, &diag) == CODL_OK);
  }
  codl_session_destroy(session);
  codl_plan_close(plan);
  CHECK(results[0] == results[1]);
  return results[0];
}

}  // namespace

TEST_CASE("the session's seed decides the random numbers, in every variant alike") {
  const DeviceProfile profile = test::value_of(load_device_profile("host"));
  CompileOptions options;
  options.variants = {{VariantRequest::Kind::Coexec, "coexec"}, {VariantRequest::Kind::Cpu, "cpu"}};
  const CompileResult result =
      test::value_of(compile(test::onnx_model(kNoiseNetwork), "noisy", profile, options));
  const std::vector<uint8_t> plan(result.plan.begin(), result.plan.end());
  const NoiseOutputs first = run(plan, "cpu", 0, 1);
  CHECK(run(plan, "cpu", 0, 2) == first);
  CHECK(run(plan, nullptr, 0, 2) == first);
  const NoiseOutputs other = run(plan, "cpu", 5, 1);
  CHECK(run(plan, nullptr, 5, 2) == other);
  CHECK(other.y != first.y);
  CHECK(other.apart != first.apart);
  CHECK(other.own == first.own);
  CHECK(run(plan, "cpu", uint64_t{1} << 40, 1).y != first.y);
}

}  // namespace codl::compiler
