#include "runtime/tools/adaptation.h"

#include <chrono>

#include "runtime/tools/statistics.h"
#include "tools/messages.h"
#include "tools/printable.h"

namespace codl::tools {
namespace {

// Calls of codl_session_set_variant that are timed together.
constexpr int32_t kTimedSwitches = 1000;

}  // namespace

Adaptation adaptation_of(Session& session, const Policy& policy, const std::vector<Run>& runs) {
  Adaptation adaptation;
  for (size_t i = 1; i < runs.size(); ++i)
    adaptation.switch_count += runs[i].variant != runs[i - 1].variant ? 1 : 0;
  for (size_t i = 0; i < session.info().variant_count; ++i) {
    const codl_variant_state_t state = session.variant(i);
    const auto expected_us = static_cast<double>(codl_policy_expected_us(policy.get(), i));
    const auto predicted_us = static_cast<double>(state.predicted_us);
    adaptation.variants.push_back(
        {state, expected_us, predicted_us > 0 ? expected_us / predicted_us : 0});
  }
  const size_t count = adaptation.variants.size();
  const auto start = std::chrono::steady_clock::now();
  for (size_t i = 0; i < kTimedSwitches; ++i)
    if (!session.set_variant(adaptation.variants[i % count].state.name).ok()) break;
  const std::chrono::duration<double, std::micro> all_us = std::chrono::steady_clock::now() - start;
  adaptation.switch_us = all_us.count() / kTimedSwitches;
  return adaptation;
}

std::string adaptation_text(const Adaptation& adaptation) {
  std::string text = formatted("variants, %lld switches\n  %-12s %8s %12s %12s %9s\n",
                               static_cast<long long>(adaptation.switch_count), "variant", "runs",
                               "predicted ms", "expected ms", "slowdown");
  for (const Adaptation::Variant& variant : adaptation.variants)
    text += formatted("  %-12s %8llu %12.3f %12.3f %9.2f\n", printable(variant.state.name).c_str(),
                      static_cast<unsigned long long>(variant.state.run_count),
                      ms_of(static_cast<double>(variant.state.predicted_us)),
                      ms_of(variant.expected_us), variant.slowdown);
  return text + formatted("  %.6f ms to switch, of %d switches\n", ms_of(adaptation.switch_us),
                          kTimedSwitches);
}

void write_adaptation(JsonWriter& json, const Adaptation& adaptation) {
  json.key("switch_count").integer(adaptation.switch_count);
  json.key("switch_us").number(adaptation.switch_us);
  json.key("variants").begin_array();
  for (const Adaptation::Variant& variant : adaptation.variants) {
    json.begin_object();
    json.key("variant").string(variant.state.name);
    json.key("run_count").integer(static_cast<int64_t>(variant.state.run_count));
    json.key("predicted_us").number(static_cast<double>(variant.state.predicted_us));
    json.key("expected_us").number(variant.expected_us);
    json.key("slowdown").number(variant.slowdown);
    json.end_object();
  }
  json.end_array();
}

void write_runs(JsonWriter& json, const std::vector<Run>& runs) {
  json.key("runs").begin_array();
  for (const Run& run : runs) {
    json.begin_object();
    json.key("variant").string(run.variant);
    json.key("start_ns").integer(run.start_ns);
    json.key("us").number(run.us);
    json.end_object();
  }
  json.end_array();
}

}  // namespace codl::tools
