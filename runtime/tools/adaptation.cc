#include "runtime/tools/adaptation.h"

#include <chrono>

#include "tools/messages.h"
#include "tools/printable.h"

namespace codl::tools {
namespace {

// Calls of codl_session_set_variant that are timed together.
constexpr int32_t kTimedSwitches = 1000;

}  // namespace

Adaptation adaptation_of(Session& session) {
  const codl_session_info_t info = session.info();
  Adaptation adaptation;
  adaptation.switch_count = info.switch_count;
  adaptation.switch_reason = info.switch_reason;
  for (size_t i = 0; i < info.variant_count; ++i) adaptation.variants.push_back(session.variant(i));
  const size_t count = adaptation.variants.size();
  const auto start = std::chrono::steady_clock::now();
  for (size_t i = 0; i < kTimedSwitches; ++i)
    if (!session.set_variant(adaptation.variants[i % count].name).ok()) break;
  const std::chrono::duration<double, std::micro> all_us = std::chrono::steady_clock::now() - start;
  adaptation.switch_us = all_us.count() / kTimedSwitches;
  return adaptation;
}

std::string adaptation_text(const Adaptation& adaptation) {
  std::string text = formatted("variants, %llu switches",
                               static_cast<unsigned long long>(adaptation.switch_count));
  if (!adaptation.switch_reason.empty())
    text += formatted(", the last because %s", adaptation.switch_reason.c_str());
  text += formatted("\n  %-12s %8s %12s %12s %9s\n", "variant", "runs", "predicted us",
                    "expected us", "slowdown");
  for (const codl_variant_state_t& variant : adaptation.variants)
    text +=
        formatted("  %-12s %8llu %12.1f %12.1f %9.2f\n", printable(variant.name).c_str(),
                  static_cast<unsigned long long>(variant.run_count),
                  static_cast<double>(variant.predicted_us),
                  static_cast<double>(variant.expected_us), static_cast<double>(variant.slowdown));
  return text +
         formatted("  %.3f us to switch, of %d switches\n", adaptation.switch_us, kTimedSwitches);
}

void write_adaptation(JsonWriter& json, const Adaptation& adaptation) {
  json.key("switch_count").integer(static_cast<int64_t>(adaptation.switch_count));
  json.key("switch_reason").string(adaptation.switch_reason);
  json.key("switch_us").number(adaptation.switch_us);
  json.key("variants").begin_array();
  for (const codl_variant_state_t& variant : adaptation.variants) {
    json.begin_object();
    json.key("variant").string(variant.name);
    json.key("run_count").integer(static_cast<int64_t>(variant.run_count));
    json.key("predicted_us").number(static_cast<double>(variant.predicted_us));
    json.key("expected_us").number(static_cast<double>(variant.expected_us));
    json.key("slowdown").number(static_cast<double>(variant.slowdown));
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
