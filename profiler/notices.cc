#include "profiler/notices.h"

#include "profiler/fit/fit.h"
#include "profiler/fit/profile_json.h"
#include "tools/messages.h"

namespace codl::profiler {
namespace {

// If others have the cores for more of the time, steps become longer at random.
constexpr double kMaxOfOthers = 0.05;
// On a quiet machine, 90 to 100 % of the repeats are within 10 %.
constexpr double kMinWithin10 = 75;
// Half the range of the middle half of a step's runs may be so many percent.
constexpr double kMaxSpread = 8;

std::string worth_notice(const std::vector<Sample>& samples, Processor processor) {
  const char* const name = processor == Processor::Cpu ? "CPU" : "GPU";
  constexpr char kAdvice[] = "measure again while nothing else runs";
  const double within_10 = noise_floor_percent(samples, processor);
  if (within_10 >= 0)
    return within_10 >= kMinWithin10
               ? ""
               : tools::formatted(
                     "only %.0f %% of %s steps took within 10 %% of their first time "
                     "when timed again: predictions cannot be better; %s",
                     within_10, name, kAdvice);
  std::vector<double> spreads;
  for (const Sample& sample : samples)
    if (sample.kernel->processor == processor) spreads.push_back(sample.spread_percent);
  if (spreads.empty()) return {};
  const double spread = quantile(spreads, 0.5);
  return spread <= kMaxSpread ? ""
                              : tools::formatted(
                                    "runs of a %s step lie %.0f %% around their middle; "
                                    "%s",
                                    name, spread, kAdvice);
}

}  // namespace

std::string busy_notice(double others) {
  if (others <= kMaxOfOthers) return {};
  return tools::formatted(
      "the machine is busy: other programs have the CPU threads' cores for %.0f %% of the time; "
      "what is measured is slower than the machine, by another factor each time",
      100 * others);
}

std::vector<std::string> worth_notices(const std::vector<Sample>& samples) {
  std::vector<std::string> lines;
  for (const Processor processor : {Processor::Cpu, Processor::Gpu})
    if (std::string line = worth_notice(samples, processor); !line.empty())
      lines.push_back(std::move(line));
  return lines;
}

std::string unfitted_notice(const std::vector<std::string>& kernels) {
  if (kernels.empty()) return {};
  std::string names;
  for (const std::string& name : kernels) names += (names.empty() ? "" : ", ") + name;
  return tools::formatted(
      "too few samples, for want of time, of %zu kernels, which are predicted as "
      "others of their families (--resume goes on with them): %s",
      kernels.size(), names.c_str());
}

}  // namespace codl::profiler
