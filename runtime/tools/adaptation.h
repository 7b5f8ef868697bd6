// Describes runs of a session that moves among its variants.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codl/codl.hpp"
#include "runtime/tools/plan_tool.h"
#include "tools/json_writer.h"

namespace codl::tools {

struct Run {
  std::string variant;
  int64_t start_ns;  // on the host's monotonic clock
  double us;
};

// Describes the choices that a session with --adaptive made.
struct Adaptation {
  struct Variant {
    codl_variant_state_t state;
    double expected_us;  // codl_policy_expected_us
    double slowdown;     // expected over predicted; 0: one of them is not known
  };
  std::vector<Variant> variants;
  int64_t switch_count = 0;  // timed runs on another variant than the timed run before
  double switch_us = 0;      // codl_session_set_variant
};

// Switches the session to and fro, and leaves it with any variant.
Adaptation adaptation_of(Session& session, const Policy& policy, const std::vector<Run>& runs);

// Returns a table with a line for each variant.
std::string adaptation_text(const Adaptation& adaptation);

// Writes keys "switch_count", "switch_us" and "variants" of the open object.
void write_adaptation(JsonWriter& json, const Adaptation& adaptation);

// Writes key "runs" of the open object.
void write_runs(JsonWriter& json, const std::vector<Run>& runs);

}  // namespace codl::tools
