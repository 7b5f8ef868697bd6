#include "runtime/tools/compare_variants.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "runtime/tools/timeline.h"
#include "tools/messages.h"
#include "tools/printable.h"

namespace codl::tools {
namespace {

// Rounds of one variant that lie further apart say that the machine does something else meanwhile.
constexpr double kQuietSpread = 1.10;

// Predictions that are further off, and further than rounds are from each other, are worth another
// compile.
constexpr double kGoodPrediction = 1.20;

// Beyond it a prediction is of something else: no profile of a device is that far off as a whole.
constexpr double kFarPrediction = 2;

// The median of fewer runs than this is moved by one other program that wakes up.
constexpr int64_t kFewRuns = 10;

// Turns the GPU test off for a variant without GPU steps: it is the others that are tested.
void without_test_of_gpu(PlanFlags& flags) {
  flags.check_every = 0;
  flags.opencl_platform.clear();
  flags.opencl_device.clear();
}

double run_us(Session& session, const std::vector<codl_buffer_t>& inputs,
              const std::vector<codl_buffer_t>& outputs) {
  const auto start = std::chrono::steady_clock::now();
  run_session(session, inputs, outputs);
  const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - start;
  return taken.count();
}

struct Running {
  VariantTimes times;
  Session session;
  std::vector<double> runs_us;
};

// Returns for each round how many times as long the other variant took.
std::vector<double> round_ratios(const VariantTimes& other, const VariantTimes& fastest) {
  std::vector<double> ratios;
  for (size_t i = 0; i < other.rounds_us.size(); ++i)
    ratios.push_back(other.rounds_us[i] / fastest.rounds_us[i]);
  return ratios;
}

double spread_of(const VariantTimes& variant) {
  const auto [least, most] =
      std::minmax_element(variant.rounds_us.begin(), variant.rounds_us.end());
  return *most / *least;
}

bool is_same_schedule(const VariantTimes& x, const VariantTimes& y) {
  return !x.schedule.empty() && x.schedule == y.schedule;
}

// The steps of a run: which kernel, where, on what, and how much of it, as the prediction says.
std::string schedule_of(const Plan& plan, const PlanFlags& flags,
                        const std::vector<codl_buffer_t>& inputs,
                        const std::vector<codl_buffer_t>& outputs) {
  Session session = create_session(plan, flags, true);
  run_session(session, inputs, outputs);
  std::string text;
  for (const codl_step_time_t& step : timeline_of(session))
    text +=
        formatted("%d %s %.9g ", step.queue, step.kernel, static_cast<double>(step.predicted_us)) +
        step.name + "\n";
  return text;
}

template <typename Less>
size_t least(const std::vector<VariantTimes>& variants, Less less) {
  return static_cast<size_t>(std::min_element(variants.begin(), variants.end(), less) -
                             variants.begin());
}

// How many times as long as the other a variant's predicted and measured time are, at most.
double worst_prediction(const Comparison& comparison) {
  double worst = 1;
  for (const VariantTimes& variant : comparison.variants)
    if (variant.predicted_us > 0 && variant.median_us > 0)
      worst = std::max({worst, variant.predicted_us / variant.median_us,
                        variant.median_us / variant.predicted_us});
  return worst;
}

// Returns a line with the rounds' verdict on two variants.
std::string comparison_line(const VariantTimes& fastest, const VariantTimes& other) {
  const std::string x = printable(fastest.session.variant), y = printable(other.session.variant);
  if (is_same_schedule(fastest, other))
    return x + " and " + y + " are the same schedule: what differs is the machine\n";
  const std::vector<double> ratios = round_ratios(other, fastest);
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  if (is_faster(fastest, other))
    return formatted("%s is %.2f times as fast as %s (%.2f to %.2f over the rounds)\n", x.c_str(),
                     latencies_of(ratios).median_us, y.c_str(), *least, *most);
  if (ratios.size() < 2)
    return "one round does not tell whether " + x + " or " + y + " is faster: " + y +
           formatted(" took %.2f times as long as ", *least) + x + "\n";
  const std::string times =
      y + formatted(" took %.2f to %.2f times as long as ", *least, *most) + x;
  if (*least > 1 || *most < 1)
    return (*least > 1 ? x : y) + " was faster than " + (*least > 1 ? y : x) +
           " in all rounds, by no more than rounds of one variant differ: " + times + "\n";
  return "the rounds do not tell whether " + x + " or " + y + " is faster: " + times + "\n";
}

std::string table_line(const VariantTimes& variant) {
  return formatted("  %-14s %12.3f %12.3f %9.2f %12.3f %12.3f %12.3f\n",
                   printable(variant.session.variant).c_str(), ms_of(variant.predicted_us),
                   ms_of(variant.median_us), variant.median_us / variant.predicted_us,
                   ms_of(variant.runs.min_us), ms_of(variant.runs.p90_us),
                   ms_of(variant.runs.p99_us));
}

}  // namespace

Comparison compare_variants(const Plan& plan, const PlanFlags& flags, const CompareOptions& options,
                            const std::vector<codl_buffer_t>& inputs,
                            const std::vector<codl_buffer_t>& outputs) {
  Comparison comparison;
  comparison.run_count = options.runs;
  if (const std::string flag = test_of_gpu(flags); !flag.empty() && !has_gpu_variant(plan, flags))
    fail_input(flag, "a plan with GPU steps", "none in any variant");
  std::vector<Running> all;
  std::vector<PlanFlags> flags_of_all;
  for (size_t i = 0; i < plan.variant_count(flags.entry); ++i) {
    const codl_variant_info_t variant = plan.variant(i, flags.entry);
    PlanFlags own = flags;
    own.variant = variant.name;
    if (variant.needs_gpu == 0) without_test_of_gpu(own);
    Running running = {.times = {}, .session = create_session(plan, own, false), .runs_us = {}};
    running.times.session = facts_of(plan, running.session);
    running.times.predicted_us = static_cast<double>(variant.predicted_us);
    if (running.times.session.variant != own.variant) {
      comparison.missing.push_back(own.variant + ": " + running.times.session.fallback_reason);
      continue;
    }
    for (int32_t run = 0; run <= options.warmup_runs; ++run)
      run_us(running.session, inputs, outputs);
    all.push_back(std::move(running));
    flags_of_all.push_back(std::move(own));
  }
  for (int32_t round = 0; round < options.rounds; ++round) {
    for (Running& running : all) {
      std::vector<double> runs_us;
      for (int32_t run = 0; run < options.runs; ++run)
        runs_us.push_back(run_us(running.session, inputs, outputs));
      running.runs_us.insert(running.runs_us.end(), runs_us.begin(), runs_us.end());
      running.times.rounds_us.push_back(latencies_of(std::move(runs_us)).median_us);
    }
    std::reverse(all.begin(), all.end());
  }
  if (options.rounds % 2 != 0) std::reverse(all.begin(), all.end());
  for (Running& running : all) {
    running.times.median_us = latencies_of(running.times.rounds_us).median_us;
    running.times.runs = latencies_of(std::move(running.runs_us));
    comparison.variants.push_back(std::move(running.times));
  }
  all.clear();  // a session each is enough
  for (size_t i = 0; i < comparison.variants.size(); ++i)
    for (const VariantTimes& other : comparison.variants)
      if (VariantTimes& own = comparison.variants[i];
          own.schedule.empty() && &other != &own && other.predicted_us == own.predicted_us)
        own.schedule = schedule_of(plan, flags_of_all[i], inputs, outputs);
  return comparison;
}

bool is_faster(const VariantTimes& x, const VariantTimes& y) {
  if (is_same_schedule(x, y) || x.rounds_us.size() < 2) return false;
  const std::vector<double> ratios = round_ratios(y, x);
  return *std::min_element(ratios.begin(), ratios.end()) > 1 &&
         latencies_of(ratios).median_us > std::max(spread_of(x), spread_of(y));
}

size_t fastest_variant(const Comparison& comparison) {
  const size_t predicted = predicted_fastest_variant(comparison);
  const size_t measured =
      least(comparison.variants,
            [](const VariantTimes& a, const VariantTimes& b) { return a.median_us < b.median_us; });
  return is_faster(comparison.variants[measured], comparison.variants[predicted]) ? measured
                                                                                  : predicted;
}

size_t predicted_fastest_variant(const Comparison& comparison) {
  return least(comparison.variants, [](const VariantTimes& a, const VariantTimes& b) {
    return a.predicted_us < b.predicted_us;
  });
}

double round_spread(const Comparison& comparison) {
  double spread = 1;
  for (const VariantTimes& variant : comparison.variants)
    spread = std::max(spread, spread_of(variant));
  return spread;
}

std::string prediction_note(const SessionFacts& session, double predicted_us, double median_us,
                            int64_t run_count) {
  if (predicted_us <= 0 || median_us <= 0) return "";
  const double factor = std::max(median_us / predicted_us, predicted_us / median_us);
  if (factor <= kFarPrediction) return "";
  const std::string device = printable(session.plan_device);
  return formatted("%s took %.3f ms where %.3f ms were predicted, a factor of %.3g: ",
                   printable(session.variant).c_str(), ms_of(median_us), ms_of(predicted_us),
                   factor) +
         // Other programs make runs longer only.
         (median_us > predicted_us
              ? "either other programs use this machine meanwhile (measure again without them), or "
              : "") +
         "the profile of device " + device +
         " does not describe this machine (plan for it: codl-profile -o mine.json, then codlc "
         "--device=mine.json)" +
         (run_count < kFewRuns ? "; measure more runs: " + counted(run_count, "run") +
                                     (run_count == 1 ? " tells" : " tell") + " little"
                               : "");
}

std::vector<std::string> advice_on(const Comparison& comparison, const PlanFlags& flags) {
  std::vector<std::string> lines;
  if (comparison.variants.empty()) return lines;
  const double spread = round_spread(comparison);
  const bool is_busy = spread > kQuietSpread;
  if (is_busy)
    lines.push_back(formatted(
        "rounds of one variant lie %.0f %% apart: the machine does something else meanwhile, or "
        "its clock moves; close other programs, or measure again with more --rounds",
        100 * (spread - 1)));
  const double worst = worst_prediction(comparison);
  for (const VariantTimes& variant : comparison.variants)
    if (std::string note = prediction_note(variant.session, variant.predicted_us, variant.median_us,
                                           comparison.run_count * std::ssize(variant.rounds_us));
        !note.empty())
      lines.push_back(std::move(note));
  // Times of a busy machine are nothing to learn from.
  if (!is_busy && worst > std::max(kGoodPrediction, spread))
    lines.push_back(formatted(
        "what was predicted and what was measured are up to %.0f %% apart; the next plan knows "
        "better: this command with --json --steps -o BENCH.json, then codlc --learn=%s=BENCH.json",
        100 * (worst - 1), printable(flags.plan_path).c_str()));
  const VariantTimes& fastest = comparison.variants[fastest_variant(comparison)];
  const VariantTimes& predicted = comparison.variants[predicted_fastest_variant(comparison)];
  if (&fastest == &predicted) return lines;
  const std::string& device = predicted.session.plan_device;
  lines.push_back(formatted(
      "%s was predicted to be the fastest for device %s; use --variant=%s here, or plan for this "
      "machine: codl-profile -o mine.json, then codlc --device=mine.json",
      printable(predicted.session.variant).c_str(), printable(device).c_str(),
      printable(fastest.session.variant).c_str()));
  if (flags.cpu_cores.empty() && flags.gpu_cores.empty())
    lines.push_back(
        "if the OpenCL device computes on cores of the CPU, both processors share them: give each "
        "its own with --cpu-cores and --gpu-cores, as the profile was measured");
  return lines;
}

std::string comparison_text(const Comparison& comparison, const PlanFlags& flags) {
  std::string text;
  for (const std::string& line : comparison.missing) text += "not run: " + printable(line) + "\n";
  if (comparison.variants.empty()) return text;
  text += "planned for device " + printable(comparison.variants[0].session.plan_device) + ", " +
          counted(std::ssize(comparison.variants[0].rounds_us), "round") + " of " +
          counted(comparison.run_count, "run") + ", variants in turns\n";
  text += formatted("  %-14s %12s %12s %9s %12s %12s %12s\n", "variant", "predicted ms",
                    "median ms", "ratio", "min ms", "p90 ms", "p99 ms");
  for (const VariantTimes& variant : comparison.variants) text += table_line(variant);
  const size_t best = fastest_variant(comparison);
  for (size_t i = 0; i < comparison.variants.size(); ++i)
    if (i != best) text += comparison_line(comparison.variants[best], comparison.variants[i]);
  for (const std::string& line : advice_on(comparison, flags)) text += "note: " + line + "\n";
  return text;
}

}  // namespace codl::tools
