// Sessions keep states from run to run.
#include "runtime/src/states.h"

#include "runtime/src/session.h"
#include "test/runtime/relu_session.h"
#include "test/support/catch.h"
#include "test/support/fake_cl.h"

namespace codl::test {
namespace {

// A relu whose output is its input of the next run, beside one whose input and output are the
// application's.
TestPlan state_plan(TestPlan plan = relu_cpu_plan({1, 3, 2, 2}, 1)) {
  const TestIo x = plan.inputs[0], y = plan.outputs[0];
  plan.inputs.insert(plan.inputs.begin(), x);
  plan.outputs.push_back(y);
  plan.inputs[0].name = "h0";
  plan.outputs[1].name = "hn";
  plan.states = {{.input = 0, .output = 1}};
  for (TestVariant& variant : plan.variants) {
    variant.needs = {static_cast<uint16_t>(Need::States)};
    // A second relu like the first, in a memory of its own.
    for (TestTensor& tensor : variant.tensors)
      if (tensor.storage == Storage::Input) tensor.index = 1;
    const auto tensors = static_cast<uint32_t>(variant.tensors.size());
    const auto steps = static_cast<uint32_t>(variant.steps.size());
    const uint64_t host = round_up(variant.host_bytes, kBlobAlignment);
    const uint64_t shared = round_up(variant.shared_bytes, kBlobAlignment);
    for (uint32_t i = 0; i < tensors; ++i) {
      TestTensor tensor = variant.tensors[i];
      if (tensor.storage == Storage::Input || tensor.storage == Storage::Output)
        tensor.index = 1 - tensor.index;
      if (tensor.storage == Storage::Host) tensor.offset_bytes += host;
      if (tensor.storage == Storage::Shared) tensor.offset_bytes += shared;
      variant.tensors.push_back(tensor);
    }
    variant.host_bytes += host;
    variant.shared_bytes += shared;
    for (uint32_t i = 0; i < steps; ++i) {
      TestStep step = variant.steps[i];
      for (uint32_t& operand : step.operands) operand += tensors;
      for (uint32_t& wait : step.waits) wait += steps;
      variant.steps.push_back(step);
    }
  }
  return plan;
}

using Values = std::vector<float>;

Values state_of(codl_session_t* session) {
  Values values(12);
  codl_diag_t diag;
  CHECK(codl_session_read_state(session, 0, values.data(), 48, &diag) == CODL_OK);
  return values;
}

const Values kBefore = {-1, 2, -3, 4, 5, -6, 7, -8, 9, -10, 11, -12};
const Values kAfter = {0, 2, 0, 4, 5, 0, 7, 0, 9, 0, 11, 0};
const Values kZeros(12);

struct StateSession : ReluSession {
  using ReluSession::ReluSession;
  codl_status_t write(const Values& values) {
    return codl_session_write_state(get(), 0, values.data(), values.size() * 4, &diag);
  }
};

}  // namespace

TEST_CASE("a state is zero at first, and then what a run has made of it") {
  const OpenPlan plan(state_plan());
  StateSession session(plan, ReluSession::defaults());
  INFO(session.diag.message);
  REQUIRE(session.status == CODL_OK);
  CHECK(state_of(session.get()) == kZeros);
  REQUIRE(session.write(kBefore) == CODL_OK);
  CHECK(state_of(session.get()) == kBefore);
  for (int round = 1; round <= 3; ++round) {
    REQUIRE(session.run(round) == CODL_OK);
    CHECK(session.is_right());
    CHECK(state_of(session.get()) == kAfter);
  }
  codl_diag_t diag;
  CHECK(codl_session_reset_states(session.get(), &diag) == CODL_OK);
  CHECK(state_of(session.get()) == kZeros);
  CHECK(session.info().state_bytes >= 2 * 48);
  // Another session has its own.
  StateSession other(plan, ReluSession::defaults());
  REQUIRE(session.write(kBefore) == CODL_OK);
  CHECK(state_of(other.get()) == kZeros);
}

TEST_CASE("the application has neither side of a state") {
  const OpenPlan plan(state_plan());
  CHECK(codl_plan_input_count(plan.get()) == 1);
  CHECK(codl_plan_output_count(plan.get()) == 1);
  REQUIRE(codl_plan_state_count(plan.get()) == 1);
  codl_tensor_info_t info;
  REQUIRE(codl_plan_input(plan.get(), 0, &info) == CODL_OK);
  CHECK(info.name == std::string("x"));
  REQUIRE(codl_plan_output(plan.get(), 0, &info) == CODL_OK);
  CHECK(info.name == std::string("y"));
  REQUIRE(codl_plan_state(plan.get(), 0, &info) == CODL_OK);
  CHECK(info.name == std::string("h0"));
  CHECK(info.bytes == 48);
  CHECK(codl_plan_input(plan.get(), 1, &info) == CODL_INVALID_ARGUMENT);
  CHECK(codl_plan_state(plan.get(), 1, &info) == CODL_INVALID_ARGUMENT);

  StateSession session(plan, ReluSession::defaults());
  float numbers[24] = {};
  const codl_buffer_t both[] = {{numbers, 48}, {numbers + 12, 48}};
  codl_diag_t diag;
  CHECK(codl_session_run(session.get(), both, 2, both + 1, 1, &diag) == CODL_INVALID_ARGUMENT);
  CHECK(diag.message == std::string("inputs: expected 1, found 2"));
  CHECK(codl_session_run(session.get(), both, 1, both, 1, &diag) == CODL_INVALID_ARGUMENT);
  CHECK(diag.message == std::string("output y: expected memory of its own, found some of x"));
  const codl_buffer_t small = {numbers, 44};
  CHECK(codl_session_run(session.get(), &small, 1, both + 1, 1, &diag) == CODL_INVALID_ARGUMENT);
  CHECK(diag.message == std::string("input x: expected 48 bytes, found 44"));
  CHECK(codl_session_read_state(session.get(), 1, numbers, 48, &diag) == CODL_INVALID_ARGUMENT);
  CHECK(diag.message == std::string("state: expected one below 1, found 1"));
  CHECK(codl_session_write_state(session.get(), 0, numbers, 44, &diag) == CODL_INVALID_ARGUMENT);
  CHECK(diag.message == std::string("state 0: expected 48 bytes, found 44"));
}

TEST_CASE(
    "a run that fails leaves states as they were; one that is finished elsewhere moves them") {
  const OpenPlan plan(
      state_plan(relu_plan({.half = GpuHalf::FineSvm, .dims = {1, 3, 2, 2}, .cut_row = 1})));
  for (const int32_t fallback : {CODL_FALLBACK_NEVER, CODL_FALLBACK_PER_RUN}) {
    FakeCl fake;
    codl_session_options_t options = ReluSession::defaults();
    options.fallback = fallback;
    StateSession session(plan, options, &fake.api());
    INFO(session.diag.message);
    REQUIRE(session.status == CODL_OK);
    REQUIRE(session.write(kBefore) == CODL_OK);
    fake.clear_calls();
    fake.fail_at(0, CL_OUT_OF_RESOURCES);
    const codl_status_t status = session.run();
    fake.fail_at(-1, 0);
    CHECK(status == (fallback == CODL_FALLBACK_NEVER ? CODL_DEVICE_ERROR : CODL_OK));
    CHECK(state_of(session.get()) == (fallback == CODL_FALLBACK_NEVER ? kBefore : kAfter));
    CHECK(session.run() == CODL_OK);
  }
}

TEST_CASE("states are refused while another thread runs the session") {
  const OpenPlan plan(state_plan());
  StateSession session(plan, ReluSession::defaults());
  codl_diag_t diag;
  float numbers[12];
  const rt::RunScope run(*session.get());
  CHECK(codl_session_read_state(session.get(), 0, numbers, 48, &diag) == CODL_INVALID_ARGUMENT);
  CHECK(diag.message ==
        std::string("session: expected one run at a time, found another thread in a run"));
  CHECK(codl_session_write_state(session.get(), 0, numbers, 48, &diag) == CODL_INVALID_ARGUMENT);
  CHECK(codl_session_reset_states(session.get(), &diag) == CODL_INVALID_ARGUMENT);
}

}  // namespace codl::test
