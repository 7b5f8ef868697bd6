#include "profiler/measure/session.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "profiler/fit/profile_json.h"

namespace codl::profiler {
namespace {

// At most so many steps are in memory at once and timed in turns. Interference, most of all by
// neighbours of a virtual machine, often lasts some hundredths of a second: longer than the runs of
// one step in succession.
constexpr size_t kBatch = 48;
// A visit makes so many undisturbed runs; if there are too few, up to twice as many runs in all.
constexpr size_t kRuns = 5;
constexpr double kLongStepUs = 3'000;
constexpr size_t kLongStepRuns = 3;
// If a probe takes so much longer than usual, another program has the core; a low clock cannot
// explain it.
constexpr double kMaxProbe = 1.6;

// If the crowding differs from the usual by more than this factor, others take more or less of the
// processor than they mostly do.
constexpr double kCrowdingWindow = 1.08;

// Between visits, the clock and the machine's other work change. While kernels lack samples,
// another step tells more than a visit beyond the first few: on a slow machine (Zen 1 with PoCL) 26
// convolutions with eight visits each were fitted to 20 % in the median.
constexpr size_t kVisits = 8;
constexpr size_t kVisitsBeforeMoreSamples = 4;

// A kernel gets so many samples. Those with multiply-adds have more to tell and take most of a
// network's time. A run over all kernels with these numbers takes some minutes on one core of 2020.
constexpr size_t kHeavySamples = 200;
constexpr size_t kLightSamples = 100;
// CPU kernels get more: they have a loop for every path, and their steps are cheaper to time.
constexpr size_t kHeavyCpuSamples = 320;
constexpr size_t kLightCpuSamples = 200;
constexpr size_t kReferenceSamples = 12;
// After so many refused steps, the device does not have the kernel, as kernels of images on a
// device without them.
constexpr size_t kRefusedSteps = 16;
// So many of a processor's steps are measured twice, for the noise floor.
constexpr size_t kRepeats = 60;

// These are shares of time. First visits may take kFirstVisitsShare of what is left before there
// are further ones; together with networks' steps they may take kNetworksShare of all. After
// kLastDrawShare of all no more samples are drawn, because they would get no further visits.
constexpr double kFirstVisitsShare = 0.5;
constexpr double kNetworksShare = 0.9;
constexpr double kLastDrawShare = 0.85;

using SteadyClock = std::chrono::steady_clock;

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

double spread_percent(const std::vector<double>& values) {
  return 50 * (quantile(values, 0.75) - quantile(values, 0.25)) / quantile(values, 0.5);
}

size_t wanted_samples(const KernelInfo& kernel) {
  if (kernel.is_reference()) return kReferenceSamples;
  if (kernel.processor == Processor::Cpu)
    return has_multiply_adds(kernel) ? kHeavyCpuSamples : kLightCpuSamples;
  return has_multiply_adds(kernel) ? kHeavySamples : kLightSamples;
}

WorkLimits small_limits() {
  WorkLimits limits;
  limits.most_macs = 3e7;
  limits.most_elements = 5e5;
  return limits;
}

// Returns null if the processor has no such kernel, or cannot hold it.
std::unique_ptr<PreparedStep> small_convolution(MeasuredProcessor* processor) {
  std::mt19937_64 random(20);
  for (const KernelInfo& kernel : kKernelInfos) {
    if (kernel.op != OpKind::Conv2d || kernel.processor != processor->processor()) continue;
    const std::optional<StepCase> item = draw_step(kernel, small_limits(), random);
    if (!item) continue;
    if (std::unique_ptr<PreparedStep> step = processor->prepare(kernel, *item)) return step;
  }
  return nullptr;
}

}  // namespace

bool is_wanted(const KernelInfo& kernel, std::string_view kernels, bool has_images) {
  const std::string_view symbol = kernel.symbol;
  return symbol.find(kernels) != std::string_view::npos &&
         (has_images || !symbol.ends_with("_image"));
}

struct Session::Clock {
  SteadyClock::time_point start = SteadyClock::now();
  double budget_s;
  const std::function<bool()>& is_interrupted;
  mutable bool has_line = false;

  // Whatever is printed next, even an error, begins a new line.
  ~Clock() {
    if (has_line) std::fputc('\n', stderr);
  }
  // The steps before may have taken more than all of the budget: it may be negative.
  double share() const { return budget_s > 0 ? seconds_since(start) / budget_s : 1; }
  bool is_after(double of_all) const { return share() >= of_all; }
  void report(const char* what, size_t done, size_t wanted) const {
    has_line = true;
    std::fprintf(stderr, "\r%s: %zu of %zu, at most %.0f s left  ", what, done, wanted,
                 std::max(budget_s - seconds_since(start), 0.0));
  }
};

Session::Session(std::vector<MeasuredProcessor*> processors, SessionOptions options,
                 std::vector<Sample> samples, const double (&probe_us)[2],
                 std::function<void(const std::string& line)> append)
    : processors_(std::move(processors)),
      options_(std::move(options)),
      samples_(std::move(samples)),
      append_(std::move(append)) {
  for (MeasuredProcessor* processor : processors_) {
    const auto index = static_cast<size_t>(processor->processor());
    // All times are brought to the clock of this second, during which the processor works as it
    // will later: idle cores begin with a higher clock, and vectors on 16 processors lower it (on a
    // Xeon by 7 to 14 %).
    const std::unique_ptr<PreparedStep> work = small_convolution(processor);
    std::vector<double> probes;
    for (const SteadyClock::time_point start = SteadyClock::now(); seconds_since(start) < 1;) {
      const double probe_before_us = processor->probe_us();
      if (work) work->run_us();
      probes.push_back(std::min(probe_before_us, processor->probe_us()));
      crowdings_[index].push_back(processor->crowding());
    }
    probe_us_[index] = probe_us[index] > 0 ? probe_us[index] : quantile(probes, 0.5);
  }
  char line[80];
  std::snprintf(line, sizeof(line), "#probe,%.6g,%.6g", probe_us_[0], probe_us_[1]);
  if (probe_us[0] <= 0) append_(line);
  random_.seed((options_.seed << 32) + 20 + samples_.size());
  make_rows();
}

void Session::make_rows() {
  for (const KernelInfo& kernel : kKernelInfos) {
    const bool has_lane = std::any_of(processors_.begin(), processors_.end(),
                                      [&](const MeasuredProcessor* processor) {
                                        return processor->processor() == kernel.processor;
                                      });
    if (!has_lane || !is_wanted(kernel, options_.kernels, options_.has_images)) continue;
    RowState state;
    state.kernel = &kernel;
    state.wanted = options_.samples_per_kernel == 0 ? wanted_samples(kernel)
                   : kernel.is_reference()
                       ? std::min(options_.samples_per_kernel, kReferenceSamples)
                       : options_.samples_per_kernel;
    // Plain kernels have a family, to which each adds its samples.
    state.needed = kernel.is_reference() ? std::min(state.wanted, kSamplesOfFit) : kSamplesOfFit;
    state.wanted = std::max(state.wanted, state.needed);
    if (options_.needed.find(kernel.symbol) == options_.needed.end())
      append_needed(state, state.needed);
    rows_.push_back(std::move(state));
  }
  for (RowState& state : rows_)
    for (const Sample& sample : samples_)
      if (sample.kernel == state.kernel && sample.role == SampleRole::Fit)
        state.observations.push_back(
            {times_of(*sample.kernel, sample.item, options_.facts), sample.us});
}

void Session::append_needed(const RowState& state, size_t needed) {
  append_(std::string(kNeededMark) + state.kernel->symbol + ',' + std::to_string(needed));
}

// No further samples will come: the present ones may be too few for a model, however long the run.
void Session::exhaust(RowState* state) {
  state->is_exhausted = true;
  if (state->observations.size() < state->needed) append_needed(*state, 0);
}

// Nearly all steps take less than kUsualStepUs. One in so many draws may be larger by a factor,
// because first layers and those with the most channels are: with other numbers for kernels with
// multiply-adds, in which networks spend their time, and for the rest.
constexpr double kUsualStepUs = 4000;
constexpr uint64_t kHeavyDrawsOfLarge = 5;
constexpr uint64_t kLightDrawsOfLarge = 16;
constexpr double kLargeFactor = 4;

// One in kDrawsOfWarm steps with at most so many bytes of weights has them warm, as in networks
// whose weights a cache keeps.
constexpr size_t kMaxWarmBytes = size_t{16} << 20;
constexpr uint64_t kDrawsOfWarm = 4;

// Sets the limits by the time of the processor's first convolution.
void Session::set_limits(MeasuredProcessor* processor) {
  WorkLimits limits;
  double rate = 0;  // multiply-adds in a microsecond
  for (const KernelInfo& kernel : kKernelInfos) {
    if (kernel.op != OpKind::Conv2d || kernel.processor != processor->processor()) continue;
    for (int i = 0; i < 8; ++i) {
      const std::optional<StepCase> item = draw_step(kernel, small_limits(), random_);
      if (!item) continue;
      const std::unique_ptr<PreparedStep> step = processor->prepare(kernel, *item);
      if (!step) continue;
      step->run_us();
      const double us = step->run_us();
      rate = std::max(rate, work_of(kernel, *item).needed_macs / us);
    }
  }
  if (rate > 0) limits.most_macs = std::clamp(rate * kUsualStepUs, 2e7, 4e9);
  limits.most_elements = std::clamp(limits.most_macs / 75, 5e5, 1.6e7);
  for (RowState& state : rows_) {
    if (state.kernel->processor != processor->processor()) continue;
    state.limits = limits;
    if (state.kernel->is_reference()) {
      // Plain loops are some tens of times slower.
      state.limits.most_macs /= 50;
      state.limits.most_elements /= 30;
    }
    for (const Observation& observation : state.observations)
      tighten_limits(&state, observation.us / kLargeFactor);
  }
}

// A kernel that is slower than a convolution gets smaller steps.
void Session::tighten_limits(RowState* state, double us) {
  if (us <= kUsualStepUs) return;
  const double share = std::max(kUsualStepUs / us, 0.2);
  state->limits.most_macs *= share;
  state->limits.most_elements *= share;
}

RowState* Session::neediest(Processor processor, const std::vector<RowState*>& taken) {
  RowState* best = nullptr;
  double best_share = 1;
  for (RowState& state : rows_) {
    if (state.kernel->processor != processor || state.is_exhausted) continue;
    const auto pending = static_cast<double>(std::count(taken.begin(), taken.end(), &state));
    const double share = (static_cast<double>(state.observations.size()) + pending) /
                         static_cast<double>(state.wanted);
    if (share >= best_share) continue;
    best = &state;
    best_share = share;
  }
  return best;
}

bool Session::needs_samples() {
  return std::any_of(processors_.begin(), processors_.end(), [this](MeasuredProcessor* processor) {
    return neediest(processor->processor(), {}) != nullptr;
  });
}

bool Session::draw(RowState* state, double factor, Sample* out) {
  constexpr int kChoices = 24;
  // Most steps are as in networks; every fourth is the one that tells the fit most.
  const bool is_plain = state->observations.size() < 8 || random_() % 4 != 0;
  const Shares shares = fit_shares(is_plain ? std::vector<Observation>() : state->observations);
  WorkLimits limits = state->limits;
  limits.most_macs *= factor;
  limits.most_elements *= factor;
  double best = -1;
  for (int i = 0; i < (is_plain ? 1 : kChoices); ++i) {
    std::optional<StepCase> item = draw_step(*state->kernel, limits, random_);
    if (!item) break;
    double value = 0;
    if (!is_plain) {
      const TermTimes times = times_of(*state->kernel, *item, options_.facts);
      value = leverage(state->observations, times, std::max(weigh(times, shares), 1.0));
    }
    if (value <= best) continue;
    best = value;
    out->kernel = state->kernel;
    out->item = std::move(*item);
  }
  if (best < 0) return false;
  // No network has warm weights in a GPU's caches.
  const bool has_large_cache =
      state->kernel->processor == Processor::Cpu || options_.facts.gpu.is_processor;
  const size_t bytes = weight_bytes(out->item);
  out->item.has_warm_weights =
      has_large_cache && bytes > 0 && bytes <= kMaxWarmBytes && random_() % kDrawsOfWarm == 0;
  return true;
}

size_t Session::measure(MeasuredProcessor* processor, std::span<Sample* const> samples) {
  struct Timed {
    Sample* sample;
    std::unique_ptr<PreparedStep> step;
    size_t wanted_runs;
    std::vector<double> times;
    std::vector<double> disturbed;  // used only if there are no others

    bool is_done() const {
      return times.size() >= wanted_runs || times.size() + disturbed.size() >= 2 * wanted_runs;
    }
  };
  std::vector<Timed> batch;
  size_t bytes = 0;
  size_t taken = 0;
  // Even after the time is over, each step of the last batch runs once.
  const auto is_over = [this] { return rt::now_ns() >= end_ns_; };
  for (; taken < samples.size() && batch.size() < kBatch && bytes < kBatchBytes; ++taken) {
    if (taken > 0 && is_over()) break;
    Sample* sample = samples[taken];
    std::unique_ptr<PreparedStep> step = processor->prepare(*sample->kernel, sample->item);
    if (!step) continue;
    bytes += operand_bytes(sample->item);
    const bool is_long = step->run_us() > kLongStepUs;
    batch.push_back({sample, std::move(step), is_long ? kLongStepRuns : kRuns, {}, {}});
  }
  const double usual_us = probe_us_[static_cast<size_t>(processor->processor())];
  std::vector<double>& crowdings = crowdings_[static_cast<size_t>(processor->processor())];
  const double usual_crowding = quantile(crowdings, 0.5);
  std::vector<double> probes;  // they are relative to the usual probe
  for (size_t run = 0; run < 2 * kRuns && (run == 0 || !is_over()); ++run) {
    // The state of branch predictors and caches is chance; shuffling makes it another chance each
    // time.
    std::shuffle(batch.begin(), batch.end(), random_);
    for (Timed& timed : batch) {
      if (timed.is_done()) continue;
      const double probe_before_us = processor->probe_us();
      const double us = timed.step->run_us();
      // Takes the faster of the probes before and after, because an interrupt lengthens one of
      // them.
      const double probe_us = std::min(probe_before_us, processor->probe_us());
      probes.push_back(probe_us / usual_us);
      crowdings.push_back(processor->crowding());
      // A GPU step's time is a difference: it is negative if something held up only its shorter
      // batch.
      if (us <= 0) continue;
      const bool is_usual = probe_us < kMaxProbe * usual_us &&
                            crowdings.back() < kCrowdingWindow * usual_crowding &&
                            crowdings.back() > usual_crowding / kCrowdingWindow;
      (is_usual ? timed.times : timed.disturbed).push_back(us * usual_us / probe_us);
    }
  }
  if (!probes.empty()) {
    char line[40];
    std::snprintf(line, sizeof(line), "%s,%.4g", kBatchMark.data(),
                  std::clamp(quantile(probes, 0.5), 0.1, 10.0));
    append_(line);
  }
  for (Timed& timed : batch) {
    if (timed.times.empty()) timed.times = timed.disturbed;
    if (timed.times.empty()) continue;
    timed.sample->spread_percent = spread_percent(timed.times);
    timed.sample->run_count = static_cast<int32_t>(timed.times.size());
    timed.sample->add_visit(std::max(quantile(timed.times, kQuietShare), 0.01));
    append_(to_line(*timed.sample));
  }
  return taken;
}

bool Session::draw_samples(Clock& clock) {
  const double end = clock.share() + kFirstVisitsShare * (1 - clock.share());
  for (bool has_work = true; has_work && !clock.is_after(end);) {
    has_work = false;
    for (MeasuredProcessor* processor : processors_) {
      std::vector<RowState*> states;
      std::vector<double> factors;
      std::vector<Sample> drawn;
      while (drawn.size() < kBatch) {
        RowState* state = neediest(processor->processor(), states);
        if (state == nullptr) break;
        Sample sample;
        const uint64_t draws =
            has_multiply_adds(*state->kernel) ? kHeavyDrawsOfLarge : kLightDrawsOfLarge;
        const double factor = random_() % draws == 0 ? kLargeFactor : 1;
        if (!draw(state, factor, &sample)) {
          exhaust(state);
          continue;
        }
        factors.push_back(factor);
        states.push_back(state);
        drawn.push_back(std::move(sample));
      }
      if (drawn.empty()) continue;
      has_work = true;
      std::vector<Sample*> pointers;
      for (Sample& sample : drawn) pointers.push_back(&sample);
      const size_t before = samples_.size();
      std::span<Sample* const> rest = pointers;
      while (!rest.empty() && !clock.is_after(1)) rest = rest.subspan(measure(processor, rest));
      for (size_t i = 0; i < drawn.size() - rest.size(); ++i) {
        if (drawn[i].visits_us.empty()) {
          ++states[i]->refused;
          continue;
        }
        states[i]->observations.push_back(
            {times_of(*drawn[i].kernel, drawn[i].item, options_.facts), drawn[i].us});
        tighten_limits(states[i], drawn[i].us / factors[i]);
        samples_.push_back(std::move(drawn[i]));
      }
      for (RowState* state : states)
        if (rest.empty() && !state->is_exhausted &&
            (samples_.size() == before ||
             (state->observations.empty() && state->refused >= kRefusedSteps)))
          exhaust(state);
      if (clock.is_interrupted()) return false;
    }
    size_t wanted = 0;
    size_t done = 0;
    for (const RowState& state : rows_) {
      const size_t count = std::min(state.observations.size(), state.wanted);
      wanted += state.is_exhausted ? count : state.wanted;
      done += count;
    }
    clock.report("samples", done, wanted);
  }
  return true;
}

// Makes the first visits of the networks' steps.
bool Session::measure_networks(Clock& clock) {
  std::vector<Sample>& steps = options_.network_steps;
  std::shuffle(steps.begin(), steps.end(), random_);
  for (MeasuredProcessor* processor : processors_) {
    std::vector<Sample*> own;
    for (Sample& step : steps)
      if (step.kernel->processor == processor->processor()) own.push_back(&step);
    std::span<Sample* const> rest = own;
    while (!rest.empty() && !clock.is_after(kNetworksShare)) {
      rest = rest.subspan(measure(processor, rest));
      clock.report("networks' steps", own.size() - rest.size(), own.size());
      if (clock.is_interrupted()) return false;
    }
  }
  for (Sample& step : steps)
    if (!step.visits_us.empty()) samples_.push_back(std::move(step));
  steps.clear();
  return true;
}

// Visits the samples with the fewest visits first, in random order. Repeats come among the others:
// at the end they would show the machine's state at that time.
bool Session::visit_again(Clock& clock, size_t wanted_visits) {
  for (size_t visits = 0; visits < wanted_visits; ++visits) {
    std::vector<Sample*> lanes_samples[2];
    for (Sample& sample : samples_)
      if (sample.visits_us.size() == visits)
        lanes_samples[static_cast<size_t>(sample.kernel->processor)].push_back(&sample);
    for (std::vector<Sample*>& own : lanes_samples) std::shuffle(own.begin(), own.end(), random_);
    std::span<Sample* const> rest[2] = {lanes_samples[0], lanes_samples[1]};
    while (!rest[0].empty() || !rest[1].empty()) {
      for (MeasuredProcessor* processor : processors_) {
        std::span<Sample* const>& own = rest[static_cast<size_t>(processor->processor())];
        if (!own.empty()) own = own.subspan(measure(processor, own));
        if (clock.is_interrupted()) return false;
      }
      clock.report("further visits left", rest[0].size() + rest[1].size(),
                   lanes_samples[0].size() + lanes_samples[1].size());
      if (clock.is_after(1)) return true;
    }
  }
  return true;
}

void Session::choose_repeats() {
  for (const MeasuredProcessor* processor : processors_) {
    std::vector<size_t> own;
    size_t repeat_count = 0;
    for (size_t i = 0; i < samples_.size(); ++i) {
      if (samples_[i].kernel->processor != processor->processor()) continue;
      if (samples_[i].role == SampleRole::Repeat) ++repeat_count;
      if (samples_[i].role == SampleRole::Fit && !samples_[i].kernel->is_reference())
        own.push_back(i);
    }
    std::shuffle(own.begin(), own.end(), random_);
    for (size_t i = 0; i < own.size() && repeat_count < kRepeats; ++i, ++repeat_count) {
      Sample repeat;
      repeat.kernel = samples_[own[i]].kernel;
      repeat.item = samples_[own[i]].item;
      repeat.role = SampleRole::Repeat;
      samples_.push_back(std::move(repeat));
    }
  }
}

bool Session::run(double budget_s, const std::function<bool()>& is_interrupted) {
  Clock clock = {.budget_s = budget_s, .is_interrupted = is_interrupted};
  end_ns_ = rt::now_ns() + static_cast<int64_t>(budget_s * 1e9);
  for (MeasuredProcessor* processor : processors_) set_limits(processor);
  if (!draw_samples(clock) || !measure_networks(clock)) return false;
  choose_repeats();
  bool is_done = true;
  while (is_done && needs_samples() && !clock.is_after(kLastDrawShare))
    is_done = visit_again(clock, kVisitsBeforeMoreSamples) && draw_samples(clock);
  is_done = is_done && visit_again(clock, kVisits);
  std::erase_if(samples_, [](const Sample& sample) { return sample.visits_us.empty(); });
  return is_done;
}

}  // namespace codl::profiler
