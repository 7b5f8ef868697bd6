// Implements the C API of the adaptive policy.
#include "codl/policy.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>

#include "runtime/policy/variant_chooser.h"

struct codl_policy {
  codl_session_t* session = nullptr;
  codl::policy::VariantChooser chooser;
  size_t variant_count = 0;
  size_t first = 0;  // the variant that the session began with
  size_t next = 0;   // the variant of the next run unless there is a hint
  std::atomic<int32_t> load{CODL_LOAD_UNKNOWN};
};

namespace codl::policy {
namespace {

codl_status_t refuse_null(const char* what, codl_diag_t* diag) {
  if (diag != nullptr)
    std::snprintf(diag->message, sizeof(diag->message), "expected %s, found null", what);
  return CODL_INVALID_ARGUMENT;
}

codl_variant_state_t state_of(const codl_session_t* session, size_t index) {
  codl_variant_state_t state = {};
  if (codl_session_variant(session, index, &state) != CODL_OK) state = {};
  return state;
}

// Returns the NN of "gpuNN"; 0 for another name.
uint32_t gpu_percent_of(const char* name) {
  uint32_t percent = 0;
  if (std::strncmp(name, "gpu", 3) != 0) return 0;
  for (name += 3; *name >= '0' && *name <= '9' && percent < 100; ++name)
    percent = percent * 10 + static_cast<uint32_t>(*name - '0');
  return *name == 0 ? percent : 0;
}

// Returns the variant that a hint names; without a hint, or if no variant suits it, the chosen one.
size_t variant_for(const codl_policy& policy, int32_t load) {
  if (load == CODL_LOAD_UNKNOWN) return policy.next;
  if (load == CODL_LOAD_IDLE) return policy.first;
  size_t found = SIZE_MAX, without_gpu = policy.next;
  uint32_t least_percent = UINT32_MAX;
  for (size_t i = policy.variant_count; i-- > 0;) {
    const codl_variant_state_t state = state_of(policy.session, i);
    if (state.needs_gpu == 0) without_gpu = i;
    if (load == CODL_LOAD_BACKGROUND && std::strcmp(state.name, "busy") == 0) found = i;
    const uint32_t percent = load == CODL_LOAD_INTERACTIVE ? gpu_percent_of(state.name) : 0;
    if (percent == 0 || percent > least_percent) continue;
    least_percent = percent;
    found = i;
  }
  return found != SIZE_MAX ? found : without_gpu;
}

int64_t now_ns() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace
}  // namespace codl::policy

codl_status_t codl_policy_create(codl_session_t* session, codl_policy_t** out_policy,
                                 codl_diag_t* diag) {
  if (diag != nullptr) diag->message[0] = 0;
  if (out_policy == nullptr) return codl::policy::refuse_null("out_policy", diag);
  *out_policy = nullptr;
  if (session == nullptr) return codl::policy::refuse_null("a session", diag);
  codl_session_info_t info = {};
  info.struct_size = sizeof(info);
  const codl_status_t status = codl_session_get_info(session, &info);
  if (status != CODL_OK) return status;
  if (info.entry_count > 1) {
    // Times of runs at other shapes would look like load.
    if (diag != nullptr)
      std::snprintf(diag->message, sizeof(diag->message),
                    "policy: expected a session of a plan of one input shape, found %zu",
                    info.entry_count);
    return CODL_INVALID_ARGUMENT;
  }
  void* memory = std::malloc(sizeof(codl_policy));
  codl_policy* policy = memory != nullptr ? new (memory) codl_policy() : nullptr;
  if (policy == nullptr || !policy->chooser.create(info.variant_count)) {
    codl_policy_destroy(policy);
    if (diag != nullptr)
      std::snprintf(diag->message, sizeof(diag->message), "no memory for a policy of %zu variants",
                    info.variant_count);
    return CODL_OUT_OF_MEMORY;
  }
  policy->session = session;
  policy->variant_count = info.variant_count;
  for (size_t i = 0; i < info.variant_count; ++i) {
    const codl_variant_state_t state = codl::policy::state_of(session, i);
    policy->chooser.predict(i, state.predicted_us);
    if (std::strcmp(state.name, info.variant) == 0) policy->first = policy->next = i;
  }
  *out_policy = policy;
  return CODL_OK;
}

void codl_policy_destroy(codl_policy_t* policy) {
  if (policy == nullptr) return;
  policy->~codl_policy();
  std::free(policy);
}

codl_status_t codl_policy_run(codl_policy_t* policy, const codl_buffer_t* inputs,
                              size_t input_count, const codl_buffer_t* outputs, size_t output_count,
                              codl_diag_t* diag) {
  if (policy == nullptr) return codl::policy::refuse_null("a policy", diag);
  const size_t used = codl::policy::variant_for(*policy, policy->load);
  const codl_variant_state_t before = codl::policy::state_of(policy->session, used);
  // A session that has given up its device takes no variant, and runs the one that is left.
  const bool is_set = codl_session_set_variant(policy->session, before.name, nullptr) == CODL_OK;
  const int64_t start_ns = codl::policy::now_ns();
  const codl_status_t status =
      codl_session_run(policy->session, inputs, input_count, outputs, output_count, diag);
  const int64_t run_ns = codl::policy::now_ns() - start_ns;
  const codl_variant_state_t after = codl::policy::state_of(policy->session, used);
  // If the device failed, another variant finished the run and its time says nothing.
  if (is_set && after.run_count != before.run_count)
    policy->next = policy->chooser.next(used, {static_cast<float>(run_ns) / 1000, after.cpu_us});
  return status;
}

codl_status_t codl_policy_hint(codl_policy_t* policy, int32_t load) {
  if (policy == nullptr || load < CODL_LOAD_UNKNOWN || load > CODL_LOAD_BACKGROUND)
    return CODL_INVALID_ARGUMENT;
  policy->load = load;
  return CODL_OK;
}

float codl_policy_expected_us(const codl_policy_t* policy, size_t index) {
  return policy != nullptr && index < policy->variant_count ? policy->chooser.expected_us(index)
                                                            : 0;
}
