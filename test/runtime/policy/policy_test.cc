// Tests the adaptive policy on sessions: which variants it runs, what hints name, and what it does
// if the device fails.
#include "codl/policy.h"

#include <atomic>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "test/runtime/gpu_halves.h"
#include "test/runtime/relu_session.h"
#include "test/support/fake_cl.h"

namespace codl::test {
namespace {

constexpr float kPlannedUs[] = {10, 11, 12, 13, 14, 15, 16};

// Returns variants of the given names; all but "cpu" have GPU steps.
TestPlan plan_of(const std::vector<const char*>& names) {
  TestPlan plan = relu_plan({});
  const TestVariant gpu = plan.variants.front(), cpu = plan.variants.back();
  plan.variants.clear();
  for (size_t i = 0; i < names.size(); ++i) {
    plan.variants.push_back(names[i] == std::string("cpu") ? cpu : gpu);
    plan.variants.back().name = names[i];
    plan.variants.back().predicted_us = kPlannedUs[i];
  }
  return plan;
}

const std::vector<const char*> kManyNames = {"coexec", "gpu50", "gpu8", "gpu",
                                             "busy",   "gpu8x", "cpu"};

codl_session_options_t all_variants() {
  codl_session_options_t options = ReluSession::defaults();
  options.variant_count = CODL_ALL_VARIANTS;
  return options;
}

// Holds a session of all variants with its policy.
class PolicySession {
 public:
  explicit PolicySession(const TestPlan& test_plan,
                         const codl_session_options_t& options = all_variants())
      : plan_(test_plan), session_(plan_, options, &cl.api()) {
    INFO(session_.diag.message);
    REQUIRE(session_.status == CODL_OK);
    REQUIRE(codl_policy_create(session_.get(), &policy_, nullptr) == CODL_OK);
  }
  PolicySession(const PolicySession&) = delete;
  PolicySession& operator=(const PolicySession&) = delete;
  ~PolicySession() { codl_policy_destroy(policy_); }

  codl_status_t run() {
    const codl_buffer_t x = {session_.x.data(), session_.x.size() * sizeof(float)};
    const codl_buffer_t y = {session_.y.data(), session_.y.size() * sizeof(float)};
    return codl_policy_run(policy_, &x, 1, &y, 1, &session_.diag);
  }
  // Returns the variant of a run beside such a load.
  std::string variant_for(codl_load_t load) {
    CHECK(codl_policy_hint(policy_, load) == CODL_OK);
    CHECK(run() == CODL_OK);
    return session_.info().variant;
  }
  ReluSession& session() { return session_; }
  codl_policy_t* policy() { return policy_; }

  FakeCl cl;

 private:
  OpenPlan plan_;
  ReluSession session_;
  codl_policy_t* policy_ = nullptr;
};

TEST_CASE("a policy runs the variants of a session and has an expectation of each that ran") {
  PolicySession all(plan_of(kManyNames));
  for (int i = 0; i < 50; ++i) REQUIRE(all.run() == CODL_OK);
  uint64_t runs = 0;
  codl_variant_state_t state;
  for (size_t i = 0; codl_session_variant(all.session().get(), i, &state) == CODL_OK; ++i) {
    runs += state.run_count;
    CHECK(codl_policy_expected_us(all.policy(), i) > 0);
  }
  CHECK(runs == 50);
}

TEST_CASE("whatever a plan predicts, what a policy expects is finite") {
  TestPlan absurd = plan_of({"a", "b", "cpu"});
  constexpr float kPredictions[] = {1e-45f, 0, 2.9e38f, 1};
  const size_t first = GENERATE(0u, 1u, 2u, 3u);
  for (size_t i = 0; i < 3; ++i) absurd.variants[i].predicted_us = kPredictions[(first + i) % 4];
  PolicySession session(absurd);
  for (int round = 0; round < 100; ++round) {
    REQUIRE(session.run() == CODL_OK);
    for (size_t i = 0; i < 3; ++i)
      REQUIRE(std::isfinite(codl_policy_expected_us(session.policy(), i)));
  }
}

TEST_CASE(
    "hints name variants: the lowest gpuNN, busy, the one to begin with, else one without a GPU") {
  {
    PolicySession all(plan_of(kManyNames));
    CHECK(all.variant_for(CODL_LOAD_INTERACTIVE) == "gpu8");
    CHECK(all.variant_for(CODL_LOAD_BACKGROUND) == "busy");
    CHECK(all.variant_for(CODL_LOAD_IDLE) == "coexec");
    for (int i = 0; i < 20; ++i) CHECK(all.variant_for(CODL_LOAD_INTERACTIVE) == "gpu8");
  }
  {
    PolicySession two(plan_of({"coexec", "cpu"}));
    CHECK(two.variant_for(CODL_LOAD_INTERACTIVE) == "cpu");
    CHECK(two.variant_for(CODL_LOAD_IDLE) == "coexec");
    CHECK(two.variant_for(CODL_LOAD_BACKGROUND) == "cpu");
  }
  {
    PolicySession one(plan_of({"coexec"}));
    CHECK(one.variant_for(CODL_LOAD_INTERACTIVE) == "coexec");
  }
}

TEST_CASE("a policy goes on with the CPU variant where the device is given up") {
  codl_session_options_t options = all_variants();
  options.fallback = CODL_FALLBACK_PER_RUN;
  PolicySession session(plan_of({"coexec", "cpu"}), options);
  REQUIRE(codl_policy_hint(session.policy(), CODL_LOAD_IDLE) == CODL_OK);
  session.cl.clear_calls();
  session.cl.fail_at(3, CL_INVALID_COMMAND_QUEUE, 1 << 20);
  for (int i = 0; i < 5; ++i) REQUIRE(session.run() == CODL_OK);
  CHECK(session.session().info().variant == std::string("cpu"));
  // The runs that the CPU variant finished say nothing of the variant that was asked for.
  CHECK(codl_policy_expected_us(session.policy(), 0) == kPlannedUs[0]);
}

TEST_CASE("other threads hint beside runs") {
  PolicySession all(plan_of(kManyNames));
  std::atomic<bool> is_over{false};
  std::atomic<int> wrong{0};
  std::thread other([&] {
    std::mt19937 random(1);
    while (!is_over) {
      if (codl_policy_hint(all.policy(), static_cast<int32_t>(random() % 4)) != CODL_OK) ++wrong;
      std::this_thread::yield();
    }
  });
  for (int round = 0; round < 300; ++round)
    if (all.run() != CODL_OK) ++wrong;
  is_over = true;
  other.join();
  CHECK(wrong == 0);
}

TEST_CASE("wrong calls of a policy are refused") {
  PolicySession session(plan_of({"coexec", "cpu"}));
  codl_policy_t* policy = session.policy();
  codl_diag_t diag;
  CHECK(codl_policy_create(nullptr, &policy, &diag) == CODL_INVALID_ARGUMENT);
  CHECK(policy == nullptr);
  CHECK(diag.message == std::string("expected a session, found null"));
  CHECK(codl_policy_create(session.session().get(), nullptr, &diag) == CODL_INVALID_ARGUMENT);
  CHECK(codl_policy_run(nullptr, nullptr, 0, nullptr, 0, &diag) == CODL_INVALID_ARGUMENT);
  CHECK(codl_policy_run(session.policy(), nullptr, 0, nullptr, 0, &diag) == CODL_INVALID_ARGUMENT);
  CHECK(codl_policy_hint(nullptr, CODL_LOAD_IDLE) == CODL_INVALID_ARGUMENT);
  for (const int32_t load : {-1, 4, INT32_MAX, INT32_MIN})
    CHECK(codl_policy_hint(session.policy(), load) == CODL_INVALID_ARGUMENT);
  CHECK(codl_policy_expected_us(nullptr, 0) == 0);
  CHECK(codl_policy_expected_us(session.policy(), 2) == 0);
  codl_policy_destroy(nullptr);
}

}  // namespace
}  // namespace codl::test
