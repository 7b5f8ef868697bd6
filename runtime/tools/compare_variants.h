// Times all variants of a plan beside each other, and says what to make of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/tools/plan_tool.h"
#include "runtime/tools/statistics.h"

namespace codl::tools {

struct VariantTimes {
  SessionFacts session;
  double predicted_us = 0;
  std::vector<double> rounds_us;  // the median of each round
  double median_us = 0;           // median of the rounds
  Latencies runs;                 // runs of all rounds
  std::string schedule;  // its steps as text where another variant is predicted to take as long
};

struct Comparison {
  std::vector<VariantTimes> variants;  // in the plan's order; those that ran
  std::vector<std::string> missing;    // "coexec: why" of those that did not
  int32_t run_count = 0;               // runs of a variant in a round
};

struct CompareOptions {
  int32_t rounds = 5;
  int32_t runs = 20;  // runs of a variant in a round
  int32_t warmup_runs = 5;
};

// Opens one session for each variant, all at once. In each round every variant runs in turn, and
// the order is reversed from round to round, so that interference on the machine meets all of them.
Comparison compare_variants(const Plan& plan, const PlanFlags& flags, const CompareOptions& options,
                            const std::vector<codl_buffer_t>& inputs,
                            const std::vector<codl_buffer_t>& outputs);

// The variant that is predicted to be the fastest, and the one that is: another than that, of the
// least median, only where is_faster() says so.
size_t predicted_fastest_variant(const Comparison& comparison);
size_t fastest_variant(const Comparison& comparison);

// True if the rounds, two or more, show it: the schedules differ, `x` took less in every round, and
// by more than rounds of one of the two lie apart.
bool is_faster(const VariantTimes& x, const VariantTimes& y);

// Returns the greatest spread of any variant's rounds: greatest over least median.
double round_spread(const Comparison& comparison);

// A line where the median of `run_count` runs is more than twice or less than half of what was
// predicted, with all possible reasons; else empty. Times do not tell a load that is steady.
std::string prediction_note(const SessionFacts& session, double predicted_us, double median_us,
                            int64_t run_count);

// Returns advice where the fastest variant is not the predicted one, rounds lie far apart, or
// predictions are far off. A line each; none where all is well.
std::vector<std::string> advice_on(const Comparison& comparison, const PlanFlags& flags);

// A table with a line a variant, what the fastest is and by how much, and the advice.
std::string comparison_text(const Comparison& comparison, const PlanFlags& flags);

}  // namespace codl::tools
