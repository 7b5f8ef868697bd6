#include "runtime/tools/compare_variants.h"

#include <algorithm>

#include "test/support/catch.h"

namespace codl::tools {
namespace {

VariantTimes variant(const char* name, double predicted_us, std::vector<double> rounds_us) {
  VariantTimes times;
  times.session.variant = name;
  times.session.plan_device = "sd855";
  times.predicted_us = predicted_us;
  times.median_us = latencies_of(rounds_us).median_us;
  times.runs = latencies_of(rounds_us);
  times.rounds_us = std::move(rounds_us);
  return times;
}

Comparison comparison(std::vector<VariantTimes> variants) {
  Comparison made;
  made.variants = std::move(variants);
  made.run_count = 20;
  return made;
}

std::string text_of(const Comparison& made) { return comparison_text(made, PlanFlags()); }

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST_CASE("a variant is faster by more than its rounds lie apart, and in every round") {
  const auto x = variant("x", 100, {100, 101, 102});
  CHECK(is_faster(x, variant("y", 100, {110, 111, 112})));
  // The first is 101/100 of rounds that differ by up to 1.05, the second is slower in a round.
  CHECK_FALSE(is_faster(x, variant("y", 100, {101, 102, 106})));
  CHECK_FALSE(is_faster(x, variant("y", 100, {140, 141, 101})));
  CHECK_FALSE(is_faster(variant("x", 100, {100}), variant("y", 100, {200})));
}

TEST_CASE("two equal schedules are not called faster than each other") {
  Comparison made =
      comparison({variant("coexec", 100, {124, 124, 124}), variant("cpu", 100, {100, 100, 100})});
  CHECK(fastest_variant(made) == 1);
  CHECK(has(text_of(made), "cpu is 1.24 times as fast as coexec (1.24 to 1.24 over the rounds)"));
  for (VariantTimes& times : made.variants) times.schedule = "0 conv2d_f32_cpu 100 conv1\n";
  CHECK(fastest_variant(made) == 0);  // as was predicted
  const std::string text = text_of(made);
  CHECK_FALSE(has(text, "as fast as"));
  CHECK(has(text, "coexec and cpu are the same schedule"));
  CHECK_FALSE(has(text, "--variant=cpu"));
}

TEST_CASE("what lies within the rounds' spread is no difference") {
  const Comparison made =
      comparison({variant("coexec", 90, {100, 120, 140}), variant("cpu", 100, {95, 118, 135})});
  CHECK(fastest_variant(made) == 0);
  const std::string text = text_of(made);
  CHECK_FALSE(has(text, "as fast as"));
  // 95/100, 118/120 and 135/140: all rounds agree.
  CHECK(has(text,
            "cpu was faster than coexec in all rounds, by no more than rounds of one variant "
            "differ: cpu took 0.95 to 0.98 times as long as coexec\n"));
  CHECK_FALSE(has(text, "use --variant=cpu"));
  CHECK(has(text_of(comparison({variant("x", 90, {100, 120}), variant("y", 100, {110, 130})})),
            "x was faster than y in all rounds, by no more than rounds of one variant differ: y "
            "took 1.08 to 1.10 times as long as x\n"));
  CHECK(has(text_of(comparison({variant("x", 90, {100, 120}), variant("y", 100, {110, 114})})),
            "the rounds do not tell whether x or y is faster: y took 0.95 to 1.10 times as long as "
            "x\n"));
  CHECK(has(text_of(comparison({variant("x", 90, {100}), variant("y", 100, {110})})),
            "one round does not tell whether x or y is faster: y took 1.10 times as long as x\n"));
  CHECK(has(text_of(comparison({variant("x", 90, {100})})), "device sd855, 1 round of 20 runs,"));
}

TEST_CASE("times of a busy machine are nothing to learn from") {
  const auto advice = [](std::vector<double> rounds_us) {
    std::string all;
    for (const std::string& line :
         advice_on(comparison({variant("cpu", 100, std::move(rounds_us))}), PlanFlags()))
      all += line + "\n";
    return all;
  };
  CHECK(has(advice({150, 151, 152}), "--learn="));
  const std::string busy = advice({150, 151, 180});
  CHECK(has(busy, "the machine does something else meanwhile"));
  CHECK_FALSE(has(busy, "--learn="));
  CHECK(advice({100, 101, 102}).empty());
}

TEST_CASE("a prediction that is far off is told, with what the reason may be") {
  const SessionFacts session = variant("coexec", 1, {1}).session;
  CHECK(prediction_note(session, 100, 199, 50).empty());
  CHECK(prediction_note(session, 0, 199, 50).empty());
  const std::string profile =
      "the profile of device sd855 does not describe this machine (plan for it: codl-profile -o "
      "mine.json, then codlc --device=mine.json)";
  // A load that is steady does not show in the times.
  const std::string slow =
      "coexec took 83.900 ms where 0.340 ms were predicted, a factor of 247: either other programs "
      "use this machine meanwhile (measure again without them), or " +
      profile;
  CHECK(prediction_note(session, 340, 83900, 10) == slow);
  CHECK(prediction_note(session, 340, 83900, 2) ==
        slow + "; measure more runs: 2 runs tell little");
  CHECK(has(prediction_note(session, 340, 83900, 1), "; measure more runs: 1 run tells little"));
  // No other program makes a run shorter.
  CHECK(prediction_note(session, 300, 100, 50) ==
        "coexec took 0.100 ms where 0.300 ms were predicted, a factor of 3: " + profile);
  // It is the same if the rounds differ by more than that.
  const auto lines =
      advice_on(comparison({variant("coexec", 340, {340, 83900, 100000})}), PlanFlags());
  CHECK(std::any_of(lines.begin(), lines.end(),
                    [](const std::string& line) { return has(line, "a factor of 247"); }));
}

}  // namespace
}  // namespace codl::tools
